"""The proof of how far a front is from the best one."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import InputError, counted
from evo_libra.named_code import trust_files
from evo_libra.network.transport import approximation
from evo_libra.quantities import number, time_text
from evo_libra.ui.commands.shared import Assignments, Json, MovedProblem, RunName, TrustCode, app
from evo_libra.ui.tables.named_runs import problem_file, problem_of_result, run_folder
from evo_libra.ui.tables.output import print, print_folded, print_json, progress_console

if TYPE_CHECKING:
    from rich.status import Status

    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.front.front import Front
    from evo_libra.optimality.certificate import Certificate
    from evo_libra.optimality.front_proof import FrontProof
    from evo_libra.optimality.watch import Progress
    from evo_libra.problem.link_limits import BeyondLinks
    from evo_libra.problem.problem import Problem
    from evo_libra.problem.protocol import HasObjectives
    from evo_libra.problem.switch_fabrics.problem import FabricProblem


_INTERRUPTED = 130
_NEWS_SECONDS = 0.5


@app.command
def certify(
    result: RunName,
    *,
    problem: MovedProblem = None,
    assignments: Annotated[Assignments, Parameter(help="KEY=VALUE, as in the run; only together with --problem.")] = (),
    seconds: float = 60.0,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Prove how far the front of a result is from the best front of its space.

    Parameters
    ----------
    seconds:
        Seconds after which a proof over a large space ends with the bounds of that moment, inf for no end; so does
        Ctrl-C.
    """
    from rich.status import Status

    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.experiment.store.messages import catching_interrupts
    from evo_libra.explain.reasons import scope_text
    from evo_libra.optimality.certificate import certificates, of_time_and_cost
    from evo_libra.optimality.scope import scope_of
    from evo_libra.problem.link_limits import beyond_links
    from evo_libra.problem.switch_fabrics.problem import FabricProblem

    trust_files(allowed=trust_code)
    if not seconds >= 0:
        raise InputError(f"--seconds: found {seconds:g}; a number of at least 0 is needed")
    limit = None if seconds == math.inf else seconds
    folder = RunFolder(run_folder(result))
    front = folder.read_front()
    if problem is None and assignments:
        raise InputError("--set belongs to --problem; without both, the run's own problem is taken")
    asked = problem_of_result(folder, problem, assignments)[1]
    if isinstance(asked, FabricProblem):
        return _prove_fabrics(asked, front, folder.path, limit, as_json=as_json)
    certified = problem_file(asked)
    beyond = beyond_links(certified, front.frame["design"].to_list())
    if not of_time_and_cost(front):
        return _prove(certified, front, folder, limit, beyond, as_json=as_json)
    found, start = None, clock.monotonic()
    with catching_interrupts() as interrupted, Status("proving", console=progress_console()) as status:
        report = _reporting(status, limit)
        for found in certificates(certified, front, limit, interrupted, report):
            status.update(f"{_state(found)}; {_elapsed(start, limit)}")
        stopped = interrupted()
    assert found is not None, "there is at least one"  # noqa: S101 - a programming error, not a user's
    _keep(folder, certified, found, start)
    scope = scope_of(certified)
    if as_json:
        proof = _certificate_json(found, front, folder.path, beyond)
        print_json({"question": certified.question, **proof, "proven_of": scope.json()})
    else:
        _show_certificate(found, front, certified)
        print_folded(scope_text(found.largest_factor, scope), *_shares_texts(front, beyond), *_ended(found.waiting))
        print_folded(*approximation(front.frame["design"].to_list()).values())
    return _INTERRUPTED if stopped else 0


def _prove(
    problem: Problem, front: Front, folder: RunFolder, seconds: float | None, beyond: Sequence[BeyondLinks | None], *,
    as_json: bool,
) -> int:  # fmt: skip
    """Print what is proven of a front of other objectives than time and cost."""
    from rich.status import Status

    from evo_libra.experiment.store.messages import catching_interrupts
    from evo_libra.explain.reasons import scope_text
    from evo_libra.optimality.front_proof import prove_front
    from evo_libra.optimality.scope import scope_of
    from evo_libra.optimality.watch import watch_of

    start = clock.monotonic()
    with catching_interrupts() as interrupted, Status("proving", console=progress_console()) as status:
        found = prove_front(problem, front, watch=watch_of(seconds, interrupted, _reporting(status, seconds)))
        stopped = interrupted()
    _keep(folder, problem, found, start)
    scope = scope_of(problem)
    if as_json:
        proof = _proof_json(found, front, folder.path, beyond)
        print_json({"question": problem.question, **proof, "proven_of": scope.json()})
    else:
        _show_proof(found, front, problem)
        print_folded(scope_text(found.largest_factor, scope), *_shares_texts(front, beyond), *_ended(found.waiting))
        print_folded(*approximation(front.frame["design"].to_list()).values())
    return _INTERRUPTED if stopped else 0


def _keep(folder: RunFolder, problem: Problem, found: Certificate | FrontProof, start: float) -> None:
    """Keep a proof for later commands, with the seconds that it took."""
    from evo_libra.experiment.store.kept_proof import keep_proof

    keep_proof(folder, problem, found, clock.monotonic() - start)


def _prove_fabrics(problem: FabricProblem, front: Front, result: Path, seconds: float | None, *, as_json: bool) -> int:
    """Print what is proven of a front of fabrics of switches."""
    from rich.status import Status

    from evo_libra.experiment.store.messages import catching_interrupts
    from evo_libra.optimality.switch_fabrics.certificate import prove_fabrics, topologies
    from evo_libra.optimality.watch import watch_of
    from evo_libra.problem.question import FABRIC
    from evo_libra.ui.tables.fabric_proof import fabric_counts

    with catching_interrupts() as interrupted, Status("proving", console=progress_console()) as status:
        found = prove_fabrics(problem, front, watch_of(seconds, interrupted, _reporting(status, seconds)))
        stopped = interrupted()
    space = topologies(problem.space.npus)
    if as_json:
        print_json({"question": FABRIC, "topologies": space, **_proof_json(found, front, result, [None] * len(front))})
    else:
        _show_distance(found, front, problem)
        print_folded(*fabric_counts(found, space), *_ended(found.waiting))
    return _INTERRUPTED if stopped else 0


def _reporting(status: Status, seconds: float | None) -> Callable[[Progress], None]:
    """Return what shows how far a proof is: its bound, designs evaluated, those that bounds stand for, and the time."""
    start = last = clock.monotonic()

    def report(progress: Progress) -> None:
        nonlocal last
        if clock.monotonic() - last >= _NEWS_SECONDS:
            status.update(f"proving: {_progress_text(progress)}; {_elapsed(start, seconds)}")
            last = clock.monotonic()  # after the bound, which may take longer

    return report


def _progress_text(progress: Progress) -> str:
    """Return how far a proof is.

    >>> from evo_libra.optimality.watch import Progress
    >>> _progress_text(Progress(evaluated=1200, waiting=3, factor=lambda: 1.25, seen=0.5))
    'factor at most 1.25 over 50 % of the space; 1,200 evaluated, 3 open'
    """
    part = "" if progress.seen >= 1.0 else f" over {100.0 * progress.seen:.3g} % of the space"
    bound = "no bound yet" if progress.factor is None else f"factor at most {progress.factor():.5g}{part}"
    return f"{bound}; {progress.evaluated:,} evaluated, {progress.waiting:,} open"


def _elapsed(start: float, seconds: float | None) -> str:
    limit = "" if seconds is None else f" of {seconds:g}"
    return f"{clock.monotonic() - start:.0f}{limit} s"


def _ended(waiting: int) -> list[str]:
    """Return that a proof has ended early, and how it goes on; nothing of one that is complete."""
    ended = "The proof ended before all was examined. `--seconds` gives it more time, and inf all of it."
    return [ended] if waiting else []


def _proof_json(found: FrontProof, front: Front, result: Path, beyond: Sequence[BeyondLinks | None]) -> dict[str, Any]:
    return {
        "result": str(result),
        "hypervolume": found.hypervolume,
        "max_hypervolume": found.max_hypervolume,
        "missed_hypervolume": found.missed_hypervolume,
        "largest_factor": found.largest_factor,
        "missing_designs": found.missing,
        "missing_but_near": found.near,
        "designs": _factors(found, front, beyond),
        "complete": not found.waiting,
        **(approximation(front.frame["design"].to_list()) if "design" in front.frame.columns else {}),
        "rests_on": {
            "plans": found.plans, "networks": found.networks, "looked_at": found.timed, "waiting": found.waiting,
        },
    }  # fmt: skip


def _show_proof(found: FrontProof, front: Front, problem: Problem) -> None:
    _show_distance(found, front, problem)
    plans = f" with {found.plans:,} plans" if found.plans > 1 else ""
    rest = f"bounds stand for {found.waiting:,} others" if found.waiting else "limits and bounds exclude the others"
    networks = "orders" if front.noun == "order" else "networks of whole ports"
    print(f"it rests on an evaluation of all {found.networks:,} {networks}{plans}:")
    print(f"{counted(found.timed, 'design')} evaluated, {rest}.")


def _show_distance(found: FrontProof, front: Front, problem: HasObjectives) -> None:
    names = " against ".join(objective.name for objective in problem.objectives)
    print(f"{problem.name}: a front of {counted(len(front), front.noun)}, {names}")
    share = found.missed_hypervolume / found.max_hypervolume
    volumes = f"{found.hypervolume:.6f} of at most {found.max_hypervolume:.6f}"
    print(f"  hypervolume        {volumes}: misses at most {share:.2%}")
    if not found.waiting:
        lacks = f"lacks {found.missing:,} of the {counted(found.exact, front.noun)} of" if found.missing else "is"
        print(f"  exact front        this one {lacks} the exact one{_near_text(found)}")
    each = f"each {front.noun}"
    print(f"  {each:<18} {_spread(found)}")
    print(f"                     in one objective, against {front.noun}s as good in all others")


def _near_text(found: FrontProof) -> str:
    """Return how many designs are missing since designs that differ by little are one row; empty for none."""
    if not found.near:
        return ""
    near = "all" if found.near == found.missing else f"{found.near:,}"
    return f",\n                     {near} of them within {100.0 * found.within:g} % of a row in every objective"


def _state(found: Certificate) -> str:
    share = found.missed_hypervolume / found.max_hypervolume
    return (
        f"factor at most {found.largest_factor:.5g}, hypervolume missed at most {share:.3%}; "
        f"{found.looked:,} examined, {found.waiting:,} branches open"
    )


def _certificate_json(
    found: Certificate, front: Front, result: Path, beyond: Sequence[BeyondLinks | None]
) -> dict[str, Any]:
    return {
        "result": str(result),
        "hypervolume": found.hypervolume,
        "max_hypervolume": found.max_hypervolume,
        "missed_hypervolume": found.missed_hypervolume,
        "largest_factor": found.largest_factor,
        "at_cost_usd": found.at_cost,
        "designs": _factors(found, front, beyond),
        "fastest_ms": found.fastest * 1e3,
        "complete": not found.waiting,
        **approximation(front.frame["design"].to_list()),
        "rests_on": {
            "structures": found.structures,
            "plans": found.plans,
            "networks": found.networks,
            "looked_at": found.looked,
            "waiting": found.waiting,
            "programs_solved": found.solved,
        },
    }


def _factors(
    found: Certificate | FrontProof, front: Front, beyond: Sequence[BeyondLinks | None]
) -> list[dict[str, Any]]:
    return [
        {"id": int(i), "factor": float(factor), **({} if limit is None else {"shares": limit.json()})}
        for i, factor, limit in zip(front.frame["id"], found.factor, beyond, strict=True)
    ]


def _shares_texts(front: Front, beyond: Sequence[BeyondLinks | None]) -> list[str]:
    from evo_libra.front.families import short_network
    from evo_libra.problem.link_limits import summary

    if not any(beyond):
        return []
    names = [f"#{row['id']} {short_network(str(row['design']))}" for row in front.frame.to_dicts()]
    return summary(beyond, names)


def _show_certificate(found: Certificate, front: Front, problem: Problem) -> None:
    from evo_libra.explain.reasons import is_loose
    from evo_libra.front.families import short_network

    share = found.missed_hypervolume / found.max_hypervolume
    print(f"{problem.name}: a front of {counted(len(front), 'design')}")
    volumes = f"{found.hypervolume:.6f} of at most {found.max_hypervolume:.6f}"
    print(f"  hypervolume        {volumes}: misses at most {share:.2%}")
    worst = f"at most {found.largest_factor:.6g} times the ideal, at {number(found.at_cost)} USD"
    loose = is_loose(found.largest_factor)
    print(f"  time at equal cost {'not proven: the bound is loose, ' if loose else ''}{worst}")
    print(f"  each design        {_spread(found)}")
    print(f"  fastest            no design takes less than {time_text(found.fastest * 1e3)}")
    how = "bounds of" if not found.waiting else f"branch and bound ({found.waiting:,} still open) over"
    plans = f" with {found.plans:,} plans" if found.plans > 1 else ""
    if found.networks:
        print(f"it rests on times of all {found.networks:,} networks of whole ports{plans};")
        rest = f"bounds stand for {found.waiting:,} others" if found.waiting else "bounds exclude the others"
        print(f"{found.looked:,} pairs of a network and a plan timed, {rest}.")
    else:
        print(f"it rests on {how} all {found.structures:,} topologies{plans};")
        print(f"{found.looked:,} examined, {found.solved:,} programs solved, each with its own proof.")
    furthest = sorted(zip(found.factor, front.frame.to_dicts(), strict=True), key=lambda pair: -pair[0])[:3]
    for factor, row in furthest:
        if factor > 1 + 1e-6:
            print(f"  {factor:.4g} times the ideal: #{row['id']} {short_network(str(row.get('design', '')))}".rstrip())


def _spread(found: Certificate | FrontProof) -> str:
    ordered = sorted(found.factor)
    return f"at most {ordered[-1]:.6g} times the ideal; median {ordered[len(ordered) // 2]:.6g}"
