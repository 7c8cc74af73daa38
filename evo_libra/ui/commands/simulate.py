"""The command `simulate`: ASTRA-sim's own input files, run to the nanosecond."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from evo_libra.errors import InputError, counted, unusable
from evo_libra.ui.commands.shared import Json, Rows, app
from evo_libra.ui.tables.output import FIGURES, print, print_folded, print_json, print_narrow, progress_bar

if TYPE_CHECKING:
    from evo_libra.astra_sim.simulate import InputFiles, Simulation
    from evo_libra.astra_sim.simulated_quirks import SizedQuirk

_CLASSES_DRAWN = 24
_MS, _GB, _WIDTH = 1e6, 1e9, 100
_CONFIGURATION = "-configuration"


@app.command(name="simulate")
def simulate_files(  # noqa: PLR0913 - ASTRA-sim has these options
    *,
    workload: Annotated[Path, Parameter(name=f"--workload{_CONFIGURATION}")],
    system: Annotated[Path, Parameter(name=f"--system{_CONFIGURATION}")],
    network: Annotated[Path, Parameter(name=f"--network{_CONFIGURATION}")],
    memory: Annotated[Path | None, Parameter(name=f"--remote-memory{_CONFIGURATION}")] = None,
    groups: Annotated[Path | None, Parameter(name=f"--comm-group{_CONFIGURATION}")] = None,
    num_queues_per_dim: int = 1,
    injection_scale: float = 1.0,
    comm_scale: float = 1.0,
    members: Literal["apart", "together"] = "apart",
    npu_speeds: Path | None = None,
    timeline: Annotated[tuple[Path, ...], Parameter(negative="")] = (),
    rows: Rows = 20,
    as_json: Json = False,
) -> int:
    """Run ASTRA-sim's own input files: when each NPU finishes, operators, use of each dimension, quirks.

    Parameters
    ----------
    workload:
        Prefix of the traces PREFIX.<npu>.et, or one trace that all NPUs run.
    system:
        ASTRA-sim's system file.
    network:
        ASTRA-sim's network file.
    memory:
        ASTRA-sim's file of remote memory; none when left out.
    groups:
        ASTRA-sim's file of communicator groups; a path that contains "empty" is none.
    num_queues_per_dim:
        Queues of each dimension.
    injection_scale:
        Factor of endpoint-delay.
    comm_scale:
        Taken as ASTRA-sim takes it, which uses it nowhere.
    members:
        Collectives of members that come apart: each member begins by itself, as in ASTRA-sim 2.0, or all begin together
        when the last one comes.
    npu_speeds:
        JSON with the speed of NPUs at computations, as {"3": 0.9}; others have 1.
    timeline:
        File to write: .json for trace viewers (Chrome's format), or a figure, .png, .pdf or .svg; may be repeated.
    """
    from evo_libra.astra_sim.simulate import InputFiles
    from evo_libra.astra_sim.simulated_quirks import quirks_of

    _check_timelines(timeline)
    files = InputFiles(
        workload=workload, system=system, network=network, memory=memory, groups=groups, queues=num_queues_per_dim,
        injection_scale=injection_scale, comm_scale=comm_scale, waiting=members == "together",
        speeds=npu_speeds,
    )  # fmt: skip
    done = _run(files)
    quirks = quirks_of(done, files)
    for path in timeline:
        _write_timeline(done, path, str(workload))
    if as_json:
        print_json(_json(done, quirks, timeline))
    else:
        _show(done, quirks, rows)
        for path in timeline:
            print(f"wrote {path}")
    return 0


def _check_timelines(paths: Sequence[Path]) -> None:
    endings = (".json", *FIGURES)
    for path in paths:
        if path.suffix.lower() not in endings:
            raise InputError(f"--timeline: found {path.name}; it must end in {', '.join(endings)}")


def _run(files: InputFiles) -> Simulation:
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    from evo_libra.astra_sim.simulate import simulate

    with progress_bar(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as progress:
        task = progress.add_task("reading", total=None)
        return simulate(files, lambda text: progress.update(task, description=text))


def _write_timeline(done: Simulation, path: Path, title: str) -> None:
    from evo_libra.astra_sim.chrome_trace import chrome_trace, timeline_rows

    try:
        if path.suffix.lower() == ".json":
            path.write_text(chrome_trace(done.execution), encoding="utf-8")
            return
        from evo_libra.pictures.plots.timeline import timeline_figure

        rows = timeline_rows(done.execution, _CLASSES_DRAWN)
        timeline_figure(rows, title=title, path=path)
    except OSError as error:
        raise unusable(path, "written", error) from None


def _json(done: Simulation, quirks: Sequence[SizedQuirk], timeline: Sequence[Path]) -> dict[str, Any]:
    from evo_libra.astra_sim.operators import dimensions_of, operators_of
    from evo_libra.network.blocks.registry import BLOCK_NAMES

    run = done.execution
    columns = (run.finish, run.exposed, run.compute, run.communication, run.cpu, run.idle)
    names = ("finish_ns", "exposed_ns", "compute_ns", "communication_ns", "cpu_ns", "idle_ns")
    return {
        "finish_ns": float(run.finish.max()),
        "npus": [
            {"npu": npu, **dict(zip(names, values, strict=True))}
            for npu, values in enumerate(zip(*(column.tolist() for column in columns), strict=True))
        ],
        "operators": [operator.json() for operator in operators_of(run)],
        "dimensions": [
            {
                "dimension": d, "block": BLOCK_NAMES[one.block], "npus": one.npus, "sent_bytes_per_npu": one.sent,
                "links_per_npu": one.links, "utilisation": one.utilisation,
            }
            for d, one in enumerate(dimensions_of(done))
        ],
        "quirks": [quirk.json() for quirk in quirks],
        "notices": list(done.notices),
        "written": [str(path) for path in timeline],
    }  # fmt: skip


def _show(done: Simulation, quirks: Sequence[SizedQuirk], rows: int) -> None:
    run = done.execution
    program = run.program
    npus, nodes = counted(len(run.finish), "NPU"), sum(len(program.classes[c]) for c in program.owner.tolist())
    print(f"the last of {npus} finishes after {run.finish.max():,.0f} ns ({counted(nodes, 'node')})\n")
    _show_npus(done, rows)
    _show_operators(done, rows)
    _show_dimensions(done)
    for quirk in quirks:
        print_folded(f"quirk: {quirk}")
    for notice in done.notices:
        print_folded(f"notice: {notice}")


def _show_npus(done: Simulation, rows: int) -> None:
    from evo_libra.astra_sim.chrome_trace import class_name

    run = done.execution
    classes = sorted(run.program.classes, key=lambda members: -run.finish[members[0]])
    print_narrow(
        "NPUs, those that finish last first [ns]",
        ("NPUs", "finish", "exposed", "compute", "communication", "idle"),
        [
            (class_name(members), *(f"{column[members[0]]:,.0f}" for column in _columns(done)))
            for members in classes[:rows]
        ],
        fold=("NPUs",),
        caption=_more(len(classes) - rows, "more; --rows shows them, --json each NPU"),
    )


def _columns(done: Simulation) -> tuple[Any, ...]:
    run = done.execution
    return run.finish, run.exposed, run.compute, run.communication, run.idle


def _more(number: int, text: str) -> str | None:
    return f"{number:,} {text}" if number > 0 else None


def _show_operators(done: Simulation, rows: int) -> None:
    from evo_libra.astra_sim.operators import operators_of

    operators, npus = operators_of(done.execution), len(done.execution.finish)
    print_narrow(
        "operators, those that take the mean NPU longest first",
        ("operator", "kind", "bytes", "members", "nodes", "mean NPU [ms]", "exposed [ms]"),
        [
            (
                one.name or "-", one.kind, "-" if one.size < 0 else f"{one.size:.4g}", f"{one.members:,}",
                f"{one.nodes:,}", f"{one.total / npus / _MS:.4f}", f"{one.exposed / npus / _MS:.4f}",
            )
            for one in operators[:rows]
        ],
        fold=("operator",),
        left=("kind",),
        min_width=_WIDTH,
        caption=_more(len(operators) - rows, "more; --rows shows them, --json all"),
    )  # fmt: skip


def _show_dimensions(done: Simulation) -> None:
    from evo_libra.astra_sim.operators import dimensions_of
    from evo_libra.network.blocks.registry import BLOCK_NAMES

    print_narrow(
        "dimensions, the innermost first",
        ("dimension", "block", "NPUs", "links per NPU", "sent per NPU [GB]", "utilisation"),
        [
            (str(d), BLOCK_NAMES[one.block], f"{one.npus:,}", f"{one.links:g}", f"{one.sent / _GB:,.4f}",
             f"{100 * one.utilisation:.1f} %")
            for d, one in enumerate(dimensions_of(done))
        ],
        left=("dimension", "block"),
    )  # fmt: skip
