"""Where the optimizer of a 175B model pays: on the GPUs, in hosts, on SSDs, or in a server of the network (LuWu).

Each place has its own problem on 8 to 256 GPUs, 16 sequences on each, and its exact front of time and system cost. Then
the server's SSDs and its link vary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from common import markdown, picture
from effects_off import load
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from evo_libra import search
from evo_libra.errors import InputError
from evo_libra.front.explain import explain
from evo_libra.problem.problem import Problem
from evo_libra.ui.plots.axes import COLOURS
from evo_libra.workload.step.plans import PLACEMENTS

NAME = "opt-175b-offload"
GPUS = (8, 16, 32, 64, 128, 256)
SEQUENCES, TOKENS = 16, 1024
KEY = "workloads[0].training"


@dataclass(frozen=True)
class Best:
    """The fastest design of a place.

    Attributes
    ----------
    rate : tokens per second of a GPU.
    cost : USD of the system.
    binds : what binds in each pass.
    network : technology of the network.
    """

    rate: float
    cost: float
    binds: str
    network: str

    def per_dollar(self, gpus: int) -> float:
        """Return tokens per second of the system and 1000 USD."""
        return 1e3 * gpus * self.rate / self.cost


def problem_of(place: str, gpus: int, changes: Sequence[str] = ()) -> Problem:
    """Return the problem with the optimizer in one place."""
    return load(NAME, (
        f"npus={gpus}", f"{KEY}.global_batch={SEQUENCES * gpus}", "fabric.blocks=[switch, fat-tree]",
        f"{KEY}.optimizer.placement={place}", *changes,
    ))  # fmt: skip


@cache
def best(place: str, gpus: int, changes: tuple[str, ...] = ()) -> Best | None:
    """Return the fastest design of a place; None where the model does not fit."""
    try:
        problem = problem_of(place, gpus, changes)
    except InputError:
        return None
    front = search(problem, engine="exhaustive").frame.sort("time_ms")
    design = problem.read(front["design"][0])
    (workload,), seconds = explain(problem, design)["workloads"], front["time_ms"][0] / 1e3
    streams = workload["training"].get("optimizer_streams", [])
    binds = ", ".join(dict.fromkeys(one["stream"] for one in streams if one["binds"])) or "compute or data"
    technology = problem.catalog.names[int(design.technology[0, 0])]
    return Best(SEQUENCES * TOKENS / seconds, front["system_cost_usd"][0], binds, technology)


def by_size() -> Iterator[Sequence[str]]:
    """Yield a row for each number of GPUs and place that fits."""
    for gpus in GPUS:
        for place in PLACEMENTS:
            found = best(place, gpus)
            if found is not None:
                yield [
                    str(gpus), place, f"{found.rate:.1f}", f"{found.cost / 1e3:,.0f}", f"{found.per_dollar(gpus):.2f}",
                    found.network, found.binds,
                ]  # fmt: skip


def of_the_server() -> Iterator[Sequence[str]]:
    """Yield a row for SSDs and links of the server, on 8 GPUs."""
    for ssds in (3, 6, 12, 24, 48):
        for ports in (12.5, 25.0):
            technology = "" if ports == 12.5 else " x2"  # noqa: PLR2004 - the rate of a port
            server = f"{{source: LuWu, year: 2024, memory_GBps: 375, GFLOPS: 1830, ssds: {ssds}, ssd_GBps: 2.1667, " \
                     "ssd_price_usd: 310, price_usd: 17000}"  # fmt: skip
            found = best("network", 8, (f"{KEY}.optimizer.server={{host: {server}, link_GBps: {ports}}}",))
            assert found is not None, "it fits with any server"
            yield [str(ssds), f"{ports:g}{technology}", f"{found.rate:.1f}", f"{found.per_dollar(8):.2f}", found.binds]


def draw() -> None:
    """Draw throughput, and throughput for the money, over the number of GPUs."""
    with picture("optimizer_placement", 2.6) as figure:
        left, right = figure.subplots(1, 2)
        for place, colour, marker in zip(PLACEMENTS, COLOURS, "os^D", strict=False):
            found = [(gpus, one) for gpus in GPUS if (one := best(place, gpus)) is not None]
            sizes = [gpus for gpus, _ in found]
            left.plot(sizes, [one.rate for _, one in found], marker=marker, color=colour, label=place)
            right.plot(sizes, [one.per_dollar(gpus) for gpus, one in found], marker=marker, color=colour, label=place)
        for axes, label in ((left, "token/s of a GPU"), (right, "token/s for 1000 USD")):
            axes.set(xscale="log", xlabel="GPUs", ylabel=label, ylim=(0, None))
            axes.xaxis.set_major_locator(FixedLocator(GPUS))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
            axes.xaxis.set_minor_locator(NullLocator())
        left.legend(loc="lower right")


if __name__ == "__main__":
    head = ("GPUs", "optimizer", "token/s/GPU", "system [kUSD]", "token/s/kUSD", "network", "what binds")
    print(markdown(head, list(by_size())))
    print()
    print(markdown(("SSDs", "link [GB/s]", "token/s/GPU", "token/s/kUSD", "what binds"), list(of_the_server())))
    draw()
