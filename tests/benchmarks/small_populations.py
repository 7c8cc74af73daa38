"""Engine time of nsga2 and smsemoa beside pygmo's NSGA-II: ``python tests/benchmarks/small_populations.py [SIZE]``.

Microseconds of the processor per design, all but its evaluation, the least of five runs in turns; of mixed genes, and
of numbers alone, of which smsemoa asks for half a population at a time. pygmo, which has to
be installed by hand, gets all genes of a generation in one call (`bfe`). Its NSGA-II keeps no archive; ours is
timed with the archive and the loop of a search, and without.
"""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pygmo
from toys import Toy

from evo_libra.searching.generations import generations
from evo_libra.searching.registry import load_engine

EVALUATIONS, TIMES = 40_000, 5


class Numbers(Toy):
    """The toy with numbers alone, which it rounds down itself."""

    def __init__(self, objectives):
        super().__init__(objectives)
        self.genome = replace(self.genome, categorical=np.zeros(len(self.genome), dtype=np.bool_))


class Wrapped:
    """The toy as a problem of pygmo's, whose whole genes come last."""

    def __init__(self, kind, objectives):
        self.toy = kind(objectives)
        whole = self.toy.genome.categorical
        self.order = np.concatenate([np.flatnonzero(~whole), np.flatnonzero(whole)])

    def fitness(self, genes):
        return self.batch_fitness(np.asarray(genes))

    def batch_fitness(self, flat):
        rows = np.asarray(flat).reshape(-1, len(self.order))
        genes = np.empty(rows.T.shape)
        genes[self.order] = rows.T
        return self.toy.evaluate_genes(genes).objectives.T.ravel()

    def get_nobj(self):
        return len(self.toy.objectives)

    def get_nix(self):
        return int(self.toy.genome.categorical.sum())

    def get_bounds(self):
        genome = self.toy.genome
        return genome.lower[self.order].tolist(), genome.upper[self.order].tolist()


def theirs(kind, objectives, population):
    algorithm = pygmo.nsga2(gen=EVALUATIONS // population)
    algorithm.set_bfe(pygmo.bfe(pygmo.member_bfe()))
    people = pygmo.population(pygmo.problem(Wrapped(kind, objectives)), population, seed=1)
    before, start = people.problem.extract(Wrapped).toy.seconds, time.process_time()
    people = pygmo.algorithm(algorithm).evolve(people)
    return time.process_time() - start - (people.problem.extract(Wrapped).toy.seconds - before)


def search(kind, objectives, population):
    toy, start = kind(objectives), time.process_time()
    engine = load_engine("nsga2", toy)
    for _ in generations(toy, engine, population=population, seed=1, evaluations=EVALUATIONS):
        pass
    return time.process_time() - start - toy.seconds


def alone(kind, objectives, population, name="nsga2"):
    toy, start = kind(objectives), time.process_time()
    engine = load_engine(name, toy)
    state, done = engine.start(toy.genome, objectives, population, 1), 0
    while done < EVALUATIONS:
        genes, state = engine.ask(state)
        found = toy.evaluate_genes(genes)
        state, done = engine.tell(state, genes, np.log10(found.objectives), found.violation), done + genes.shape[1]
    return time.process_time() - start - toy.seconds


def main(population):
    print("| genes | objectives | pygmo, us | nsga2, us | smsemoa, us | nsga2 with archive and loop, us |")
    print("|---|---:|---:|---:|---:|---:|")
    for kind, objectives in itertools.product((Toy, Numbers), (2, 3)):
        runs = [
            [run(kind, objectives, population) for run in (theirs, alone, partial(alone, name="smsemoa"), search)]
            for _ in range(TIMES)
        ]
        cells = [f"{seconds / EVALUATIONS * 1e6:.2f}" for seconds in np.min(runs, axis=0)]
        print(f"| {'mixed' if kind is Toy else 'numbers'} | {objectives} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(int((sys.argv[1:] or [100])[0]))
