"""Where the optimizer of a 175B model pays: on the GPUs, in hosts, on SSDs, or in a server of the network (LuWu).

Each place has its own problem on 8 to 256 GPUs, 16 sequences on each, and its exact front of time and system cost.
Then the server's SSDs vary, and collectives of GPUs run alongside compute or not. Last, the baselines of LuWu: which of
its ratios each stated term of their software brings, and how much no stated term explains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from command_line import no_arguments
from common import markdown, picture
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from evo_libra import Problem, load_problem, search
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.pictures.plots.axes import COLOURS
from evo_libra.validation.luwu_baselines import BASELINES, TERMS, ring_delay, simulated, with_terms
from evo_libra.workload.plans.plans import NETWORK, NVME

NAME = "opt-175b-offload"
GPUS = (8, 16, 32, 64, 128, 256)
PLACES = ("npu", "host", "nvme", "network")
SEQUENCES, TOKENS = 16, 1024
KEY = "workloads[0].training"
MEASURED = BASELINES[:3]
"""ZeRO-Infinity and ZeRO-3."""


@dataclass(frozen=True)
class Best:
    """The fastest design of a place.

    Attributes
    ----------
    rate : tokens per second of a GPU.
    cost : USD of the system.
    binds : what binds in each pass.
    """

    rate: float
    cost: float
    binds: str

    def per_dollar(self, gpus: int) -> float:
        """Return tokens per second of the system and 1000 USD."""
        return 1e3 * gpus * self.rate / self.cost


def problem_of(place: str, gpus: int, changes: Sequence[str] = ()) -> Problem:
    """Return the problem with the optimizer in one place."""
    found = load_problem(NAME, [
        f"npus={gpus}", f"{KEY}.global_batch={SEQUENCES * gpus}", "fabric.blocks=[switch, fat-tree]",
        f"{KEY}.optimizer.placement={place}", *changes,
    ])  # fmt: skip
    assert isinstance(found, Problem)  # noqa: S101 - this is one
    return found


@cache
def best(place: str, gpus: int, changes: tuple[str, ...] = ()) -> Best | None:
    """Return the fastest design of a place; None where the model does not fit."""
    try:
        problem = problem_of(place, gpus, changes)
    except InputError:
        return None
    front = search(problem, engine="exhaustive").frame.sort("time_ms", "system_cost_usd")
    design = problem.read(front["design"][0])
    (workload,), seconds = explain(problem, design)["workloads"], front["time_ms"][0] / 1e3
    streams = workload["training"].get("optimizer_streams", [])
    binds = ", ".join(dict.fromkeys(one["stream"] for one in streams if one["binds"])) or "-"
    return Best(SEQUENCES * TOKENS / seconds, front["system_cost_usd"][0], binds)


def by_size() -> Iterator[Sequence[str]]:
    """Yield a row for each number of GPUs and place that fits."""
    for gpus in GPUS:
        for place in PLACES:
            found = best(place, gpus)
            if found is not None:
                yield [
                    str(gpus), place, f"{found.rate:.1f}", f"{found.cost / 1e3:.0f}", f"{found.per_dollar(gpus):.2f}",
                    found.binds,
                ]  # fmt: skip


def of_the_server() -> Iterator[Sequence[str]]:
    """Yield a row for each number of SSDs of the server, on 8 GPUs."""
    for ssds in (3, 6, 12, 18, 24, 48):
        given = f"{{base: luwu-server, ssds: {ssds}, source: 'this study, 2026'}}"
        found = best("network", 8, (f"{KEY}.optimizer.server={{host: {given}, link_GBps: 12.5}}",))
        if found is None:
            raise ValueError("the model fits, whatever the server has")
        yield [str(ssds), f"{found.rate:.1f}", f"{found.cost / 1e3:.0f}", f"{found.per_dollar(8):.2f}", found.binds]


def without_overlap() -> Iterator[Sequence[str]]:
    """Yield a row for each place, with collectives alongside compute, and one after the other."""
    for gpus, places in ((8, ("nvme", "network")), (32, ("host", "nvme", "network")), (128, PLACES)):
        for place in places:
            rates = [best(place, gpus, (f"{KEY}.overlap.dp={on}",)) for on in ("true", "false")]
            yield [str(gpus), place, *("" if one is None else f"{one.rate:.1f}" for one in rates)]


def by_term() -> Iterator[Sequence[str]]:
    """Yield a row for each term that the paper states of its baselines, then what is published and the rest."""
    for count, name in enumerate(("all overlaps, nothing interferes", *TERMS)):
        yield [name, *(f"{one.ratio(with_terms(count)):.2f}" for one in MEASURED)]
    yield ["published", *(f"{one.published:.2f}" for one in MEASURED)]
    yield ["published over computed", *(f"{one.published / one.ratio():.2f}" for one in MEASURED)]


def draw() -> None:
    """Draw throughput, and throughput for the money, over the number of GPUs; dotted without overlap."""
    with picture("optimizer_placement", 2.8) as figure:
        left, right = figure.subplots(1, 2)
        # The last one lies on another one.
        for place, colour, marker in zip(PLACES[::-1], COLOURS, "D^so", strict=False):
            for on, style in (("true", "-"), ("false", ":")):
                changes = (f"{KEY}.overlap.dp={on}",)
                found = [(gpus, one) for gpus in GPUS if (one := best(place, gpus, changes)) is not None]
                sizes, label = [gpus for gpus, _ in found], place if on == "true" else None
                look = {"color": colour, "marker": marker, "linestyle": style, "markerfacecolor": "none"}
                left.plot(sizes, [one.rate for _, one in found], label=label, **look)
                right.plot(sizes, [one.per_dollar(gpus) for gpus, one in found], **look)
        for axes, label in ((left, "token/s of a GPU"), (right, "token/s for 1000 USD")):
            axes.set(xscale="log", xlabel="GPUs", ylabel=label, ylim=(0, None))
            axes.xaxis.set_major_locator(FixedLocator(GPUS))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
            axes.xaxis.set_minor_locator(NullLocator())
        left.legend(loc="lower right")


if __name__ == "__main__":
    no_arguments(__doc__)
    head = ("GPUs", "optimizer", "token/s/GPU", "system [kUSD]", "token/s/kUSD", "what binds")
    print(markdown(head, list(by_size())))
    print()
    print(markdown(("SSDs", "token/s/GPU", "system [kUSD]", "token/s/kUSD", "what binds"), list(of_the_server())))
    print()
    print(markdown(("GPUs", "optimizer", "overlapped", "one after the other"), list(without_overlap())))
    print()
    print(
        markdown(
            ("term, with all above it", "175B, ZeRO-Infinity", "1.3B, ZeRO-Infinity", "1.3B, ZeRO-3"), list(by_term())
        )
    )
    print(
        f"\nDP 256: {simulated(NVME) / simulated(NETWORK):.2f} times without delays of rings; "
        f"15.1 times with {1e3 * ring_delay():.0f} ms for each of their steps"
    )
    draw()
