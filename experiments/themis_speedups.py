"""Themis against the fixed order of dimensions: the paper's algorithm, its published figures, and ASTRA-sim's own.

Repeats the training of figure 12 of Themis' paper (Rashidi et al., ISCA 2022), whose problems are `themis-gnmt` and its
like, and the all-reduces, on its six networks of 1024 NPUs, in 64 chunks. The paper's "1 GB" is 1000 MiB and its GB/s
have 2^30 bytes; its mean speed-ups are geometric.
"""

from __future__ import annotations

import re

import numpy as np
from command_line import no_arguments
from common import bars, markdown, picture
from matplotlib.axes import Axes

from evo_libra.arrays import GIGA, FloatArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives.collective_time import collective_time
from evo_libra.timing.collectives.phase import FULLY_CONNECTED, IMPLEMENTATIONS, SWITCH, Link, Overheads
from evo_libra.timing.collectives.system import Choice, System
from evo_libra.timing.names import Policy, Scheduler
from evo_libra.validation.source import PublishedSource
from evo_libra.validation.themis import (
    BASELINE,
    CHUNKS,
    FIFO,
    LARGEST,
    PAPER,
    SIZES,
    SMALLEST,
    figures,
    geometric_mean,
    networks,
    paper_times,
    published_times,
    speedups,
    used,
)
from evo_libra.validation.themis_training import (
    IDEAL,
    THEMIS_TRAINING,
    designs,
    exposed_times,
    iteration_times,
    published_bars,
    published_speedups,
    training_speedups,
)

AR = Collective.ALL_REDUCE
FLEX = "offlineGreedyFlex"
ASTRA = {
    BASELINE: (Scheduler.BASELINE, Policy.FIFO),
    FIFO: (Scheduler.OFFLINE_GREEDY, Policy.FIFO),
    SMALLEST: (Scheduler.OFFLINE_GREEDY, Policy.SMALLEST_FIRST),
    FLEX: (Scheduler.OFFLINE_GREEDY_FLEX, Policy.FIFO),
}
PAPER_NAMES = ("baseline", "FIFO", "smallest first")
ASTRA_NAMES = ("baseline", "offlineGreedy, FIFO", "offlineGreedy, smallestFirst", "offlineGreedyFlex, FIFO")


def astra_times(size: int, *, has_latency: bool = True, is_whole: bool = False) -> dict[str, FloatArray]:
    """Return (n,) ns of an all-reduce under ASTRA-sim's schedulers; NPUs add nothing.

    A link has what the paper's networks have per NPU and step: of a fully connected dimension, whose links all work at
    a time, its part; and half the latency on the way to a switch.

    Parameters
    ----------
    size : bytes.
    has_latency : whether links have the latency of the networks, or none.
    is_whole : whether fully connected dimensions run a ring instead, with all the bandwidth of an NPU on a link.
    """
    fabrics = networks()
    direct, switched = (fabrics.block == FULLY_CONNECTED) & (not is_whole), fabrics.block == SWITCH
    bandwidth = np.where(direct, fabrics.bandwidth / np.maximum(fabrics.npus - 1, 1), fabrics.bandwidth)
    latency = np.where(switched, fabrics.latency / 2, fabrics.latency) * has_latency
    links = [Link(*fields) for fields in zip(fabrics.block, fabrics.npus, bandwidth * GIGA, latency, strict=True)]
    options = IMPLEMENTATIONS
    rows = [Choice(options, np.where(switched[d], 2, direct[d])) for d in range(len(links))]
    found = {}
    for name, (scheduler, policy) in ASTRA.items():
        system = System(
            {AR: rows}, CHUNKS, active=1, shrinking=True, overheads=Overheads(0.0, np.inf), scheduler=scheduler,
            policy=policy,
        )  # fmt: skip
        found[name] = collective_time(AR, size, links, system)
    return found


def trained() -> str:
    """Return the table of training, ours / published: what is exposed in the fixed order, and speed-ups over it."""
    rows = []
    for workload in figures()["training"]["bars"]:
        exposed = 100 * exposed_times(workload)[BASELINE] / iteration_times(workload)[BASELINE]
        pairs = [(exposed, 100 * published_bars(workload)[BASELINE][2:].sum(axis=0), ".1f")]
        ours, theirs = training_speedups(workload), published_speedups(workload)
        pairs += [(ours[name], theirs[name], ".2f") for name in (SMALLEST, IDEAL)]
        columns = [[f"{x:{form}} / {y:{form}}" for x, y in zip(*pair, strict=True)] for *pair, form in pairs]
        rows += [[workload, *row] for row in zip(designs(), *columns, strict=True)]
    return markdown(("model", "network", "exposed [%]", "Themis", "ideal"), rows)


def means() -> str:
    """Return the table of the means that the paper and its first version state, ours next to them."""
    stated = [source for source in THEMIS_TRAINING if source.name.endswith(("-mean", "-v1"))]
    rows = [row for source in stated for row in _stated(source)]
    return markdown(("paper", "figure", "published", "ours", "error [%]"), rows)


def _stated(source: PublishedSource) -> list[list[str]]:
    version = "arXiv v1" if source.name.endswith("-v1") else "ISCA 2022"
    return [
        [version, row.id, f"{row.published:.2f}", f"{row.ours:.2f}", f"{100 * row.error:+.1f}"] for row in source.rows()
    ]


def compared() -> str:
    """Return the table of utilisations in percent and speed-ups, ours / published, of the largest all-reduce."""
    ours, theirs = paper_times(LARGEST), {name: published_times(name) for name in PAPER}
    shares = [(used(ours[name]), used(theirs[name]), ".1f") for name in PAPER]
    gains = [(speedups(ours)[name], speedups(theirs)[name], ".2f") for name in (FIFO, SMALLEST)]
    columns = [[f"{x:{form}} / {y:{form}}" for x, y in zip(*pair, strict=True)] for *pair, form in shares + gains]
    head = ("network", *(f"{name}, utilisation" for name in PAPER_NAMES), *(f"{n}, speed-up" for n in PAPER_NAMES[1:]))
    return markdown(head, [list(row) for row in zip(figures()["topologies"], *columns, strict=True)])


def summary() -> str:
    """Return the table of all sizes and networks together."""
    paper, astra = [paper_times(size) for size in SIZES], [astra_times(size) for size in SIZES]
    rows = []
    for who, times, names in (("paper", paper, PAPER_NAMES), ("ASTRA-sim", astra, ASTRA_NAMES)):
        for scheduler, name in zip(times[0], names, strict=True):
            share = np.mean([used(one[scheduler], size) for one, size in zip(times, SIZES, strict=True)])
            gain = np.array([one[BASELINE] / one[scheduler] for one in times])
            rows.append(
                [who, name, f"{share:.1f}", f"{geometric_mean(gain):.2f}", f"{gain.min():.2f}", f"{gain.max():.2f}"]
            )
    return markdown(("model", "scheduler", "utilisation [%]", "mean speed-up", "least", "largest"), rows)


def explained() -> str:
    """Return the table of why ASTRA-sim's scheduler gains less."""
    kinds = [
        ("ASTRA-sim", astra_times(LARGEST)),
        ("without latency", astra_times(LARGEST, has_latency=False)),
        ("and rings for fully connected", astra_times(LARGEST, has_latency=False, is_whole=True)),
        ("paper", paper_times(LARGEST)),
    ]
    rows = [
        [what, name, *(f"{x:.2f}" for x in gains[scheduler]), f"{geometric_mean(gains[scheduler]):.2f}"]
        for what, times in kinds
        for gains in [speedups(times)]
        for scheduler, name in ((FIFO, "FIFO"), (SMALLEST, "smallest first"))
    ]
    return markdown(("model", "policy", *figures()["topologies"], "mean"), rows)


def draw() -> None:
    """Draw utilisations and speed-ups of the largest all-reduce, and the published ones as marks."""
    ours, astra = paper_times(LARGEST), astra_times(LARGEST)
    labels = [re.sub(r"^(\dD)-([A-Za-z_]+?)(?:_(h\w+))?$", r"\1 \3\n\2", name) for name in figures()["topologies"]]
    shares = [(name, used(ours[one]).tolist()) for one, name in zip(PAPER, PAPER_NAMES, strict=True)]
    gains = [(name, (ours[BASELINE] / ours[one]).tolist()) for one, name in zip(PAPER, PAPER_NAMES, strict=True)]
    for one, name in zip(ASTRA, ASTRA_NAMES, strict=True):
        if one in {FIFO, SMALLEST}:
            gains.append((f"ASTRA-sim's {name}", (astra[BASELINE] / astra[one]).tolist()))
    with picture("themis", 5.0) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        marked(above, labels, shares, [used(published_times(one)) for one in PAPER])
        above.set(ylabel="utilisation [%]", ylim=(0, 100))
        marked(below, labels, gains, [published_times(BASELINE) / published_times(one) for one in PAPER])
        below.set(ylabel="speed-up over the baseline", xlabel="network")
        below.tick_params(axis="x", labelsize=7.5)
        figure.legend(*below.get_legend_handles_labels(), loc="outside lower center", ncols=3)


def marked(axes: Axes, labels: list[str], series: list[tuple[str, list[float]]], marks: list[FloatArray]) -> None:
    """Draw groups of bars, and marks on the first ones of each group."""
    bars(axes, labels, series)
    wide = 0.8 / len(series)
    for index, values in enumerate(marks):
        places = np.arange(len(labels)) + (index + 0.5) * wide - 0.4
        axes.plot(places, values, "kD", markersize=3, label="published" if index == 0 else "")


if __name__ == "__main__":
    no_arguments(__doc__)
    print(trained(), means(), compared(), summary(), explained(), sep="\n\n")
    draw()
