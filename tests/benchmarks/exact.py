"""Exact fronts, which benchmarks measure against: ``python tests/benchmarks/exact.py [PROBLEM ...]`` prints how dense.

Of problems of parts `exhaustive` looks at every design. Of others it solves for the fastest design at each of so many
costs that twice as many change the hypervolume by less than `SAME`. A front that is sampled is a staircase below the
curve: what it misses halves when the samples are doubled.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from evo_libra.front.indicators import hypervolume
from evo_libra.problem.file.registry import load_problem, packaged_modules, problem_names
from evo_libra.searching.generations import search

SAME = 2e-6
FIRST, MOST = 32_000, 1_024_000
LANES = "ports"


def of_parts(problem):
    bandwidth = problem.spec["bandwidth"]
    return (bandwidth if isinstance(bandwidth, str) else bandwidth["mode"]) == LANES


def sampled(problem, designs):
    frame = search(problem, engine="exhaustive", population=designs, evaluations=2**62).frame
    return np.stack([frame[one.column].to_numpy() * one.scale for one in problem.objectives])


def exact(problem):
    """Return the (m, k) exact front, and by what share of the hypervolume it grew with its last doubling."""
    if of_parts(problem):
        return sampled(problem, FIRST), 0.0
    designs, best = FIRST, sampled(problem, FIRST)
    low, high = best.min(axis=1), best.max(axis=1)
    volume = hypervolume(best, low, high)
    while True:
        designs *= 2
        best = sampled(problem, designs)
        grown = hypervolume(best, low, high) / volume - 1.0
        volume *= 1.0 + grown
        if grown < 2 * SAME or designs >= MOST:
            return best, grown


def of_files():
    """Return the problems of the package that are networks."""
    return [name for name in problem_names() if name not in packaged_modules()]


def main(names):
    print("| problem | designs of the exact front | twice as many: hypervolume | seconds |")
    print("|---|---:|---:|---:|")
    for name in names:
        start = time.process_time()
        best, grown = exact(load_problem(name))
        said = f"less than +{grown / 2:.1e}" if grown else "every design is tried"
        print(f"| {name} | {best.shape[1]:,} | {said} | {time.process_time() - start:.1f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or of_files())
