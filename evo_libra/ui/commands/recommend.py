"""Which design of a front to take, why, what it is made of, what the runner-up loses, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError, counted
from evo_libra.network.transport import approximation
from evo_libra.quantities import money_text
from evo_libra.ui.commands.shared import Json, MovedProblem, RunName, TrustCode, app
from evo_libra.ui.tables.named_runs import given_of, problem_of_result, run_folder
from evo_libra.ui.tables.output import new_console, print, print_folded, print_json

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray
    from evo_libra.explain.candidates import Candidates
    from evo_libra.explain.recommend import Recommendation
    from evo_libra.explain.references import ReferencePoint
    from evo_libra.front.front import Front
    from evo_libra.problem.link_limits import BeyondLinks
    from evo_libra.problem.problem import Problem
    from evo_libra.problem.protocol import SearchProblem

_SCENARIOS, _SEED = 1000, 0
_SHOWN_PARTS = 4
_LIMITS = {"max_cost": "cost_usd", "max_power": "power_kW", "max_time": "time_ms"}


@app.command
def recommend(
    result: RunName,
    *,
    max_cost: str | None = None,
    max_power: str | None = None,
    max_time: str | None = None,
    seconds: float = 10.0,
    problem: MovedProblem = None,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Say which designs of a front to look at first, why, what the runner-up loses, and how certain that is.

    Parameters
    ----------
    max_cost:
        The most that the network may cost, such as 300MUSD; without a unit in USD.
    max_power:
        The most power that it may take, such as 2MW; without a unit in kW.
    max_time:
        The longest iteration, such as 5s; without a unit in ms.
    seconds:
        Seconds for the proof of how far the designs are from optimal; 0 for none.
    """
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.explain.recommend import recommend as recommended

    if not 0 <= seconds < math.inf:
        raise InputError(f"--seconds: found {seconds:g}; a number of at least 0 is needed")
    folder = RunFolder(run_folder(result))
    front = folder.read_front()
    if not len(front):
        raise InputError(f"the front of {folder.path} is empty")
    built = _problem(folder, problem, trust_code=trust_code)
    limits = _limits({"max_cost": max_cost, "max_power": max_power, "max_time": max_time})
    found = _candidates(front, built, limits)
    picks = recommended(found)
    sure = _certainty(built, front, seconds)
    beyond = {} if built is None else first_beyond_links(built, front, picks)
    rows = _rows(front, found, picks=picks, problem=built, sure=sure, points=folder.read_references(), beyond=beyond)
    label = approximation(front.frame["design"].to_list() if "design" in front.frame.columns else ())
    if as_json:
        head = {"result": str(folder.path), "limits": limits, "designs": len(front), **label}
        print_json({**head, "recommended": rows, **sure})
    else:
        _show(front, found, picks=picks, rows=rows, sure=sure, beyond=beyond)
        print_folded(*label.values())
    return 0


def _limits(asked: Mapping[str, str | None]) -> dict[str, float]:
    from evo_libra.front.selection import in_unit_of

    found = {}
    for option, text in asked.items():
        if text is not None:
            column = _LIMITS[option]
            try:
                found[column] = in_unit_of(column, text)
            except InputError as error:
                raise InputError(f"--{option.replace('_', '-')}: {error}") from None
    return found


def _problem(folder: Any, name: str | None, *, trust_code: bool) -> Problem | None:  # noqa: ANN401 - the folder of a run
    """Return the problem of a run; None for one written in Python, of whose designs nothing but the front is known."""
    from evo_libra.experiment.store.folder import MANIFEST
    from evo_libra.problem.problem import Problem

    if folder.read_json(MANIFEST).get("source", {}).get("data", "") is None:
        return None
    _, found = problem_of_result(folder, name, given_of(folder), trust_code=trust_code)
    return found if isinstance(found, Problem) else None


def _candidates(front: Front, problem: Problem | None, limits: Mapping[str, float]) -> Candidates:
    """Return the candidates with the figures that are limited, of which some may be no objectives."""
    from evo_libra.explain.candidates import candidates_of

    missing = [column for column in limits if column not in front.objectives]
    more: dict[str, FloatArray] = {}
    if missing and problem is not None:
        figures = problem.measure(problem.read(front.frame["design"].to_list()), timed="time_ms" in missing)
        more = {"time_ms": figures.time * 1e3, "cost_usd": figures.cost, "power_kW": figures.watts / 1e3}
        if "power_kW" in missing and not problem.pricing.kits:
            raise InputError(f"the prices of '{problem.name}' are per bandwidth, and nothing says what it draws")
    return candidates_of(front, limits, {column: more[column] for column in missing if column in more})


def _certainty(problem: Problem | None, front: Front, seconds: float) -> dict[str, Any]:
    """Return how sure each design is: bounds of what a better one gains, and shares of price scenarios; or why not."""
    if problem is None:
        why = "a problem written in Python has no prices and no proof"
        return {"factor": None, "no_proof": why, "kept_share": None, "no_prices": why}
    return _proof(problem, front, seconds) | _prices(problem, front)


def _proof(problem: Problem, front: Front, seconds: float) -> dict[str, Any]:
    from rich.status import Status

    from evo_libra.optimality.certificate import certify, of_time_and_cost
    from evo_libra.optimality.front_proof import prove_front
    from evo_libra.optimality.scope import scope_of

    if not seconds:
        return {"factor": None, "no_proof": "--seconds 0 asks for no proof"}
    try:
        with Status("proving", console=new_console(stderr=True)):
            found = (certify if of_time_and_cost(front) else prove_front)(problem, front, seconds)
    except InputError as error:
        return {"factor": None, "no_proof": str(error)}
    known = {"factor": found.factor.tolist(), "no_proof": "", "proof_complete": not found.waiting}
    return {**known, "proven_of": scope_of(problem).json()}


def _prices(problem: Problem, front: Front) -> dict[str, Any]:
    from evo_libra.explain.prices import kept_with_prices

    try:
        kept = kept_with_prices(front, problem, _SCENARIOS, _SEED)
    except InputError as error:
        return {"kept_share": None, "no_prices": str(error)}
    return {"kept_share": kept.tolist(), "no_prices": "", "scenarios": _SCENARIOS, "seed": _SEED}


def _rows(
    front: Front, found: Candidates, picks: Sequence[Recommendation], problem: Problem | None, sure: Mapping[str, Any],
    points: Sequence[ReferencePoint], beyond: Mapping[int, BeyondLinks],
) -> list[dict[str, Any]]:  # fmt: skip
    from evo_libra.explain.parts_list import parts_list
    from evo_libra.explain.reasons import compared_with
    from evo_libra.explain.recommend import recommendation_rows

    rows = []
    for one, row in zip(picks, recommendation_rows(found, picks), strict=True):
        factor, kept = ((sure[key] or {}) and sure[key][one.row] for key in ("factor", "kept_share"))
        design = front.frame["design"][one.row] if "design" in front.frame.columns else None
        parts = [] if problem is None or design is None else parts_list(problem, problem.read(design))
        rows.append({
            **row, "design": design, "parts": parts,
            "references": [
                {"name": point.name, "design": point.design, "it_is": compared_with(found.of(one.row), point.figures)}
                for point in points
            ],
            "factor": factor or None, "kept_share": kept if sure["kept_share"] else None,
            **({"shares": beyond[one.row].json()} if one.row in beyond else {}),
        })  # fmt: skip
    return rows


def short_name(front: Front, row: int) -> str:
    """Return the id and the network of a design."""
    from evo_libra.front.families import families_of

    return f"#{front.frame['id'][row]} {families_of(front).labels[row]}"


def first_beyond_links(
    problem: SearchProblem, front: Front, picks: Sequence[Recommendation] | None = None
) -> dict[int, BeyondLinks]:
    """Return which of the designs to look at first are faster than their links carry, by their rows."""
    from evo_libra.explain.candidates import candidates_of
    from evo_libra.explain.recommend import recommend as recommended
    from evo_libra.problem.link_limits import beyond_links

    if "design" not in front.frame.columns:
        return {}
    rows = [one.row for one in (recommended(candidates_of(front)) if picks is None else picks)]
    found = beyond_links(problem, [front.frame["design"][row] for row in rows])
    return {row: one for row, one in zip(rows, found, strict=True) if one is not None}


def show_first(front: Front, name: str, beyond: Mapping[int, BeyondLinks]) -> None:
    """Print which designs of a front to look at first, in a line or two each, and which exceed their links."""
    from evo_libra.explain.candidates import candidates_of
    from evo_libra.explain.recommend import recommend as recommended

    found = candidates_of(front)
    picks = recommended(found)
    print("\nwhich one?")
    for one in picks:
        print_folded(f"  {short_name(front, one.row)}, the {' and the '.join(one.kinds)}: {one.reason}")
        if one.runner_up is not None:
            print_folded(f"    runner-up {short_name(front, one.runner_up)}: {one.loses}")
        print_folded(*(f"    {limit}" for limit in filter(None, [beyond.get(one.row)])))
    first = found.ids[picks[0].row]
    # A design of a problem in Python is no network that could be explained.
    explained = (
        f"   and   evo-libra explain {name}#{first}   say more" if "design" in front.frame.columns else "   says more"
    )
    print(f"evo-libra recommend {name}{explained}")


def _show(
    front: Front, found: Candidates, picks: Sequence[Recommendation], rows: Sequence[Mapping[str, Any]],
    sure: Mapping[str, Any], beyond: Mapping[int, BeyondLinks],
) -> None:  # fmt: skip
    from evo_libra.explain.reasons import figure_text
    from evo_libra.optimality.scope import STOPPED
    from evo_libra.ui.tables.design_table import bandwidths

    for one, row in zip(picks, rows, strict=True):
        print_folded(f"{short_name(front, one.row)}, the {' and the '.join(one.kinds)}")
        print("  " + ", ".join(figure_text(column, float(values[one.row])) for column, values in found.figures.items()))
        if row["design"] is not None:
            plan = row["design"].partition(" | ")[2]
            print_folded(f"  {bandwidths(row['design'])} GB/s per NPU{f'; {plan}' if plan else ''}")
        print_folded(f"  why: {one.reason}", *_step_texts(found, one))
        if row["parts"]:
            print_folded(f"  parts: {_parts_text(row['parts'])}")
        if one.runner_up is not None:
            print_folded(f"  runner-up: {short_name(front, one.runner_up)} is {one.loses}")
        print_folded(*(f"  against {_reference_name(point)} it is {point['it_is']}" for point in row["references"]))
        print_folded(*_sure_texts(front, row, sure))
        print_folded(*(f"  {limit}" for limit in filter(None, [beyond.get(one.row)])))
        print()
    if "proven_of" in sure:
        print_folded(*([] if sure["proof_complete"] else [STOPPED]), sure["proven_of"]["sentence"])
    print_folded(*(f"no {what}: {sure[key]}" for what, key in (("proof", "no_proof"), ("price scenarios", "no_prices"))
                   if sure[key]))  # fmt: skip


def _reference_name(point: Mapping[str, str]) -> str:
    """Return the name of a reference design, with accelerator and plan where the problem has several accelerators.

    >>> _reference_name({"name": "rail", "design": "SW(8)@nvlink4:450 npu=h100-80gb | tp8 dp1 c4"})
    'rail (h100-80gb, tp8 dp1 c4)'
    """
    chosen = point["design"].partition(" npu=")[2].replace(" | ", ", ")
    return f"{point['name']} ({chosen})" if chosen else point["name"]


def _step_texts(found: Candidates, one: Recommendation) -> list[str]:
    """Return what a ms costs at a design, to the next tenth of the time and from the last one."""
    from evo_libra.explain.reasons import per_what

    ways = (("to", one.faster), ("from", one.slower))
    texts = [
        f"{money_text(way.usd_per_ms, 3)}{per_what(found.money)} on the way {word} #{found.ids[way.row]}"
        for word, way in ways
        if way is not None
    ]
    return [f"  price of a ms: {', '.join(texts)}"] if texts else []


def _parts_text(parts: Sequence[Mapping[str, Any]]) -> str:
    def text(one: Mapping[str, Any]) -> str:
        pieces = "" if one["pieces"] is None else f"{one['pieces']:,.6g} "
        return f"{pieces}{one['part']} {money_text(one['cost_usd'], 3)}"

    shown = [text(one) for one in parts[:_SHOWN_PARTS]]
    rest = parts[_SHOWN_PARTS:]
    more = f"{counted(len(rest), 'more part')} {money_text(sum(one['cost_usd'] for one in rest), 3)}"
    return ", ".join([*shown, *([more] if rest else [])])


def _sure_texts(front: Front, row: Mapping[str, Any], sure: Mapping[str, Any]) -> list[str]:
    from evo_libra.optimality.certificate import of_time_and_cost
    from evo_libra.optimality.front_proof import proven

    found = []
    if row["factor"] is not None:
        found.append(
            f"proven of the space below: {(_of_its_cost if of_time_and_cost(front) else proven)(row['factor'])}"
        )
    if row["kept_share"] is not None:
        kept = round(row["kept_share"] * sure["scenarios"])
        found.append(f"on the front in {kept:,} of {sure['scenarios']:,} price scenarios")
    return [f"  {'; '.join(found)}"] if found else []


def _of_its_cost(factor: float) -> str:
    gain = 1.0 - 1.0 / factor
    if gain < _NOTHING:
        return "no design of its cost is faster"
    return f"at its cost nothing is more than {100.0 * gain:.3g} % faster"


_NOTHING = 1e-6
"""Part of the time that is nothing."""
