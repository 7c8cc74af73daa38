"""What execution traces of workloads hold."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cyclopts import App

from evo_libra.errors import InputError, counted, printable
from evo_libra.ui.commands.shared import Json, app, check_least
from evo_libra.ui.output import new_console

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

    from evo_libra.chakra.graph import Chain
    from evo_libra.chakra.summary import CollectiveKey, TraceSummary, Volume
    from evo_libra.chakra.trace import Kind


_TERA, _GIGA, _MILLI = 1e12, 1e9, 1e-3
_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_GROUP_WIDTH = 16


workload = App(name="workload", help="Look at execution traces of workloads.")


app.command(workload)


@workload.command(name="show")
def show_workload(
    trace: Path,
    *,
    peak: float | None = None,
    memory_bandwidth: float | None = None,
    rows: int = 20,
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
    rows:
        Rows of the table of collectives, at most. JSON has all.
    as_json:
        Print one JSON object and nothing else.
    """
    from evo_libra.chakra.read import trace_files

    for key, value, unit in (("peak", peak, "TFLOP/s"), ("memory-bandwidth", memory_bandwidth, "GB/s")):
        if value is not None and not 0 < value < math.inf:
            raise InputError(f"--{key}: found {value:g}; a number of {unit} above 0 is needed")
    if (peak is None) != (memory_bandwidth is None):
        raise InputError("--peak and --memory-bandwidth go together: a roofline needs both")
    check_least("rows", rows)
    rates = {
        "peak": None if peak is None else peak * _TERA,
        "memory_bandwidth": None if memory_bandwidth is None else memory_bandwidth * _GIGA,
    }
    summaries = _summaries(trace_files(trace), rates)
    if as_json:
        print(json.dumps({"trace": str(trace), "npus": list(map(_summary_json, summaries))}, allow_nan=False))
    else:
        _show(trace, summaries, rows)
    return 0


def _summaries(files: Sequence[Path], rates: Mapping[str, float | None]) -> list[TraceSummary]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from evo_libra.chakra.summary import summarise

    messages = new_console(stderr=True)
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(compact=True),
        console=messages, transient=True, disable=not messages.is_terminal,
    ) as progress:  # fmt: skip
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
    console = new_console()
    versions = sorted({printable(summary.version) or "without a version" for summary in summaries})
    files = "one trace" if len(summaries) == 1 else f"traces of {len(summaries):,} NPUs"
    nodes = sum(sum(summary.kinds.values()) for summary in summaries)
    dependencies = sum(summary.dependencies for summary in summaries)
    size = f"{counted(nodes, 'node')}, {counted(dependencies, 'dependency', 'dependencies')}"
    print(f"{trace}\n{files}, schema {', '.join(versions)}: {size}\n")
    console.print(_kinds_table(summaries))
    if any(summary.collectives for summary in summaries):
        console.print(_collectives_table(summaries, rows))
    for line in (*_compute_lines(summaries), *_chain_lines(summaries), *_empty_lines(summaries)):
        print(line)


def _kinds_table(summaries: Sequence[TraceSummary]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from evo_libra.chakra.trace import Kind

    table = Table(title=Text("nodes and their bytes"), title_justify="left")
    columns = ("kind", "nodes", "bytes", *(("nodes per NPU", "bytes per NPU") if len(summaries) > 1 else ()))
    for column in columns:
        table.add_column(column, justify="left" if column == "kind" else "right", no_wrap=True)
    for kind in Kind:
        counts = [summary.kinds.get(kind, 0) for summary in summaries]
        sizes = [_size_of(summary, kind) for summary in summaries]
        if any(counts):
            total, each = (_bytes(sum(sizes)), _range(sizes, _bytes)) if any(sizes) else ("-", "-")
            words = (kind.name, f"{sum(counts):,}", total, _range(counts, "{:,}".format), each)
            table.add_row(*words[: len(columns)])
    return table


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


@dataclass(frozen=True)
class _Total:
    """Collectives of one sort over all traces: in how many traces, how many nodes, how many bytes."""

    use: CollectiveKey
    npus: int
    nodes: int
    size: int


def _totals(summaries: Iterable[TraceSummary]) -> list[_Total]:
    from evo_libra.chakra.summary import CollectiveKey

    npus, nodes, sizes = Counter[CollectiveKey](), Counter[CollectiveKey](), Counter[CollectiveKey]()
    for summary in summaries:
        for use, volume in summary.collectives.items():
            npus[use] += 1
            nodes[use] += volume.nodes
            sizes[use] += volume.size
    return sorted((_Total(use, npus[use], nodes[use], sizes[use]) for use in npus), key=lambda total: -total.size)


def _collectives_table(summaries: Sequence[TraceSummary], rows: int) -> Table:
    from rich.table import Table
    from rich.text import Text

    totals = _totals(summaries)
    more = (
        f"{len(totals) - rows:,} more, with fewer bytes; --rows shows them, --json too" if len(totals) > rows else None
    )
    table = Table(title=Text("collectives"), title_justify="left", caption=more and Text(more), caption_justify="left")
    for column in ("collective", "group", "dimensions", "traces", "nodes per NPU", "bytes per NPU"):
        left = column in ("collective", "group", "dimensions")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    for total in totals[:rows]:
        words = [total.use.collective.name, _group(total.use), _dimensions(total.use), f"{total.npus:,}"]
        words += [_number(total.nodes / total.npus), _bytes(total.size / total.npus)]
        table.add_row(*map(Text, words))
    return table


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
    """Return the least and the most of some values in words, or the value where they are equal."""
    least, most = shown(min(values)), shown(max(values))
    return least if least == most else f"{least} to {most}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def _bytes(size: float) -> str:
    for factor, unit in _UNITS:
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size:.4g} B"
