"""MSFT-1T with tensor-parallel groups of 8 to 1024 NPUs, each on the bandwidths that are best for it.

Repeats LIBRA's objective of time (Won et al., ISPASS 2024) on its public inputs with other parallelisations: the 4D
network of 4096 NPUs with 1000 GB/s per NPU, 234 TFLOP/s. The generator keeps the batch of one data-parallel replica.
The runs are those of `experiments/parallelism_sweep.yaml`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common import in_gigabytes, markdown, picture
from runs import Best, best_or_exit, times

from evo_libra.explain.explain import explain
from evo_libra.pictures.plots.axes import COLOURS
from evo_libra.workload.layers.generators import load_models

NPUS, REFERENCE = 4096, 128
BATCH = int(load_models()["msft-1t-libra"].model_dump()["batch"])
"""Sequences of one data-parallel replica, whatever the degrees."""


@dataclass(frozen=True)
class Split:
    """A parallelisation on its fastest bandwidths.

    Attributes
    ----------
    tp : NPUs of a tensor-parallel group.
    compute, tensor, data : milliseconds of compute, and of the collectives of both kinds of group.
    speedup : over equal bandwidth.
    over_reference : over the bandwidths that are best for the reference degree.
    sequences : that the whole machine trains on in a second.
    bandwidth : GB/s of each dimension.
    """

    tp: int
    compute: float
    tensor: float
    data: float
    speedup: float
    over_reference: float
    sequences: float
    bandwidth: str

    @property
    def time(self) -> float:
        """Milliseconds of an iteration."""
        return self.compute + self.tensor + self.data


def degree(best: Best) -> int:
    """Return the NPUs of a tensor-parallel group of a run."""
    return int(dict(best.said["workloads"][0]["parallelism"])["tp"])


def split(best: Best, reference: str) -> Split:
    """Return a parallelisation on its fastest bandwidths, compared with the design that is best for the reference."""
    (parts,) = explain(best.problem, best.problem.read(best.design))["workloads"]
    tensor, data = (sum(c["time_ms"] for c in parts["collectives"] if c["group"] == group) for group in ("tp", "dp"))
    (there,) = times(best.problem, [reference])
    return Split(
        degree(best), parts["compute_ms"], tensor, data, best.speedup, there / best.time,
        BATCH * (NPUS // degree(best)) / best.time, in_gigabytes(best.bandwidth),
    )  # fmt: skip


def every_split(found: Sequence[Best]) -> list[Split]:
    """Return each parallelisation, compared with the reference."""
    (reference,) = (one.design for one in found if degree(one) == REFERENCE)
    return [split(one, reference) for one in found]


def table(found: Sequence[Split]) -> str:
    """Return the table of the study."""
    head = (
        "TP", "DP", "time [ms]", "compute", "TP comm.", "DP comm.", "vs equal", f"vs TP-{REFERENCE}",
        "seq./s", "bandwidth [GB/s]",
    )  # fmt: skip
    rows = [
        [
            str(one.tp), str(NPUS // one.tp), *(f"{ms:.1f}" for ms in (one.time, one.compute, one.tensor, one.data)),
            f"{one.speedup:.3f}", f"{one.over_reference:.3f}", f"{one.sequences:.0f}", one.bandwidth,
        ]
        for one in found
    ]  # fmt: skip
    return markdown(head, rows)


def draw(found: Sequence[Split]) -> None:
    """Draw what the time goes into and what the best bandwidths gain."""
    with picture("parallelism_sweep", 3.2) as figure:
        parts, gains = figure.subplots(1, 2)
        degrees = [str(one.tp) for one in found]
        floor = [0.0] * len(found)
        for label, colour, values in (
            ("compute", COLOURS[-1], [one.compute / one.time for one in found]),
            ("tensor-parallel collectives", COLOURS[0], [one.tensor / one.time for one in found]),
            ("data-parallel collectives", COLOURS[1], [one.data / one.time for one in found]),
        ):
            percent = [100 * value for value in values]
            parts.bar(degrees, percent, bottom=floor, color=colour, edgecolor="black", linewidth=0.5, label=label)
            floor = [low + value for low, value in zip(floor, percent, strict=True)]
        parts.set(xlabel="NPUs of a tensor-parallel group", ylabel="part of the iteration time [%]")
        parts.grid(visible=False, axis="x")
        for label, style, colour, values in (
            ("equal bandwidth", "o-", COLOURS[2], [one.speedup for one in found]),
            (f"the bandwidths best for {REFERENCE}", "s-", COLOURS[3], [one.over_reference for one in found]),
        ):
            gains.plot(degrees, values, style, color=colour, markersize=4.5, linewidth=1.2, label=f"over {label}")
        gains.set(xlabel="NPUs of a tensor-parallel group", ylabel="speed-up of the best bandwidths")
        for axes in (parts, gains):
            axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))


if __name__ == "__main__":
    everything = every_split(best_or_exit("parallelism_sweep", __doc__))
    print(table(everything))
    draw(everything)
