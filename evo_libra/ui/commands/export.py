"""A design written for other programs, ASTRA-sim among them, and a cluster of ASTRA-sim read as a problem file."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.explain.labels import short_design
from evo_libra.named_code import trust_files
from evo_libra.quantities import number
from evo_libra.ui.commands.shared import Json, MoreAssignments, MovedProblem, TrustCode, app
from evo_libra.ui.tables.addresses import Addressed, DesignAddress, addressed, is_address, written
from evo_libra.ui.tables.fabric_designs import fabric_design, format_of_fabric
from evo_libra.ui.tables.named_runs import named_origin, problem_file
from evo_libra.ui.tables.output import print, print_file, print_json, progress_console
from evo_libra.ui.tables.problem_files import problem_name, write_problem

if TYPE_CHECKING:
    from evo_libra.astra_sim.importing import Imported, TraceWorkload
    from evo_libra.astra_sim.readme import Exported
    from evo_libra.experiment.run.origin import Origin
    from evo_libra.problem.problem import Problem
    from evo_libra.timing.input_files.system_file import SystemFile
    from evo_libra.ui.tables.answers import Import


@app.command
def export(  # noqa: PLR0913 - each is an option of the command
    result: DesignAddress | None = None,
    number: Annotated[str | None, Parameter(name="id")] = None,
    *,
    to: str | None = None,
    file: Annotated[Path | None, Parameter(name=["--file", "-o"])] = None,
    workload: str | None = None,
    astra_sim: Path | None = None,
    design: str | None = None,
    time: Literal["astra", "themis"] | None = None,
    problem: MovedProblem = None,
    assignments: MoreAssignments = (),
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Write a design for another program: its plan, its bill, its devices, or all of it for ASTRA-sim.

    Parameters
    ----------
    number:
        The design's id in the front, after RESULT alone.
    to:
        Format, such as megatron-arguments, bill-excel or netbox (all of its tables); an unknown name lists them.
    file:
        File to write; without it, text is printed. A folder for the tables of NetBox.
    workload:
        Workload whose plan is written, where several have one.
    astra_sim:
        Folder to write for ASTRA-sim, new or empty; its time there is predicted to the nanosecond.
    design:
        A design of --problem in the notation, instead of one of a result.
    time:
        The time model to export, if the problem has LIBRA's time.
    """
    trust_files(allowed=trust_code)
    if (to is None) == (astra_sim is None):
        raise InputError("one of --to NAME and --astra-sim FOLDER is needed")
    if to is not None and (fabric := fabric_design(result or problem or "", design, number)) is not None:
        _export_text(to, fabric.text, format_of_fabric(fabric, to), (), file, as_json=as_json)
        return 0
    if result is not None and design is None and not (is_address(result) and number is not None):
        address = result if number is None else f"{result}#{number}"
        found = addressed(address, problem=problem)
    elif result is None and number is None and design is not None and problem is not None:
        found = written(design, named_origin(problem, []))
    else:
        raise InputError("a design is needed: RESULT#ID, or --design and --problem")
    if astra_sim is not None:
        if file is not None or workload is not None:
            raise InputError("--file and --workload belong to --to; --astra-sim writes a folder of all workloads")
        _export_folder(found, astra_sim, time, assignments, as_json=as_json)
        return 0
    if time is not None or assignments:
        raise InputError("--time and --set belong to --astra-sim; --to writes the design as it was searched")
    if to == _NETBOX:
        _export_tables(found, file, workload, as_json=as_json)
    else:
        _export_file(found, str(to), file, workload, as_json=as_json)
    return 0


_NETBOX = "netbox"
"""Name of all tables of NetBox, which are a file each."""


def _export_tables(found: Addressed, folder: Path | None, workload: str | None, *, as_json: bool) -> None:
    """Write every table of NetBox to a folder."""
    from evo_libra.exchange.formats import Chosen
    from evo_libra.exchange.registry import write_as, writers

    if folder is None:
        raise InputError(f"--to {_NETBOX} writes a file for each table; --file names the folder to write them to")
    names = [name for name in writers() if name.startswith(f"{_NETBOX}-")]
    chosen = Chosen(found.problem, found.problem.read(found.design), workload)
    texts = {folder / f"{name}.csv": str(write_as(name, chosen).content) for name in names}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {(error.strerror or '').lower()}") from None
    if as_json:
        print_json({"format": _NETBOX, "design": found.design, "files": list(map(str, texts))})
    for file in texts if not as_json else ():
        print(f"wrote {file}")


def _export_file(found: Addressed, to: str, file: Path | None, workload: str | None, *, as_json: bool) -> None:
    from rich.status import Status

    from evo_libra.exchange.formats import Chosen
    from evo_libra.exchange.registry import write_as

    with Status(f"writing {to}", console=progress_console()):
        written = write_as(to, Chosen(found.problem, found.problem.read(found.design), workload))
    _export_text(to, found.design, written.content, written.left, file, as_json=as_json)


def _export_text(
    to: str, design: str, content: str | bytes, left: Sequence[str], file: Path | None, *, as_json: bool
) -> None:
    """Write a format to a file, or print it; `left` says what it has no place for."""
    if file is None and not isinstance(content, str):
        raise InputError(f"{to} is no text; --file names the file to write")
    if file is not None:
        try:
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise InputError(f"{file} cannot be written: {(error.strerror or '').lower()}") from None
    if as_json:
        content_of = {"content": content} if file is None else {"file": str(file)}
        print_json({"format": to, "design": design, **content_of, "left_out": list(left)})
        return
    if file is not None:
        print(f"wrote {file}")
    else:
        print_file(str(content))
    for sentence in left:
        print(f"left out: {sentence}", file=sys.stderr if file is None else sys.stdout)


def _export_folder(
    found: Addressed,
    astra_sim: Path,
    time: Literal["astra", "themis"] | None,
    assignments: Sequence[str],
    *,
    as_json: bool,
) -> None:
    from rich.status import Status
    from rich.text import Text

    from evo_libra.astra_sim.export import export_design
    from evo_libra.problem.designs import warnings_of

    searched, notation = found.problem, found.design
    if searched.book is not None:
        raise InputError(
            "ASTRA-sim's network files have rings, fully connected dimensions and switches of 1:1, and no word for the "
            "tiers, planes and ratios of an order"
        )
    timed = _exported_problem(searched, found.origin, time, assignments)
    with Status("writing and predicting", console=progress_console()) as status:
        before = None if found.result is None else searched
        exported = export_design(timed, notation, astra_sim, before, lambda text: status.update(Text(text)))
    if as_json:
        warnings = [warned.json() for warned in warnings_of(timed, [notation])]
        print_json({"folder": str(astra_sim), **exported.json(), "warnings": warnings})
    else:
        _show_export(exported, astra_sim)


def _exported_problem(searched: Problem, origin: Origin, model: str | None, assignments: Sequence[str]) -> Problem:
    """Return the problem with the time that is exported: of --time, of --set, or of the search."""
    from evo_libra.experiment.run.origin import build, with_assignments
    from evo_libra.problem.file.registry import with_time

    found = searched
    if model is not None or assignments:
        own = with_time(searched, _model_of(searched.spec["time"]))
        asked = model or _model_of(with_assignments(origin, [*own, *assignments]).data["time"])
        found = problem_file(build(with_assignments(origin, [*with_time(searched, asked), *assignments])))
    if model is None and not found.time.predicts_astra_sim:
        raise InputError(
            f"the time of '{searched.name}' is {found.time.title}, which has neither latency nor chunks; give --time "
            "astra, and where the catalogue has no latencies --set time.latency_ns=..."
        )
    return found


def _model_of(time: object) -> str:
    return str(time.get("model") if isinstance(time, Mapping) else time)


def _show_export(exported: Exported, folder: Path) -> None:
    print(f"{short_design(exported.design)}\n")
    for workload in exported.workloads:
        times = {exported.models[0]: workload.searched, exported.models[1]: workload.modelled}
        print(f"{workload.name}, time of an iteration:")
        print(f"  ASTRA-sim       {workload.prediction.last:,} ns")
        if workload.scheduled:
            print(f"  with scheduler  {workload.scheduled.last:,} ns")
        for model, seconds in times.items():
            note = ", the time of the search" if len(times) > 1 and model == exported.models[0] else ""
            print(f"  time {model:9s}  {number(seconds * 1e3)} ms{note}")
        print(f"  ratio           {workload.ratio:.6g} of ASTRA-sim's to time {exported.models[0]}")
        print(f"  difference      {workload.difference:+.4%}")
    print("\ndifferences:" if exported.differences else "\nno differences")
    for sentence in exported.differences:
        print(f"- {sentence}")
    print(f"\nfiles   {folder}\nreadme  {folder / 'README.md'}")


def import_cluster(
    network: Path,
    system: Path,
    problem: Path | None,
    *,
    traces: Path | None = None,
    groups: Path | None = None,
    as_json: bool,
) -> None:
    """Show a cluster of ASTRA-sim and write it as a problem file where one is named, with traces as its workload."""
    from evo_libra.astra_sim.importing import read_cluster
    from evo_libra.files.source import read_source
    from evo_libra.timing.input_files.network_file import parse_network
    from evo_libra.timing.input_files.system_file import parse_system

    links = parse_network(read_source(network))
    file = parse_system(read_source(system), links)
    found = read_cluster(links, file)
    notices = [*(f"{network}: {n}" for n in links.notices), *(f"{system}: {n}" for n in file.notices)]
    workload = None
    if traces is not None and problem is not None:
        workload = _trace_workload(file, traces, groups, problem.parent)
    written = [] if problem is None else _write(found, problem, workload)
    if as_json:
        answer: Import = {
            "design": str(found.fabric), "npus": found.fabric.npus, "time": dict(found.time),
            "compute_TFLOPS": found.compute, "notices": notices, "without_counterpart": list(found.without),
            "written": [str(path) for path in written],
        }  # fmt: skip
        print_json(answer)
    else:
        _show_import(found, notices, written)


def _trace_workload(file: SystemFile, traces: Path, groups: Path | None, folder: Path) -> TraceWorkload:
    """Return traces as the workload of a problem file in a folder."""
    from evo_libra.arrays import TERA
    from evo_libra.astra_sim.importing import TraceWorkload
    from evo_libra.chakra.read import trace_files
    from evo_libra.timing.input_files.system_file import UNLIMITED

    trace_files(traces)  # which says that there are none
    paths = [None if path is None else Path(os.path.relpath(path, folder)).as_posix() for path in (traces, groups)]
    memory = min(file.system.overheads.memory, UNLIMITED)
    return TraceWorkload(str(paths[0]), paths[1], (file.compute.peak / TERA, memory) if file.compute.roofline else None)


def _write(found: Imported, out: Path, traces: TraceWorkload | None) -> list[Path]:
    """Write a problem file and its catalogue; neither stays if they cannot be read."""
    from evo_libra.astra_sim.importing import problem_texts

    catalog = out.with_name(f"{out.stem}.catalog.yaml")
    texts = problem_texts(found, problem_name(out), catalog.name, traces)
    return write_problem(out, dict(zip((out, catalog), texts, strict=True)))


def _show_import(found: Imported, notices: list[str], written: list[Path]) -> None:
    from evo_libra.astra_sim.importing import time_text

    print(f"design, in GB/s of 10^9 bytes per NPU:\n  {found.fabric}\n\ntime:\n{time_text(found.time)}", end="")
    if found.compute is not None:
        print(f"\nan NPU computes {found.compute:g} TFLOP/s at most")
    for title, sentences in (("without a counterpart:", found.without), ("passed over:", notices)):
        if sentences:
            print(f"\n{title}")
        for sentence in sentences:
            print(f"- {sentence}")
    for path in written:
        print(f"wrote {path}")
