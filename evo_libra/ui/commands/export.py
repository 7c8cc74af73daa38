"""The command that writes a design with its workloads for ASTRA-sim."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rich.status import Status

from evo_libra.astra_sim.export import export_design
from evo_libra.astra_sim.readme import Exported
from evo_libra.errors import InputError
from evo_libra.experiment.run.origin import Origin, origin_of
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.problem.file.registry import with_time
from evo_libra.problem.problem import Problem
from evo_libra.problem.quirks import warnings_of
from evo_libra.ui.commands.proofs import given_of, origin_of_result, problem_from
from evo_libra.ui.output import new_console
from evo_libra.ui.texts import number, print_json, run_folder, short_design

Source = tuple[Path, int] | str
"""A result and an id in its front, or a design in the notation."""


def source_of(result: Path | None, number_: int | None, design: str | None, problem: str | None) -> Source:
    """Return where a design comes from.

    Raises
    ------
    InputError : neither a result with an id nor a design with a problem is given, or both.
    """
    if result is not None and number_ is not None and design is None:
        return result, number_
    if result is None and number_ is None and design is not None and problem is not None:
        return design
    raise InputError("a design is needed: a RESULT and the ID of a design in its front, or --design and --problem")


def export_command(
    source: Source,
    folder: Path,
    model: str | None,
    name: str | None,
    assignments: Sequence[str],
    *,
    trust_code: bool = False,
    as_json: bool,
) -> int:
    """Write a design for ASTRA-sim: one of a result, by its id, or one in the notation."""
    if isinstance(source, str):
        assert name is not None  # noqa: S101 - the command line has looked
        design, origin = source, origin_of(name, [])
    else:
        result = RunFolder(run_folder(source[0]))
        origin = origin_of_result(result, name, given_of(result), trust_code=trust_code)
        design = design_of(result, source[1])
    known = problem_from(origin)
    problem = _exported_problem(known, origin, model, assignments)
    searched = None if isinstance(source, str) else known
    with Status("writing and predicting", console=new_console(stderr=True)):
        exported = export_design(problem, design, folder, searched)
    if as_json:
        warnings = [warned.json() for warned in warnings_of(problem, [design])]
        print_json({"folder": str(folder), **exported.json(), "warnings": warnings})
    else:
        _show(exported, folder)
    return 0


def design_of(result: RunFolder, number_: int) -> str:
    """Return a design of the front of a result by its id, in the notation.

    Raises
    ------
    InputError : there is no front, or no such design on it.
    """
    frame = result.read_front().frame
    found = frame.filter(pl.col("id") == number_)
    if not found.height:
        raise InputError(f"the front of {result.path} has no design {number_}; its ids are 0 to {frame.height - 1}")
    return str(found["design"][0])


def _exported_problem(searched: Problem, origin: Origin, model: str | None, assignments: Sequence[str]) -> Problem:
    """Return the problem with the time that is exported."""
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
    print("\nwhat differs:" if exported.differences else "\nnothing differs")
    for sentence in exported.differences:
        print(f"- {sentence}")
    print(f"\nfiles   {folder}\nreadme  {folder / 'README.md'}")
