"""FRED's training runs (Rashidi et al., arXiv 2406.19580, sections 8.2 and 8.3) from problem files of the package.

The paper's tables of its NPU and of the models' sizes are pictures that could not be read. The files say what they
assume in their place, none of it taken from a speed-up: an H100's peak rate, floating-point operations as the only
compute and sequences as in the same authors' inputs of LIBRA, and times of ResNet-152 in the same authors' Themis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from math import ceil

from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem

MESH, TREE_C, TREE_D = "mesh-2d", "fred-c", "fred-d"
DESIGNS = {
    MESH: "ME(20)@wafer-mesh:3000",
    TREE_C: "WC(20)@wafer-fred:3000",
    TREE_D: "WD(20)@wafer-fred:3000",
}
"""The networks that the paper compares, with all ports of an NPU."""

PEAK = 989.0
"""TFLOP/s of an NPU in the files."""


@dataclass(frozen=True)
class FredRun:
    """A workload that the paper runs from end to end.

    Attributes
    ----------
    name, strategy : of the paper.
    problem : the file that states it.
    published : speed-ups of trees C and D over the mesh (section 8.2).
    layers : whether it is a table of layers with recorded times.
    """

    name: str
    strategy: str
    problem: str
    published: tuple[float, float]
    layers: bool = False

    def seconds(self, faster: float = 1.0) -> dict[str, float]:
        """Return s of an iteration on each network, with NPUs that compute some times as fast."""
        problem = _problem(self.problem, tuple(self._faster(faster)))
        times = problem.evaluate(list(DESIGNS.values())).objectives[0]
        return dict(zip(DESIGNS, times.tolist(), strict=True))

    def _faster(self, factor: float) -> list[str]:
        if self.layers:
            return [f"workloads[0].compute_scale={0.5 / factor}"]
        return [f"npu.peak_TFLOPS.bf16={PEAK * factor}"]

    def speedups(self, faster: float = 1.0) -> tuple[float, float]:
        """Return the speed-ups of trees C and D over the mesh."""
        seconds = self.seconds(faster)
        return seconds[MESH] / seconds[TREE_C], seconds[MESH] / seconds[TREE_D]

    def exposed_gain(self) -> float:
        """Return the exposed communication on the mesh over that on tree D."""
        seconds = self.seconds()
        (loop,) = _problem(self.problem, tuple(self._faster(1.0))).time.loops
        return (seconds[MESH] - loop.workload.compute) / (seconds[TREE_D] - loop.workload.compute)

    def missing_speed(self) -> float:
        """Return how many times as fast NPUs have to compute for the published speed-up of tree D, within 1 %.

        Communication then takes as much of the mesh's time as it must in the paper; infinity where no speed is enough.
        """
        low, high = 0.1, 1e4
        if self.speedups(high)[1] < self.published[1]:
            return float("inf")
        while high > low * (1 + _TOLERANCE):
            middle = (low * high) ** 0.5
            low, high = (low, middle) if self.speedups(middle)[1] >= self.published[1] else (middle, high)
        return high


RUNS = (
    FredRun("ResNet-152", "MP1-DP20-PP1", "wafer-resnet-152", (1.41, 1.76), layers=True),
    FredRun("Transformer-17B", "MP3-DP3-PP2", "wafer-transformer-17b", (1.75, 1.87)),
    FredRun("GPT-3", "MP2-DP5-PP2", "wafer-gpt3", (1.34, 1.34)),
    FredRun("Transformer-1T", "MP1-DP20-PP1", "wafer-transformer-1t", (1.40, 1.40)),
)

_TOLERANCE = 0.01

NPUS, BATCH = 20, 40
"""NPUs of the wafer, and sequences of each replica in the comparison of strategies (section 7.3)."""

DEGREES = (1, 2, 4, 5, 10, 20)


@dataclass(frozen=True)
class Strategy:
    """A strategy of all NPUs: MP, DP and PP, with its seconds for a sequence.

    Attributes
    ----------
    seconds : on the mesh and on tree D.
    compute : on a network that costs no time.
    """

    degrees: tuple[int, int, int]
    seconds: tuple[float, float]
    compute: float

    @property
    def name(self) -> str:
        """The name as the paper writes it."""
        return "-".join(f"{part}{degree}" for part, degree in zip(("MP", "DP", "PP"), self.degrees, strict=True))


@dataclass(frozen=True, eq=False)
class FredSweep:
    """The strategies of a model, every one that uses all 20 NPUs.

    Attributes
    ----------
    name, problem : as of `FredRun`.
    microbatches : of a step, by the stages of the pipeline (footnote 6).
    speedup, exposed : published gains of tree D on average: time, and exposed communication (section 8.3).
    best : the published fastest strategy with tree D.
    layers : of the model; `streams` : whether they stream, so that a stage has one at a time.
    """

    name: str
    problem: str
    microbatches: Mapping[int, int]
    speedup: float
    exposed: float
    best: str
    layers: int
    streams: bool

    def strategies(self) -> tuple[Strategy, ...]:
        """Return all strategies; the mesh has the order of groups that is the fastest there."""
        return _strategies(self)

    def gains(self) -> tuple[float, float]:
        """Return the averages over the strategies on the mesh over those on tree D: time, and exposed communication."""
        found = self.strategies()
        mesh, tree = (sum(one.seconds[k] for one in found) for k in (0, 1))
        compute = sum(one.compute for one in found)
        return mesh / tree, (mesh - compute) / (tree - compute)

    def missing_speed(self) -> float:
        """Return how many times as fast NPUs have to compute for the published average speed-up of tree D.

        With exposed communication E on the mesh and e on tree D, and compute C, it is ``C (s - 1) / (E - s e)``.
        """
        found, gain = self.strategies(), self.speedup
        compute = sum(one.compute for one in found)
        mesh, tree = (sum(one.seconds[k] for one in found) - compute for k in (0, 1))
        return compute * (gain - 1) / (mesh - gain * tree)

    def beside_fastest(self) -> float:
        """Return the time of the paper's fastest strategy on tree D over that of the fastest one here."""
        times = {one.name: one.seconds[1] for one in self.strategies()}
        return times[self.best] / min(times.values())

    def changes(self, degrees: tuple[int, int, int]) -> list[str]:
        """Return the changes to the file that state a strategy."""
        tp, dp, pp = degrees
        step = "workloads[0].training"
        vp = ceil(self.layers / pp) if self.streams and pp > 1 else 1
        return [
            f"workloads[0].parallelism={{tp: {tp}, pp: {pp}, vp: {vp}, dp: {dp}}}", f"{step}.global_batch={BATCH * dp}",
            f"{step}.micro_batch={BATCH // self.microbatches[pp]}", f"{step}.idle=0", f"{step}.uneven=true",
            f"{step}.order=[{', '.join(_orders(degrees))}]", "npu.memory.capacity_GB=10000",
        ]  # fmt: skip


SWEEPS = (
    FredSweep(
        name="Transformer-17B", problem="wafer-transformer-17b",
        microbatches={1: 1, 2: 10, 4: 20, 5: 20, 10: 20, 20: 40},
        speedup=1.63, exposed=4.22, best="MP20-DP1-PP1", layers=78, streams=False,
    ),
    FredSweep(
        name="Transformer-1T", problem="wafer-transformer-1t",
        microbatches=dict(zip(DEGREES, DEGREES, strict=True)),
        speedup=1.44, exposed=3.92, best="MP5-DP1-PP4", layers=128, streams=True,
    ),
)  # fmt: skip


@cache
def _problem(name: str, assignments: tuple[str, ...]) -> Problem:
    found = load_problem(name, assignments)
    assert isinstance(found, Problem), "of a file"  # noqa: S101 - internal error
    return found


def _orders(degrees: tuple[int, int, int]) -> Sequence[str]:
    """Return the orders of the groups, one of each that differ in groups of several NPUs; the first has MP, PP, DP."""
    several = {name for name, degree in zip(("tp", "dp", "pp"), degrees, strict=True) if degree > 1}
    found = {tuple(name for name in order if name in several): order for order in permutations(("tp", "pp", "dp"))}
    first = {tuple(name for name in ("tp", "pp", "dp") if name in several): ("tp", "pp", "dp")}
    return [f"[{', '.join((*order, 'cp'))}]" for order in (first | found).values()]


@cache
def _strategies(sweep: FredSweep) -> tuple[Strategy, ...]:
    every = ((tp, dp, NPUS // (tp * dp)) for tp, dp in product(DEGREES, repeat=2) if NPUS % (tp * dp) == 0)
    return tuple(_strategy(sweep, degrees) for degrees in every)


def _strategy(sweep: FredSweep, degrees: tuple[int, int, int]) -> Strategy:
    problem = _problem(sweep.problem, tuple(sweep.changes(degrees)))
    (loop,) = problem.time.loops
    plans = [table.text(n) for table in problem.time.tables for n in range(len(table))]
    mesh = [f"{DESIGNS[MESH]} | {plan}" for plan in plans] or [DESIGNS[MESH]]
    tree = [DESIGNS[TREE_D] + mesh[0].removeprefix(DESIGNS[MESH])]
    times = problem.evaluate([*mesh, *tree]).objectives[0] / (BATCH * degrees[1])
    compute = loop.workload.compute / (BATCH * degrees[1])
    return Strategy(degrees, (float(times[:-1].min()), float(times[-1])), compute)
