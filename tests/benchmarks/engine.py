"""Time of an engine per evaluation: ``taskset -c 0 python tests/benchmarks/engine.py [EVALUATIONS [OTHERS]]``.

Mixed genes, population 1000, one core. Engine time is all the time of a search but that inside `evaluate_genes`: start,
ask, tell, the archive, the loop. Of pymoo and DEAP, each driven as its documentation does, it is all the time outside
the evaluation, too; they keep no archive, and run OTHERS evaluations, as they take long. Times are the processor's, of
the fastest of three searches of ours, so that other work on the machine counts less; the first line tells how fast it
is just now.
"""

from __future__ import annotations

import random
import sys
import time
import timeit

import moocore
import numpy as np
from deap import base, creator, tools
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.core.problem import Problem
from pymoo.optimize import minimize
from toys import Toy

from evo_libra.searching.engines.niching import das_dennis
from evo_libra.searching.generations import generations
from evo_libra.searching.registry import load_engine

POPULATION = 1000
STEPS = {2: POPULATION - 1, 3: 43}
LIMITS = {("nsga2", 2): 1.5, ("nsga2", 3): 2.5}


def ours(name, objectives, evaluations):
    """Return the times of the fastest of three searches; the first one warms up."""
    return min((one_of_ours(name, objectives, evaluations) for _ in range(3)), key=lambda run: run[0] - run[1])


def one_of_ours(name, objectives, evaluations):
    problem = Toy(objectives)
    start = time.process_time()
    options = {"population": POPULATION, "seed": 1, "evaluations": evaluations}
    for snapshot in generations(problem, load_engine(name, problem), **options):
        last = snapshot
    size = len(last.archive)
    wall = time.process_time() - start
    return wall, problem.seconds, f"archive {size:,}"


def of_pymoo(name, objectives, evaluations):
    toy = Toy(objectives)

    class Wrapped(Problem):
        def __init__(self):
            genome = toy.genome
            super().__init__(n_var=len(genome), n_obj=objectives, xl=genome.lower, xu=genome.upper)

        def _evaluate(self, x, out, *_args, **_options):
            out["F"] = toy.evaluate_genes(toy.genome.repair(x.T)).objectives.T

    if name == "nsga2":
        algorithm = NSGA2(pop_size=POPULATION)
    else:
        algorithm = NSGA3(das_dennis(objectives, STEPS[objectives]), pop_size=POPULATION)
    start = time.process_time()
    minimize(Wrapped(), algorithm, ("n_eval", evaluations), seed=1, verbose=False)
    return time.process_time() - start, toy.seconds, ""


def of_deap(name, objectives, evaluations):
    toy = Toy(objectives)
    genome = toy.genome
    fitness, individual = f"Fitness{name}{objectives}", f"Individual{name}{objectives}"
    creator.create(fitness, base.Fitness, weights=(-1.0,) * objectives)
    creator.create(individual, list, fitness=getattr(creator, fitness))
    make = getattr(creator, individual)
    low, high = genome.lower.tolist(), genome.upper.tolist()
    random.seed(1)

    def evaluate(people):
        genes = genome.repair(np.array(people).T)
        for person, values in zip(people, toy.evaluate_genes(genes).objectives.T.tolist(), strict=True):
            person.fitness.values = values

    def copied(person):
        child = make(person)
        child.fitness.values = person.fitness.values
        return child

    if name == "nsga2":
        select = lambda people: tools.selNSGA2(people, POPULATION, nd="log")  # noqa: E731
    else:
        directions = tools.uniform_reference_points(objectives, STEPS[objectives])
        select = lambda people: tools.selNSGA3(people, POPULATION, directions)  # noqa: E731
    start = time.process_time()
    people = [make(genes) for genes in genome.sample(np.random.default_rng(1), POPULATION).T.tolist()]
    evaluate(people)
    people, done = select(people), POPULATION
    while done < evaluations:
        parents = tools.selTournamentDCD(people, POPULATION) if name == "nsga2" else people
        children = [copied(person) for person in parents]
        for one, two in zip(children[::2], children[1::2], strict=True):
            if random.random() < 0.9:  # noqa: S311 - DEAP's way
                tools.cxSimulatedBinaryBounded(one, two, 15.0, low, high)
            tools.mutPolynomialBounded(one, 20.0, low, high, 1 / len(genome))
            tools.mutPolynomialBounded(two, 20.0, low, high, 1 / len(genome))
        evaluate(children)
        people, done = select(people + children), done + POPULATION
    return time.process_time() - start, toy.seconds, ""


def main(evaluations: int, others: int) -> bool:
    """Print the table; return whether the limits are kept."""
    kept = True
    points = np.random.default_rng(0).random((2000, 2))
    rank = min(timeit.repeat(lambda: moocore.pareto_rank(points), number=1, repeat=300, timer=time.process_time))
    print(f"moocore ranks 2000 points of two objectives in {rank * 1e3:.2f} ms\n")
    print("| engine | objectives | evaluations | engine us | evaluation us | designs a second | |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for objectives in (2, 3):
        for name in ("nsga2", "nsga3"):
            for label, run, count in (
                ("", ours, evaluations),
                ("pymoo ", of_pymoo, others),
                ("DEAP ", of_deap, others),
            ):
                wall, inside, note = run(name, objectives, count)
                engine = (wall - inside) / count * 1e6
                limit = LIMITS.get((name, objectives)) if run is ours else None
                if limit:
                    note += f"; limit {limit} us {'kept' if engine <= limit else 'BROKEN'}"
                    kept &= engine <= limit
                row = f"{label}{name} | {objectives} | {count:,} | {engine:.2f} | {inside / count * 1e6:.2f}"
                print(f"| {row} | {count / wall:,.0f} | {note} |", flush=True)
    return kept


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(0 if main(*(given + [1_000_000, 100_000][len(given) :])) else 1)
