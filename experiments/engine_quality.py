"""The default engine next to pymoo's eleven algorithms, on every problem file of a design and on ZDT and DTLZ.

`python experiments/engine_quality.py [FOLDER]` does the runs that are missing and prints the table of
`docs/studies/engine_quality.md`. Every engine has the same evaluations, population and archive. A run is one line of
`FOLDER/runs.jsonl` (`results/engine_quality` unless named), so that the script may be stopped at any time; `--help`
lists what to run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from command_line import parser_of
from common import markdown
from designs import design_file, design_names
from pymoo.problems import get_problem
from scipy.stats import mannwhitneyu

from evo_libra.arrays import FloatArray
from evo_libra.files.source import read_source
from evo_libra.front.front import Front
from evo_libra.front.indicators import hypervolume
from evo_libra.problem.file.registry import load_problem, packaged_folder
from evo_libra.problem.file.spec import asks_for_order
from evo_libra.problem.protocol import Evaluation, Genome, Objective, SearchProblem, SearchSettings
from evo_libra.problem.question import FABRIC
from evo_libra.searching.generations import search, settle
from evo_libra.searching.registry import AUTO, ENGINES

DEFAULT, BASELINE = AUTO, "pymoo:nsga2"
ALGORITHMS = tuple(name for name in ENGINES if name.startswith("pymoo:"))
TESTS = ("zdt1", "zdt2", "zdt3", "zdt4", "zdt6", *(f"dtlz{number}" for number in range(1, 8)))
FIRST_SEED, SEEDS = 1000, 20
"""Seeds from 1,000 on: the engines were tuned with the first ten ones."""
EVALUATIONS, POPULATION = 5_000, 100
SIGNIFICANT = 0.05
MIN_SEEDS = 5
"""Fewer say nothing of a median: the table leaves out an algorithm that has fewer on a problem."""
_REFERENCE_SEED, _REFERENCE_EVALUATIONS = 999, 200_000
_SAME = 1e-9
_DECADE = 100.0
"""Units of a test problem in a decade: the engines see logarithms of objectives, which are then its plain ones."""


class TestProblem:
    """A problem of pymoo's, as 10 to the power of its objectives: their logarithms are what it is defined by."""

    def __init__(self, name: str) -> None:
        self.name, self._problem = name, get_problem(name)
        genes = tuple(f"x{place}" for place in range(self._problem.n_var))
        real = np.zeros(len(genes), dtype=np.bool_)
        self.genome = Genome(genes, self._problem.xl.astype(float), self._problem.xu.astype(float), real)
        labels = [f"f{place}" for place in range(self._problem.n_obj)]
        self.objectives = tuple(Objective(label, label, 1.0, label) for label in labels)
        self.settings = SearchSettings()

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the objectives of (g, n) genes."""
        found = self._problem.evaluate(genes.T, return_values_of=["F"]).T
        return Evaluation(10 ** (found / _DECADE), np.zeros(genes.shape[1]))

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return the genes by name."""
        return dict(zip(self.genome.names, genes.tolist(), strict=True))

    def identity(self) -> Mapping[str, Any]:
        """Return the name."""
        return {"problem": self.name}


@dataclass(frozen=True)
class Axes:
    """The (m,) ends of the best front known: 0 and 1 of the axes on which hypervolumes have the reference point 1.1."""

    ideal: Sequence[float]
    nadir: Sequence[float]

    def volume(self, objectives: FloatArray) -> float:
        """Return the hypervolume of an (m, k) front; 0 where no design meets the constraints."""
        return hypervolume(objectives, np.array(self.ideal), np.array(self.nadir)) if objectives.size else 0.0


@dataclass(frozen=True)
class Run:
    """The hypervolume of a front."""

    problem: str
    engine: str
    seed: int
    hypervolume: float


class Store:
    """Runs and axes, one record of JSON per line."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._runs, self._axes = folder / "runs.jsonl", folder / "axes.jsonl"

    def runs(self) -> list[Run]:
        """Return all runs so far."""
        return [Run(**record) for record in _records(self._runs)]

    def axes(self) -> dict[str, Axes]:
        """Return the axes so far, by problem."""
        return {record.pop("problem"): Axes(**record) for record in _records(self._axes)}

    def add(self, run: Run) -> None:
        """Keep a run."""
        _append(self._runs, vars(run))

    def add_axes(self, problem: str, axes: Axes) -> None:
        """Keep the axes of a problem."""
        _append(self._axes, {"problem": problem, **vars(axes)})


def _records(path: Path) -> Iterator[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else [""]
    yield from (json.loads(line) for line in lines[:-1])  # what follows the last end of a line was cut off


def _append(path: Path, record: Mapping[str, Any]) -> None:
    whole = path.read_text(encoding="utf-8").rpartition("\n") if path.exists() else ("", "", "")
    if whole[2]:
        path.write_text(whole[0] + whole[1], encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


ORDERS_SINCE = ("deepseek-v3-serving",)
"""Problems of the table that ask for orders since it was made; their rows are of the designs that they asked for."""


OF_PAPERS = (
    "comet-1t", "roce-study",
    *(f"themis-{name}" for name in ("dlrm", "gnmt", "resnet-50", "resnet-152", "transformer-1t")),
    *(f"wafer-{name}" for name in ("gpt3", "resnet-152", "transformer-1t", "transformer-17b")),
)  # fmt: skip
"""Problems that state the question of a paper about a few given networks; nothing is left to a search."""


def searched() -> tuple[str, ...]:
    """Return the names of the problems of the package and the studies that ask for a design: orders are listed."""
    files = packaged_folder().glob("*.yaml")
    data = {path.stem: read_source(path).data for path in files}
    asked = [name for name, one in data.items() if not asks_for_order(one) and one.get("question") != FABRIC]
    return tuple(sorted({*asked, *design_names()} - {*OF_PAPERS}))


@cache
def problem_of(name: str) -> SearchProblem:
    """Return a problem of the package or the studies, or a test problem."""
    return TestProblem(name) if name in TESTS else load_problem(design_file(name))


def objectives_of(problem: SearchProblem, found: Front) -> FloatArray:
    """Return the (m, k) objectives of a front in SI."""
    return np.stack([found.frame[one.column].to_numpy() * one.scale for one in problem.objectives])


def axes_of(problem: SearchProblem) -> Axes:
    """Return the ends of the known front of a test problem, else of the front of a long search or of every design."""
    if isinstance(problem, TestProblem):
        best = _test_front(problem.name)
    else:
        best = objectives_of(problem, search(problem, evaluations=_REFERENCE_EVALUATIONS, seed=_REFERENCE_SEED))
    return Axes(best.min(axis=1).tolist(), best.max(axis=1).tolist())


def _test_front(name: str) -> FloatArray:
    """Return the ends of the front of a test problem, by the formulas of its authors."""
    ends: dict[str, tuple[Sequence[float], Sequence[float]]] = {
        "zdt3": ((0.0, -0.7733690), (0.8518328, 1.0)),
        "zdt6": ((0.2807753, 0.0), (1.0, 0.9211653)),
        "dtlz1": ((0.0,) * 3, (0.5,) * 3),
        "dtlz5": ((0.0,) * 3, (0.5**0.5, 0.5**0.5, 1.0)),
        "dtlz6": ((0.0,) * 3, (0.5**0.5, 0.5**0.5, 1.0)),
        "dtlz7": ((0.0, 0.0, 2.6140086), (0.8594009, 0.8594009, 6.0)),
    }
    plain = ((0.0,) * 2, (1.0,) * 2) if name.startswith("zdt") else ((0.0,) * 3, (1.0,) * 3)
    return np.asarray(10 ** (np.array(ends.get(name, plain)).T / _DECADE))


def run_of(problem: SearchProblem, axes: Axes, engine: str, seed: int) -> Run:
    """Return one run of an engine."""
    found = search(problem, engine=engine, evaluations=EVALUATIONS, population=POPULATION, seed=seed)
    return Run(problem.name, engine, seed, axes.volume(objectives_of(problem, found)))


def run_missing(store: Store, problems: Sequence[str], engines: Sequence[str], seeds: Sequence[int]) -> None:
    """Do the runs that the store lacks, seed by seed, so that the table fills evenly."""
    done = {(run.problem, run.engine, run.seed) for run in store.runs()}
    axes = store.axes()
    for name in problems:
        problem = problem_of(name)
        if name not in axes:
            axes[name] = axes_of(problem)
            store.add_axes(name, axes[name])
    for seed in seeds:
        for name in problems:
            for engine in engines:
                if (name, engine, seed) not in done:
                    store.add(run_of(problem_of(name), axes[name], engine, seed))


@dataclass(frozen=True)
class Comparison:
    """The default engine on a problem: its hypervolumes, and those of each other engine with as many seeds."""

    problem: str
    ours: FloatArray
    others: Mapping[str, FloatArray]

    @property
    def best(self) -> tuple[str, float]:
        """The other engine with the largest median, and that median."""
        medians = {name: float(np.median(values)) for name, values in self.others.items()}
        name = max(medians, key=medians.__getitem__)
        return name, medians[name]

    @property
    def not_below(self) -> bool:
        """Whether the median of the default engine is not below that of any other, rounding aside."""
        return bool(np.median(self.ours) >= self.best[1] * (1 - _SAME))

    @property
    def p(self) -> float:
        """The one-sided p of Mann and Whitney that the default engine is above pymoo's NSGA-II."""
        return float(mannwhitneyu(self.ours, self.others[BASELINE], alternative="greater").pvalue)


def compare(runs: Sequence[Run]) -> list[Comparison]:
    """Return a comparison for each problem with `MIN_SEEDS` runs of the default engine and of pymoo's NSGA-II."""
    found = []
    for problem in dict.fromkeys(run.problem for run in runs):
        mine = [run for run in runs if run.problem == problem]
        by = {name: np.array([run.hypervolume for run in mine if run.engine == name]) for name in _names(mine)}
        by = {name: values for name, values in by.items() if len(values) >= MIN_SEEDS}
        if DEFAULT in by and BASELINE in by:
            found.append(Comparison(problem, by.pop(DEFAULT), by))
    return found


def _names(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(run.engine for run in runs))


def row(one: Comparison) -> list[str]:
    """Return a row of the table."""
    best, median = one.best
    engine = settle(problem_of(one.problem), evaluations=EVALUATIONS, population=POPULATION).engine
    return [
        one.problem, engine, f"{np.median(one.ours):.5f}", f"{np.median(one.others[BASELINE]):.5f}", f"{one.p:.1g}",
        best.removeprefix("pymoo:"), f"{median:.5f}", "yes" if one.not_below else "no", f"{len(one.others)}",
        f"{len(one.ours)} / {len(one.others[BASELINE])} / {len(one.others[best])}",
    ]  # fmt: skip


HEAD = ("problem", "auto is", "default", "NSGA-II", "p", "best of pymoo's", "its", "not below", "algorithms", "seeds")
"""Of the table; the last column has the seeds of the default engine, of NSGA-II and of the best algorithm."""


def report(runs: Sequence[Run], write: Callable[[str], None] = print) -> None:
    """Print the table, and how many problems meet each aim."""
    found = compare(runs)
    if not found:
        return
    write(markdown(HEAD, [row(one) for one in found]))
    files = [one for one in found if one.problem not in TESTS]
    above = sum(one.p < SIGNIFICANT for one in files)
    write(f"\nnot below the best: {sum(one.not_below for one in found)} of {len(found)} problems")
    write(f"above pymoo's NSGA-II with p < {SIGNIFICANT}: {above} of {len(files)} problem files")


def main() -> None:
    """Do what is missing and print the table."""
    words = parser_of(__doc__)
    words.add_argument("folder", nargs="?", type=Path, default=Path("results/engine_quality"))
    words.add_argument("--problems", nargs="+", default=[*searched(), *TESTS])
    words.add_argument("--engines", nargs="+", default=[DEFAULT, *ALGORITHMS])
    words.add_argument("--first-seed", type=int, default=FIRST_SEED)
    words.add_argument("--seeds", type=int, default=SEEDS)
    words.add_argument("--only-print", action="store_true", help="print the table of the runs so far")
    said = words.parse_args()
    store = Store(said.folder)
    if not said.only_print:
        run_missing(store, said.problems, said.engines, range(said.first_seed, said.first_seed + said.seeds))
    report(store.runs())


if __name__ == "__main__":
    main()
