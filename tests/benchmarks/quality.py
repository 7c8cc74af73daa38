"""Fronts of the array engines beside pymoo's: ``python tests/benchmarks/quality.py [SEEDS EVALUATIONS [PROBLEM ...]]``.

pymoo's test problems and the problems that are shipped, population 100 (nsga3: as many directions as that allows), the
same evaluations for everybody. Hypervolumes are scaled so that the exact front has its ideal at 0 and its nadir at 1,
reference point 1.1, and are quoted over that of the exact front, which `exact.py` has of shipped problems, and formulas
or a million samples of test problems; median and inter-quartile range of the seeds.
Engines see plain objectives of test problems and logarithms of those of shipped ones, pymoo's, too.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import moocore
import numpy as np
from exact import exact, of_files
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.core.problem import Problem
from pymoo.optimize import minimize
from pymoo.problems import get_problem

from evo_libra.front.archive import Archive, Collection, front
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.protocol import Genome
from evo_libra.searching.engines.niching import reference_directions
from evo_libra.searching.engines.nsga import nsga2, nsga3

POPULATION = 100
TESTS = ("zdt1", "zdt2", "zdt3", "zdt4", "zdt6", "dtlz1", "dtlz2", "dtlz7")
ENGINES = {"nsga2": nsga2, "nsga3": nsga3}
SLACK = 1e-9
REFERENCE = 1.1
SAMPLES = 1_000_000
# What is above a plane, a sphere or a curve; of other test problems densely sampled fronts know it.
VOLUMES = {
    "dtlz1": REFERENCE**3 - 1 / 6, "dtlz2": REFERENCE**3 - np.pi / 6,
    "zdt1": REFERENCE**2 - 1 / 3, "zdt2": REFERENCE**2 - 2 / 3, "zdt4": REFERENCE**2 - 1 / 3,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A problem as arrays: genome, (g, n) genes to (m, n) objectives and (n,) violations, its exact front.

    `low` and `high` are the ideal and the nadir (m, 1) of the front, and `largest` is its hypervolume on that scale.
    """

    name: str
    genome: Genome
    objectives: int
    evaluate: object
    low: np.ndarray
    high: np.ndarray
    largest: float


def case_of(name, genome, evaluate, best, largest=None):
    """Return the case of an exact front (m, k), whose hypervolume is given where a formula knows it."""
    low, high = best.min(axis=1)[:, None], best.max(axis=1)[:, None]
    known = hypervolume_of((best - low) / (high - low)) if largest is None else largest
    return Case(name, genome, len(best), evaluate, low, high, known)


def hypervolume_of(scaled):
    inside = scaled[:, (scaled < REFERENCE).all(axis=0)]
    if not inside.size:
        return 0.0
    return moocore.hypervolume(np.ascontiguousarray(inside.T), ref=np.full(len(scaled), REFERENCE))


def test_case(name):
    problem = get_problem(name)
    genes = [f"x{i}" for i in range(problem.n_var)]
    genome = Genome(tuple(genes), problem.xl.astype(float), problem.xu.astype(float), np.zeros(len(genes), dtype=bool))

    def evaluate(genes):
        return problem.evaluate(genes.T).T, np.zeros(genes.shape[1])

    if name == "dtlz7":
        return case_of(name, genome, evaluate, *dtlz7_front())
    if name.startswith("dtlz"):
        return case_of(name, genome, evaluate, problem.pareto_front(reference_directions(3, 5000)).T, VOLUMES[name])
    points = problem.pareto_front(**{"n_points" if name == "zdt3" else "n_pareto_points": SAMPLES}).T
    return case_of(name, genome, evaluate, points, VOLUMES.get(name))


def dtlz7_front():
    """Return every point whose distance function is at its least, and their volume; pymoo would fetch its own front."""
    steps = np.linspace(0, 1, 4001)
    first, second = np.meshgrid(steps, steps)
    height = 6 - sum(part * (1 + np.sin(3 * np.pi * part)) for part in (first, second))
    coarse = np.stack([part[::4, ::4].ravel() for part in (first, second, height)])
    points = coarse[:, front(coarse)]
    low, high = points.min(axis=1), points.max(axis=1)
    # Volume over the plane of both first objectives: above each of its points, from the least height before it.
    least = np.minimum.accumulate(np.minimum.accumulate(height, axis=0), axis=1)
    along = low[0] + (high[0] - low[0]) * np.linspace(0, REFERENCE, 4401)
    middle = (along[1:] + along[:-1]) / 2
    place = np.minimum(np.round(middle * (len(steps) - 1)).astype(int), len(steps) - 1)
    depth = REFERENCE - (least[np.ix_(place, place)] - low[2]) / (high[2] - low[2])
    return points, float(np.maximum(depth, 0.0).mean() * REFERENCE**2)


def shipped_case(name):
    problem = load_problem(name)

    def evaluate(genes):
        worth = problem.evaluate_genes(genes)
        return np.log10(worth.objectives), worth.violation

    return case_of(name, problem.genome, evaluate, np.log10(exact(problem)[0]))


def volume(case, objectives):
    return hypervolume_of((objectives - case.low) / (case.high - case.low)) / case.largest


def ours(case, name, seed, evaluations, operators=None):
    engine = ENGINES[name](operators)
    state = engine.start(case.genome, case.objectives, POPULATION, seed)
    found, done = Collection(Archive.empty(len(case.genome), case.objectives)), 0
    while done < evaluations:
        genes, state = engine.ask(state)
        genes = genes[:, : evaluations - done]
        if not genes.shape[1]:
            break
        objectives, violation = case.evaluate(genes)
        found = found.add(genes, objectives, violation)
        state = engine.tell(state, genes, objectives, violation)
        done += genes.shape[1]
    feasible = state.arrays["objectives"][:, state.arrays["violation"] <= 0]
    return volume(case, feasible[:, front(feasible)]), volume(case, found.archive.objectives)


def theirs(case, name, seed, evaluations):
    class Wrapped(Problem):
        def __init__(self):
            genome = case.genome
            super().__init__(n_var=len(genome), n_obj=case.objectives, n_ieq_constr=1, xl=genome.lower, xu=genome.upper)

        def _evaluate(self, x, out, *_args, **_options):
            objectives, violation = case.evaluate(case.genome.repair(x.T))
            out["F"], out["G"] = objectives.T, violation[:, None]

    if name == "nsga2":
        algorithm = NSGA2(pop_size=POPULATION)
    else:
        algorithm = NSGA3(reference_directions(case.objectives, POPULATION), pop_size=POPULATION)
    result = minimize(Wrapped(), algorithm, ("n_eval", evaluations), seed=seed, verbose=False)
    return volume(case, result.F.T) if result.F is not None else 0.0


def row(values):
    low, median, high = np.percentile(values, (25, 50, 75))
    return f"{median:.5f} ({high - low:.5f})", median, high - low


def main(seeds, evaluations, names):
    behind = []
    print(f"{seeds} seeds, {evaluations:,} evaluations\n")
    print("| problem | engine | pymoo | population | archive | behind pymoo by more than pymoo's range |")
    print("|---|---|---:|---:|---:|---|")
    for name in names:
        case = test_case(name) if name in TESTS else shipped_case(name)
        for engine in ENGINES:
            start = time.perf_counter()
            reference, median, spread = row([theirs(case, engine, seed, evaluations) for seed in range(seeds)])
            middle = time.perf_counter()
            figures = np.array([ours(case, engine, seed, evaluations) for seed in range(seeds)]).T
            end = time.perf_counter()
            population, archive = (row(values) for values in figures)
            worse = [
                what
                for what, (_, value, _own) in (("population", population), ("archive", archive))
                if value < median - spread - SLACK
            ]
            behind += [(name, engine, what) for what in worse]
            cells = [name, engine, reference, population[0], archive[0], ", ".join(worse)]
            print(f"| {' | '.join(cells)} |", flush=True)
            print(f"{name} {engine}: pymoo {middle - start:.1f} s, ours {end - middle:.1f} s", file=sys.stderr)
    return not behind


if __name__ == "__main__":
    given = sys.argv[1:]
    chosen = given[2:] or [*TESTS, *of_files()]
    sys.exit(0 if main(int((given or [20])[0]), int((given[1:] or [25_000])[0]), chosen) else 1)
