"""A design with its workloads, written for ASTRA-sim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.ui.commands.named_runs import design_of, given_of, origin_of_result, problem_from, run_folder
from evo_libra.ui.commands.shared import Assignments, Json, TrustCode, app
from evo_libra.ui.output import new_console
from evo_libra.ui.texts import number, print_json, short_design

if TYPE_CHECKING:
    from evo_libra.astra_sim.readme import Exported
    from evo_libra.experiment.run.origin import Origin
    from evo_libra.problem.problem import Problem


@app.command
def export(
    result: Path | None = None,
    number: Annotated[int | None, Parameter(name="id")] = None,
    *,
    astra_sim: Path,
    design: str | None = None,
    time: Literal["astra", "themis"] | None = None,
    problem: str | None = None,
    assignments: Assignments = (),
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Write a design with its workloads for ASTRA-sim, and predict its time there to the nanosecond.

    Parameters
    ----------
    result:
        Folder of a run, or one with a single run in it, such as results/gpt3-4k; or a part of a run's name.
    number:
        The design's id in the front.
    astra_sim:
        Folder to write; new or empty.
    design:
        A design of --problem in the notation, instead of one of a result.
    time:
        The time model to export, if the problem has LIBRA's time.
    problem:
        The problem, if its file is no longer where the run found it.
    assignments:
        KEY=VALUE, on top of those of the run, such as time.latency_ns=500; may be repeated.
    trust_code:
        Run the code of a problem that the result names as module:object.
    as_json:
        Print one JSON object and nothing else.
    """
    from rich.status import Status

    from evo_libra.astra_sim.export import export_design
    from evo_libra.experiment.run.origin import origin_of
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.problem.quirks import warnings_of

    if result is not None and number is not None and design is None:
        run = RunFolder(run_folder(result))
        origin = origin_of_result(run, problem, given_of(run), trust_code=trust_code)
        searched = problem_from(origin)
        notation = design_of(run, number)
    elif result is None and number is None and design is not None and problem is not None:
        origin, notation = origin_of(problem, []), design
        searched = problem_from(origin)
    else:
        raise InputError("a design is needed: a RESULT and the ID of a design in its front, or --design and --problem")
    timed = _exported_problem(searched, origin, time, assignments)
    with Status("writing and predicting", console=new_console(stderr=True)):
        exported = export_design(timed, notation, astra_sim, None if result is None else searched)
    if as_json:
        warnings = [warned.json() for warned in warnings_of(timed, [notation])]
        print_json({"folder": str(astra_sim), **exported.json(), "warnings": warnings})
    else:
        _show(exported, astra_sim)
    return 0


def _exported_problem(searched: Problem, origin: Origin, model: str | None, assignments: Sequence[str]) -> Problem:
    """Return the problem with the time that is exported."""
    from evo_libra.problem.file.registry import with_time

    if model is None and searched.time.fidelity is None:
        raise InputError(
            f"the time of '{searched.name}' is LIBRA's, which has neither latency nor chunks; give --time astra, and "
            "where the catalogue has no latencies --set time.latency_ns=..."
        )
    if model is None and not assignments:
        return searched
    kept = model or str(searched.spec["time"]["model"])
    return problem_from(origin, [*with_time(searched, kept), *assignments])


def _show(exported: Exported, folder: Path) -> None:
    print(f"{short_design(exported.design)}\n")
    for workload in exported.workloads:
        times = {exported.models[0]: workload.searched, exported.models[1]: workload.modelled}
        print(f"{workload.name}, time of an iteration:")
        print(f"  ASTRA-sim       {workload.prediction.last:,} ns")
        if workload.scheduled:
            print(f"  with scheduler  {workload.scheduled.last:,} ns")
        for model, seconds in times.items():
            note = ", as it was searched" if len(times) > 1 and model == exported.models[0] else ""
            print(f"  time {model:9s}  {number(seconds * 1e3)} ms{note}")
        print(f"  ratio           {workload.ratio:.6g} of ASTRA-sim's to time {exported.models[0]}")
    print("\ndifferences:" if exported.differences else "\nno differences")
    for sentence in exported.differences:
        print(f"- {sentence}")
    print(f"\nfiles   {folder}\nreadme  {folder / 'README.md'}")
