"""The command `workload`: summaries of execution traces, and traces of designs that are work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from evo_libra.errors import InputError, counted, printable
from evo_libra.named_code import trust_files
from evo_libra.ui.commands.shared import Json, MovedProblem, Rows, TrustCode, app, check_min, check_positive
from evo_libra.ui.tables.output import print, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from rich.progress import Progress

    from evo_libra.chakra.check import Chain
    from evo_libra.chakra.summary import CollectiveKey, TraceSummary, Volume
    from evo_libra.chakra.trace import Kind


_TERA, _GIGA, _MILLI = 1e12, 1e9, 1e-3
_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_GROUP_WIDTH = 16


workload = App(name="workload", help="Look at execution traces of workloads, and write those of designs.")
app.command(workload)


@workload.command(name="show")
def show_workload(
    trace: Path,
    *,
    peak: float | None = None,
    memory_bandwidth: float | None = None,
    rows: Rows = 20,
    as_json: Json = False,
) -> int:
    """Show what Chakra execution traces hold: nodes, bytes, compute, the longest chain.

    Parameters
    ----------
    trace:
        A trace, or the prefix of PREFIX.<npu>.et for all NPUs.
    peak:
        Peak rate of an NPU in TFLOP/s; with --memory-bandwidth, a roofline gives the time of each computation.
    memory_bandwidth:
        GB/s of an NPU's memory.
    """
    from evo_libra.chakra.read import trace_files

    check_positive("peak", peak, "TFLOP/s")
    check_positive("memory-bandwidth", memory_bandwidth, "GB/s")
    if (peak is None) != (memory_bandwidth is None):
        raise InputError("--peak and --memory-bandwidth go together: a roofline needs both")
    rates = {"peak": peak and peak * _TERA, "memory_bandwidth": memory_bandwidth and memory_bandwidth * _GIGA}
    summaries = _summaries(trace_files(trace), rates)
    if as_json:
        print_json({"trace": str(trace), "npus": list(map(_summary_json, summaries))})
    else:
        _show(trace, summaries, rows)
    return 0


@workload.command(name="write")
def write_workload(
    design: str,
    out: Annotated[Path, Parameter(name="--out")],
    *,
    batch: int = 1,
    problem: MovedProblem = None,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Write the Chakra execution traces of a design, of a problem in Python whose designs are work.

    Parameters
    ----------
    design:
        RESULT#ID, such as last#12, or RESULT#knee.
    out:
        The prefix of the files, such as traces/mlp for traces/mlp.0.et, traces/mlp.1.et and so on.
    batch:
        Samples that are computed together.
    """
    from evo_libra.ui.tables.addressed_designs import traces_of_design

    trust_files(allowed=trust_code)
    check_min("batch", batch)
    number, paths = traces_of_design(design, out, batch, problem)
    if as_json:
        print_json({"id": number, "batch": batch, "traces": paths})
    else:
        print(f"design {number}: {counted(len(paths), 'trace')}, {paths[0]} to {paths[-1]}")
    return 0


def _summaries(files: Sequence[Path], rates: Mapping[str, float | None]) -> list[TraceSummary]:
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    from evo_libra.chakra.summary import summarise

    with progress_bar(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(compact=True)) as progress:
        sizes = [file.stat().st_size for file in files]
        task, before, summaries = progress.add_task("reading", total=sum(sizes)), 0, []
        for file, size in zip(files, sizes, strict=True):
            summaries.append(summarise(file, watch=_advancing(progress, task, before), **rates))
            before += size
            progress.update(task, completed=before)
    return summaries


def _advancing(progress: Progress, task: Any, before: int) -> Callable[[int], None]:  # noqa: ANN401 - Rich's TaskID
    return lambda read: progress.update(task, completed=before + read)


def _summary_json(summary: TraceSummary) -> dict[str, Any]:
    compute, critical = summary.compute, summary.critical
    return {
        "file": summary.file,
        "schema": summary.version,
        "nodes": sum(summary.kinds.values()),
        "dependencies": summary.dependencies,
        "kinds": {kind.name: count for kind, count in summary.kinds.items()},
        "compute": {
            "nodes": compute.nodes,
            "operations": compute.operations,
            "bytes": compute.size,
            "recorded_ms": compute.recorded / _MILLI,
            "untimed_nodes": compute.untimed,
        },
        "collectives": [_collective_json(use, volume) for use, volume in summary.collectives.items()],
        "sends": [{"to_npu": npu, **_volume_json(volume)} for npu, volume in sorted(summary.sends.items())],
        "receives": [{"from_npu": npu, **_volume_json(volume)} for npu, volume in sorted(summary.receives.items())],
        "loads": _volume_json(summary.loads),
        "stores": _volume_json(summary.stores),
        "longest_chain": _chain_json(summary.longest),
        "critical_path": critical and {"compute_ms": critical.weight / _MILLI, **_chain_json(critical)},
    }


def _collective_json(use: CollectiveKey, volume: Volume) -> dict[str, Any]:
    involved = None if use.involved is None else list(use.involved)
    return {
        "collective": use.collective.name,
        "group": use.group,
        "involved_dim": involved,
        **_volume_json(volume),
        "empty_nodes": volume.empty,
    }


def _volume_json(volume: Volume) -> dict[str, int]:
    return {"nodes": volume.nodes, "bytes": volume.size}


def _chain_json(chain: Chain) -> dict[str, int]:
    return {"nodes": chain.nodes, "first": chain.first, "last": chain.last}


def _show(trace: Path, summaries: Sequence[TraceSummary], rows: int) -> None:
    versions = sorted({printable(summary.version) or "without a version" for summary in summaries})
    files = "one trace" if len(summaries) == 1 else f"traces of {len(summaries):,} NPUs"
    nodes = sum(sum(summary.kinds.values()) for summary in summaries)
    dependencies = sum(summary.dependencies for summary in summaries)
    size = f"{counted(nodes, 'node')}, {counted(dependencies, 'dependency', 'dependencies')}"
    print(f"{trace}\n{files}, schema {', '.join(versions)}: {size}\n")
    _show_kinds(summaries)
    if any(summary.collectives for summary in summaries):
        _show_collectives(summaries, rows)
    for line in (*_compute_lines(summaries), *_chain_lines(summaries), *_empty_lines(summaries)):
        print(line)


def _show_kinds(summaries: Sequence[TraceSummary]) -> None:
    from evo_libra.chakra.trace import Kind

    columns = ("kind", "nodes", "bytes", *(("nodes per NPU", "bytes per NPU") if len(summaries) > 1 else ()))
    rows = []
    for kind in Kind:
        counts = [summary.kinds.get(kind, 0) for summary in summaries]
        sizes = [_size_of(summary, kind) for summary in summaries]
        if any(counts):
            total, each = (_bytes(sum(sizes)), _range(sizes, _bytes)) if any(sizes) else ("-", "-")
            words = (kind.name, f"{sum(counts):,}", total, _range(counts, "{:,}".format), each)
            rows.append(words[: len(columns)])
    print_table("nodes and their bytes", columns, rows, left=("kind",))


def _size_of(summary: TraceSummary, kind: Kind) -> int:
    """Return the bytes that the nodes of a kind compute on, send or move."""
    from evo_libra.chakra.trace import Kind

    volumes: Mapping[Kind, Iterable[Volume]] = {
        Kind.COMM_COLL: summary.collectives.values(),
        Kind.COMM_SEND: summary.sends.values(),
        Kind.COMM_RECV: summary.receives.values(),
        Kind.MEM_LOAD: [summary.loads],
        Kind.MEM_STORE: [summary.stores],
    }
    return summary.compute.size if kind is Kind.COMP else sum(volume.size for volume in volumes.get(kind, ()))


def _show_collectives(summaries: Sequence[TraceSummary], rows: int) -> None:
    """Print a table of the collectives of each sort over all traces, those with the most bytes first."""
    volumes: dict[CollectiveKey, list[Volume]] = {}
    for summary in summaries:
        for use, volume in summary.collectives.items():
            volumes.setdefault(use, []).append(volume)
    ordered = sorted(volumes.items(), key=lambda item: -sum(volume.size for volume in item[1]))
    more = f"{len(ordered) - rows:,} more, with fewer bytes; --rows shows them, --json too"
    words = ("collective", "group", "dimensions")
    print_table(
        "collectives",
        (*words, "traces", "nodes per NPU", "bytes per NPU"),
        [
            (
                use.collective.name, _group(use), _dimensions(use), f"{len(found):,}",
                _number(fmean(volume.nodes for volume in found)), _bytes(fmean(volume.size for volume in found)),
            )
            for use, found in ordered[:rows]
        ],
        left=words,
        caption=more if len(ordered) > rows else None,
    )  # fmt: skip


def _group(use: CollectiveKey) -> str:
    from evo_libra.files.mistakes import short

    return short(printable(use.group), _GROUP_WIDTH) if use.group else "all"


def _dimensions(use: CollectiveKey) -> str:
    if use.involved is None:
        return "all"
    return ", ".join(str(dimension) for dimension, takes_part in enumerate(use.involved) if takes_part) or "none"


def _compute_lines(summaries: Sequence[TraceSummary]) -> Iterable[str]:
    if not any(summary.compute.nodes for summary in summaries):
        return
    operations = [summary.compute.operations for summary in summaries]
    recorded = [summary.compute.recorded / _MILLI for summary in summaries]
    yield f"compute          {_range(operations, '{:.4g}'.format)} operations per NPU"
    if any(recorded):
        yield f"recorded         {_range(recorded, '{:.6g}'.format)} ms of computations per NPU"


def _chain_lines(summaries: Sequence[TraceSummary]) -> Iterable[str]:
    longest = max(summaries, key=lambda summary: summary.longest.nodes)
    yield f"longest chain    {_chain(longest.longest)}{_whose(longest, summaries)}"
    critical = [(summary.critical, summary) for summary in summaries if summary.critical]
    if not critical:
        if any(summary.compute.nodes for summary in summaries):
            yield "critical path    no computation has a recorded time;"
            yield "                 --peak and --memory-bandwidth give them one"
        return
    chain, slowest = max(critical, key=lambda pair: pair[0].weight)
    yield f"critical path    {chain.weight / _MILLI:.6g} ms of computations alone,"
    yield f"                 {_chain(chain)}{_whose(slowest, summaries)}"
    untimed = sum(summary.compute.untimed for summary in summaries)
    if untimed:
        yield f"                 {counted(untimed, 'computation')} without a time, counted as none"


def _empty_lines(summaries: Sequence[TraceSummary]) -> Iterable[str]:
    empty = sum(volume.empty for summary in summaries for volume in summary.collectives.values())
    if empty:
        yield f"remark           {counted(empty, 'collective')} of 0 bytes: ASTRA-sim runs each with a byte"
        yield "                 per NPU in every chunk, and never ends an all-gather of 0 bytes"


def _chain(chain: Chain) -> str:
    return f"{counted(chain.nodes, 'node')}, from node {chain.first} to node {chain.last}"


def _whose(summary: TraceSummary, summaries: Sequence[TraceSummary]) -> str:
    return "" if len(summaries) == 1 else f" of {Path(summary.file).name}"


def _range(values: Sequence[float], shown: Callable[[float], str]) -> str:
    """Return the range of some values in words, or the value where they are equal."""
    low, high = shown(min(values)), shown(max(values))
    return low if low == high else f"{low} to {high}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def _bytes(size: float) -> str:
    for factor, unit in _UNITS:
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size:.4g} B"
