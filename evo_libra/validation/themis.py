"""Themis' published figures: six networks of 1024 NPUs, an all-reduce of 1000 MiB in 64 chunks.

The paper's "1 GB" is 1000 MiB, and its GB/s have 2^30 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.timing.collectives.themis_paper import Fabrics, paper_time, utilisation
from evo_libra.timing.input_files.network_file import TOPOLOGIES
from evo_libra.timing.names import Policy
from evo_libra.units import GIBI
from evo_libra.validation.source import PublishedRow, PublishedSource, published

CHUNKS = 64
LARGEST = 1000 * 2**20
"""Bytes of the all-reduce whose times are published."""
SIZES = range(LARGEST // 10, LARGEST + 1, LARGEST // 20)
"""Bytes of all-reduces whose means are published."""

BASELINE, FIFO, SMALLEST = "baseline", "fifo", "smallest_chunk_first"
PAPER = {
    BASELINE: (False, Policy.FIFO), FIFO: (True, Policy.FIFO), SMALLEST: (True, Policy.SMALLEST_CHUNK_FIRST),
}  # fmt: skip

_DEPTH = 4


def figures() -> Any:  # noqa: ANN401 - plain data
    """Return what the paper publishes."""
    return published("themis_published.json")


def networks() -> Fabrics:
    """Return the six networks, (d, n); what has fewer dimensions has others of one NPU."""
    codes = {block.name: code for code, block in enumerate(BLOCKS)}
    rows = [
        [
            [codes[TOPOLOGIES[block]] for block in one["block"]] + [0] * (_DEPTH - len(one["npus"])),
            one["npus"] + [1] * (_DEPTH - len(one["npus"])),
            [gigabits / 8 * GIBI / 1e9 for gigabits in one["bw_gbps_per_npu_unidir"]]
            + [1] * (_DEPTH - len(one["npus"])),
            one["latency_ns"] + [0] * (_DEPTH - len(one["npus"])),
        ]
        for one in figures()["topologies"].values()
    ]
    return Fabrics(*(np.array(column).T for column in zip(*rows, strict=True)))


def paper_times(size: int, schedulers: tuple[str, ...] = tuple(PAPER)) -> dict[str, FloatArray]:
    """Return (n,) ns of an all-reduce under schedulers of the paper."""
    fabrics, chosen = networks(), {name: PAPER[name] for name in schedulers}
    return {
        name: paper_time(Collective.ALL_REDUCE, size, fabrics, chunks=CHUNKS, greedy=greedy, policy=policy)
        for name, (greedy, policy) in chosen.items()
    }


def published_times(scheduler: str) -> FloatArray:
    """Return the (n,) published ns of the largest all-reduce."""
    return np.array([one[f"{scheduler}_us"] for one in figures()["topologies"].values()]) * 1e3


def used(time: FloatArray, size: int = LARGEST) -> FloatArray:
    """Return (n,) the utilisation in percent."""
    return 100 * utilisation(Collective.ALL_REDUCE, size, networks(), time)


def _times(scheduler: str) -> Iterator[PublishedRow]:
    ours = paper_times(LARGEST, (scheduler,))[scheduler] / 1e3
    for (name, one), time in zip(figures()["topologies"].items(), ours, strict=True):
        yield PublishedRow(name, one[f"{scheduler}_us"], float(time), "us")


def speedups(times: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """Return (n,) the speed-ups over the baseline of all others."""
    return {name: times[BASELINE] / time for name, time in times.items() if name != BASELINE}


def geometric_mean(values: FloatArray) -> float:
    """Return the mean that the paper takes of speed-ups."""
    return float(np.exp(np.log(values).mean()))


@cache
def _all_times() -> dict[int, dict[str, FloatArray]]:
    return {size: paper_times(size) for size in SIZES}


def _utilisations() -> Iterator[PublishedRow]:
    found = [{name: used(time, size) for name, time in times.items()} for size, times in _all_times().items()]
    for scheduler, value in figures()["utilisation_percent"].items():
        yield PublishedRow(scheduler, value, float(np.mean([one[scheduler] for one in found])), "percent")


def _speedups() -> Iterator[PublishedRow]:
    found = [speedups(times) for times in _all_times().values()]
    for scheduler, value in figures()["mean_speedup"].items():
        yield PublishedRow(
            f"mean, {scheduler}", value, geometric_mean(np.array([one[scheduler] for one in found])), "x"
        )
    largest = max(float(one[SMALLEST].max()) for one in found)
    yield PublishedRow(f"largest, {SMALLEST}", figures()["largest_speedup"], largest, "x")


_PAPER = "Themis (Rashidi et al. 2022)"
_READ = "times are read from the paper's figures"
_TIES = "the paper does not say which of two chunks that arrive together goes first"
_SIZES = "all-reduces of 100 to 1000 MiB on six networks"

_ASTRA = "ASTRA-sim's own Themis 29 % mean, 36 % max"


def _source(
    name: str, title: str, rows: Callable[[], Iterator[PublishedRow]], note: str, anchor: str = ""
) -> PublishedSource:
    return PublishedSource(
        name=f"themis-{name}", group="networks", title=f"{_PAPER}, {title}", rows=rows, anchor=anchor, note=note
    )


THEMIS = (
    _source("baseline", "six networks of table 2: fixed order of dimensions", lambda: _times(BASELINE), _READ),
    _source("fifo", "six networks of table 2: Themis, first come first", lambda: _times(FIFO), f"{_READ}; {_TIES}"),
    _source("smallest", "six networks of table 2: Themis, smallest chunk first", lambda: _times(SMALLEST), _READ),
    _source("utilisation", "mean share of the bandwidth that is used", _utilisations, _SIZES),
    _source("speedup", "speed-ups over the fixed order", _speedups, _SIZES, _ASTRA),
)
