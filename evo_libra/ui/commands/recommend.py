"""The command `recommend`: the design of a front to take, with reasons, parts, runner-up and certainty."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.named_code import trust_files
from evo_libra.network.transport import approximation
from evo_libra.ui.commands.shared import Json, MovedProblem, RunName, TrustCode, app
from evo_libra.ui.tables.limits import limited_candidates, limits_of
from evo_libra.ui.tables.named_runs import known_problem, run_folder, searched_problem
from evo_libra.ui.tables.output import new_console, print, print_folded, print_json, print_sections
from evo_libra.ui.tables.what_if import Changes, changed

if TYPE_CHECKING:
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.explain.advice import Advice, Certainty
    from evo_libra.explain.sheet import Section
    from evo_libra.explain.verdict_record import Verdict
    from evo_libra.front.front import Front
    from evo_libra.problem.problem import Problem
    from evo_libra.timing.quirks import Warned
    from evo_libra.ui.tables.answers import Recommend as Answer

Several = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
_SCENARIOS, _SEED = 1000, 0


@app.command
def recommend(  # noqa: PLR0913 - options of a command
    result: RunName,
    *,
    max_cost: Annotated[str | None, Parameter(name=["--max-cost", "--budget"])] = None,
    max_power: str | None = None,
    max_time: str | None = None,
    deadline: str | None = None,
    rate: str | None = None,
    value: str | None = None,
    price: Several = (),
    power: str | None = None,
    fail: Several = (),
    npus: int | None = None,
    workload: Several = (),
    without: Several = (),
    plot: Path | None = None,
    seconds: float = 10.0,
    problem: MovedProblem = None,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Say which design of a front to buy, what the next best costs and saves, and how certain that is.

    Parameters
    ----------
    max_cost:
        The most that the network may cost, or the whole order, such as 300MUSD; without a unit in USD.
    max_power:
        The most power that the network may take, or the whole order, such as 20MW; without a unit in kW.
    max_time:
        The longest iteration, such as 5s; without a unit in ms.
    deadline:
        The longest training of the tokens that the file states, such as 30d, in s, min, h or d; then the cheapest.
    rate:
        The fewest tokens per second, such as 5Mtoken/s, or answers, such as 20request/s; then the cheapest.
    value:
        The price of time, such as 2USD/GPU-hour, in the place of what an hour of the system costs.
    price:
        The verdict at another price of a part, product or kind, such as optics=+30%, sn5600=x1.3 or =70kUSD.
    power:
        The verdict at another price of energy, such as '0.12 USD/kWh'.
    fail:
        The verdict with failures of a nic, link, leaf, rail, plane or npu: times until the repair, and their share.
    npus:
        The verdict for another number of NPUs, by a new search.
    workload:
        The verdict under another figure of the workloads, such as tokens=2e13, by a new search.
    without:
        The verdict without a product, family, technology, accelerator, supplier or platform, by a new search.
    plot:
        A PNG to write: the ten assumptions that move the verdict most.
    seconds:
        Seconds for the proof of how far the designs are from optimal; 0 for none.
    """
    from evo_libra.experiment.store.folder import DONE, RunFolder
    from evo_libra.explain.advice import advice, advised
    from evo_libra.explain.as_json import as_json as plain
    from evo_libra.explain.to_buy import section_to_buy, to_buy
    from evo_libra.explain.verdict import verdict
    from evo_libra.optimality.scope import EXACT_FRONT
    from evo_libra.problem.designs import announced, notes_of

    trust_files(allowed=trust_code)
    if not 0 <= seconds < math.inf:
        raise InputError(f"--seconds: found {seconds:g}; a number of at least 0 is needed")
    folder = RunFolder(run_folder(result))
    front = folder.read_front()
    if not len(front):
        raise InputError(f"the front of {folder.path} is empty")
    built = known_problem(folder, problem)
    limits = limits_of(
        {"max_cost": max_cost, "max_power": max_power, "max_time": max_time, "deadline": deadline, "rate": rate},
        built,
        order=front.noun == "order",
    )
    exact = problem is None and (folder.read_json(DONE).get("claim") or "").startswith(EXACT_FRONT)
    hourly, found = _value(value), limited_candidates(front, built, limits)
    answer = verdict(front, found, built or searched_problem(folder, problem), hourly)
    changes = Changes(price=price, power=power, fail=fail, npus=npus, workload=workload, without=without)
    ifs = changed(
        changes, folder, front, found, built, name=problem, value=hourly,
        candidates=lambda front, built: limited_candidates(front, built, limits),
    )  # fmt: skip
    if plot is not None:
        ifs.write(plot)
    sure = _certainty(folder, built, front, seconds, exact=exact)
    bought = to_buy(front, found, answer.id, built, sure)
    advices = advice(front, found, built, sure=sure, points=folder.read_references().points)
    label = approximation(front.frame["design"].to_list() if "design" in front.frame.columns else ())
    taken = [one.design for one in advices if one.design is not None]
    notes = [] if built is None else [*notes_of(built), *announced(built, taken)]
    if as_json:
        printed: Answer = {
            "verdict": answer, "bought": bought, "what_if": ifs.ifs, "assumptions": ifs.tornado,
            "result": str(folder.path), "question": front.noun, "limits": limits, "designs": len(front),
            "warnings": notes, "recommended": advices,
        }  # fmt: skip
        print_json({**plain(printed), **label, **plain(sure)})
    else:
        if ifs.sentences:
            print_folded(*ifs.sentences)
            print("\nas stated")
        print_folded(*answer.sentences)
        print()
        ifs.show()
        known = any(one.recommended.id == bought.id for one in advices)
        first = [] if known else [section_to_buy(front, found, bought, sure.scenarios or 0)]
        certain = _sure_section(sure, [*notes, *_other_model(built, result)], advices)
        print_sections([*first, *advised(front, advices, sure.scenarios or 0), certain])
        print_folded(*label.values())
    return 0


def _other_model(problem: Problem | None, result: Path) -> Iterator[str]:
    """Yield how to ask whether the verdict on orders holds under another model of time."""
    if problem is not None and problem.book is not None and problem.time.exact:
        yield f"`evo-libra rescore {result} --time astra` says whether the verdict holds under the time of ASTRA-sim."


def _sure_section(sure: Certainty, notes: Sequence[Warned | str], advices: Sequence[Advice]) -> Section:
    """Return what the proofs and the price scenarios are of, or why there are none, and what concerns all times."""
    from evo_libra.explain.reasons import is_loose
    from evo_libra.explain.sheet import section
    from evo_libra.optimality.scope import STOPPED

    # Each design has its own bound above; one that is a proof is enough to call the space proven of it.
    proofs = any(one.factor is not None and not is_loose(one.factor) for one in advices)
    scope = [] if sure.proven_of is None else [f"{'Proven' if proofs else 'The bounds are'} of {sure.proven_of}"]
    stopped = [STOPPED] if sure.proof_complete is False else []
    reasons = {"proof": sure.no_proof, "price scenarios": sure.no_prices}
    missing = [f"no {what}: {why}" for what, why in reasons.items() if why]
    return section("how sure that is", stopped, scope, missing, map(str, notes))


def _value(text: str | None) -> float | None:
    from evo_libra.explain.hour_price import read_value

    try:
        return None if text is None else read_value(text)
    except InputError as error:
        raise InputError(f"--value: {error}") from None


def _certainty(
    folder: RunFolder, problem: Problem | None, front: Front, seconds: float, *, exact: bool
) -> Certainty:  # fmt: skip
    """Return how sure each design is: bounds of what a better one gains, and shares of price scenarios; or why not.

    Nothing beats a row of an exact front; others are proven here.
    """
    from evo_libra.explain.advice import Certainty

    if problem is None:
        why = "a problem written in Python has no prices and no proof"
        if "fabric" in front.frame.columns:
            return Certainty(
                factor=None, no_proof="`evo-libra certify` proves fronts of fabrics", kept_share=None,
                no_prices="prices of fabrics have no ranges",
            )  # fmt: skip
        return Certainty(factor=None, no_proof=why, kept_share=None, no_prices=why)
    return Certainty(**_proof(folder, problem, front, seconds, exact=exact), **_prices(problem, front))


def _proof(folder: RunFolder, problem: Problem, front: Front, seconds: float, *, exact: bool) -> dict[str, Any]:
    from rich.status import Status

    from evo_libra.experiment.store.kept_proof import proof_of
    from evo_libra.optimality.scope import scope_of

    if not seconds:
        return {"factor": None, "no_proof": "--seconds 0 asks for no proof"}
    if exact:
        known = {"factor": [1.0] * len(front), "no_proof": "", "proof_complete": True}
        return {**known, "proven_of": scope_of(problem)}
    try:
        with Status("proving", console=new_console(stderr=True)):
            found = proof_of(folder, problem, front, seconds)
    except InputError as error:
        return {"factor": None, "no_proof": str(error)}
    known = {"factor": found.factor.tolist(), "no_proof": "", "proof_complete": not found.waiting}
    return {**known, "proven_of": scope_of(problem)}


def _prices(problem: Problem, front: Front) -> dict[str, Any]:
    from evo_libra.explain.prices import kept_with_prices

    try:
        kept = kept_with_prices(front, problem, _SCENARIOS, _SEED)
    except InputError as error:
        return {"kept_share": None, "no_prices": str(error)}
    return {"kept_share": kept.tolist(), "no_prices": "", "scenarios": _SCENARIOS, "seed": _SEED}


def show_first(name: str, answer: Verdict, advices: Sequence[Advice], sentences: Sequence[str]) -> None:
    """Print the verdict on a front, then the recommended designs, whose sentences are `short_advised`."""
    print()
    print_folded(*answer.sentences)
    print("\nother answers")
    print_folded(*sentences)
    # A design of a problem in Python is no network that could be explained.
    more = f"   and   evo-libra explain {name}#{answer.id}   say more" if advices[0].design else "   says more"
    print(f"evo-libra recommend {name}{more}")
