"""Which memory a token waits for: Llama 3.1 on the H100's chip with memories from LPDDR5X to HBM4.

Follows the sweep of memory technologies of Kundu et al. (arXiv 2407.14645, 2024): decoding reads all weights for each
token, so that it gains from a faster memory until software, latencies and products are what is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from command_line import no_arguments
from common import markdown, picture
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from evo_libra.arrays import GIGA
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.serving import network_of
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.phases import phases_of
from evo_libra.workload.serving.serving_setup import ServingSetup

STACKS = 5
MEMORIES = {
    "LPDDR5X": 512.0,
    "HBM2e": STACKS * 461.0,
    "HBM3": STACKS * 819.0,
    "HBM3e": STACKS * 1229.0,
    "HBM4": STACKS * 2048.0,
}
"""GB/s of an NPU: five stacks as an H100 has (rates of a stack: stas00/ml-engineering, 2025); LPDDR5X as NVIDIA's Grace
has it (its data sheet, 2023)."""


@dataclass(frozen=True)
class Case:
    """A model on a number of NPUs, for a number of users of a replica."""

    model: str
    tp: int
    users: int

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.model.removeprefix('llama-3.1-').upper()}, tp {self.tp}, users {self.users}"


CASES = (Case("llama-3.1-8b", 1, 1), Case("llama-3.1-70b", 8, 1), Case("llama-3.1-70b", 8, 64))


def token(case: Case, bandwidth: float) -> dict[str, float]:
    """Return the milliseconds of the parts of a decoding step with a memory of a bandwidth in GB/s."""
    npu = replace(accelerator("h100-80gb"), memory_bandwidth=bandwidth * GIGA)
    setup, plan = ServingSetup(decoder(case.model), npu, 1000, 500), one_plan(tp=case.tp, micro_batch=case.users)
    found = phases_of(setup, plan).decode.split(network_of(npu, case.tp, plan))
    return {part: 1e3 * float(np.ravel(seconds)[0]) for part, seconds in found.items() if seconds.any()}


def half_gain(case: Case) -> float:
    """Return the GB/s from which on twice the bandwidth makes a token less than a third faster; gains only fall."""
    low, high = 100.0, 1e5
    while high / low > _NEAR:
        middle = (low * high) ** 0.5
        once, twice = (sum(token(case, rate).values()) for rate in (middle, 2.0 * middle))
        low, high = (middle, high) if once / twice > _THIRD else (low, middle)
    return high


_NEAR, _THIRD = 1.0 + 1e-6, 4 / 3


def rows() -> list[Sequence[str]]:
    """Return a row for each case and memory."""
    found: list[Sequence[str]] = []
    for case in CASES:
        first = sum(token(case, MEMORIES["HBM2e"]).values())
        for name, bandwidth in MEMORIES.items():
            parts = token(case, bandwidth)
            whole = sum(parts.values())
            software = (parts["overhead"] + parts.get("tensor", 0.0)) / whole
            found.append(
                [case.name, name, f"{bandwidth:.0f}", f"{whole:.2f}", f"{first / whole:.2f}", f"{100 * software:.0f}"]
            )
    return found


def draw() -> None:
    """Draw the time of a token over the bandwidth of the memory."""
    rates = np.geomspace(300, 20_000, 60)
    with picture("serving_memory", 2.6) as figure:
        axes = figure.subplots()
        for case, style in zip(CASES, ("-", "--", ":"), strict=True):
            axes.plot(rates, [sum(token(case, rate).values()) for rate in rates], style, color="black", label=case.name)
        for name, bandwidth in MEMORIES.items():
            axes.axvline(bandwidth, color="0.8", zorder=0)
            axes.text(bandwidth, 0.98, name, rotation=90, ha="right", va="top", transform=axes.get_xaxis_transform())
        axes.set(xscale="log", yscale="log", xlabel="memory bandwidth of an NPU [GB/s]", ylabel="time of a token [ms]")
        for axis, ticks in ((axes.xaxis, (500, 1000, 2000, 5000, 10_000, 20_000)), (axes.yaxis, (5, 10, 20, 50, 100))):
            axis.set_major_locator(FixedLocator(ticks))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axis.set_minor_locator(NullLocator())
        axes.set_ylim(3, 300)
        axes.legend(loc="lower left")


if __name__ == "__main__":
    no_arguments(__doc__)
    head = ("case", "memory", "GB/s", "token [ms]", "over HBM2e", "software [%]")
    print(markdown(head, rows()))
    print()
    print(markdown(("case", "half gain [GB/s]"), [[case.name, f"{half_gain(case):.0f}"] for case in CASES]))
    draw()
