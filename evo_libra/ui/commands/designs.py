"""The commands about one design: evaluate, optimize, export, import."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from evo_libra.ui.commands.shared import Assignments, Json, TrustCode, app


@app.command
def evaluate(
    problem: str,
    *,
    design: str | None = None,
    number: Annotated[int | None, Parameter(name="id")] = None,
    set_: Assignments = None,
    json_: Json = False,
) -> int:
    """Evaluate one design: its time and cost, and where they come from.

    Parameters
    ----------
    problem:
        Path of a problem file, or name of a problem; with --id the folder of a run.
    design:
        Such as "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20" (GB/s per NPU).
    number:
        Instead of --design, the design's id in the front of that run.
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.evaluate import evaluate_command  # noqa: PLC0415 - see `shared`

    return evaluate_command(problem, design, set_ or [], number_=number, as_json=json_)


@app.command
def optimize(
    problem: str,
    *,
    shape: str | None = None,
    total: float | None = None,
    cost: float | None = None,
    constraint: Annotated[list[str] | None, Parameter(negative="")] = None,
    objective: str = "time",
    set_: Assignments = None,
    json_: Json = False,
) -> int:
    """Find the best bandwidths of one network, exactly, with a proof and what holds them back.

    Parameters
    ----------
    problem:
        Path of a problem file, or name of a problem. Bounds of bandwidth that it leaves out do not exist here.
    shape:
        Such as "RI(4)_FC(8)_RI(4)_SW(32)"; technologies that it leaves open are chosen.
    total:
        GB/s per NPU over all dimensions, exactly.
    cost:
        USD at most.
    constraint:
        As in a problem file, such as "bw[0] >= bw[1]"; may be repeated.
    objective:
        time, or time-cost: the product of both, LIBRA's perf-per-cost.
    set_:
        KEY=VALUE, replaces a value of the problem file; may be repeated.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.proofs import optimize_command  # noqa: PLC0415 - see `shared`

    limits = {"total": total, "cost": cost, "constraints": constraint or []}
    return optimize_command(problem, shape, limits, objective, set_ or [], as_json=json_)


@app.command
def export(
    result: Path | None = None,
    number: Annotated[int | None, Parameter(name="id")] = None,
    *,
    astra_sim: Path,
    design: str | None = None,
    time: Literal["astra", "themis"] | None = None,
    problem: str | None = None,
    set_: Assignments = None,
    trust_code: TrustCode = False,
    json_: Json = False,
) -> int:
    """Write a design with its workloads for ASTRA-sim, and predict to the nanosecond what it will say.

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
        The model of time to export, where the problem has LIBRA's.
    problem:
        The problem, where its file is no longer where the run found it.
    set_:
        KEY=VALUE, on top of those of the run, such as time.latency_ns=500; may be repeated.
    trust_code:
        Run the code of a problem that the result names as module:object.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.export import export_command, source_of  # noqa: PLC0415 - see `shared`

    source = source_of(result, number, design, problem)
    return export_command(source, astra_sim, time, problem, set_ or [], trust_code=trust_code, as_json=json_)


@app.command(name="import")
def import_cluster(*, network: Path, system: Path, problem: Path | None = None, json_: Json = False) -> int:
    """Read a cluster of ASTRA-sim: its design in the notation, and the time of a problem file.

    Parameters
    ----------
    network:
        ASTRA-sim's network file.
    system:
        Its system file.
    problem:
        Problem file to write, with the network pinned, and a catalogue beside it.
    json_:
        Print one JSON object and nothing else.
    """
    from evo_libra.ui.commands.import_cluster import import_command  # noqa: PLC0415 - see `shared`

    return import_command(network, system, problem, as_json=json_)
