"""How fast certificates of large spaces get tight: ``python tests/benchmarks/certify.py [SECONDS]``.

The front is that of a search of 50,000 evaluations. The gap is by how much some design may be faster than the best one
that front and proof know, at the same cost; the factor is the largest one of the front.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

from evo_libra import load_problem, search
from evo_libra.optimality import certificate as certificates
from evo_libra.optimality.branch_and_bound import branch_and_bound

PARTS = ["fabric={catalog: parts-2024, domains: any, max_dimensions: 4}", "bandwidth=ports"]
LIBRA = ["fabric.catalog=libra", "fabric.one_dimension_per_technology=false"]
SPACES = {
    "parts-2024": ("gpt3-4k", [*PARTS, "npus=16384"]),
    "parts-2024, more NPUs": ("gpt3-4k", [*PARTS, "npus=18432"]),
    "libra": ("gpt3-4k", [*LIBRA, "npus=23040", "fabric.max_dimensions=5"]),
    "libra, 6 dimensions": ("msft-1t-4k", [*LIBRA, "npus=92160", "fabric.max_dimensions=6"]),
    "libra, 7 dimensions": ("gpt3-4k", [*LIBRA, "npus=332640", "fabric.max_dimensions=7"]),
}
GAPS = (0.05, 0.01, 0.005, 0.001, 0.0)


def watched(reached, start):
    """Return a branch and bound that notes the CPU seconds at which the gap has got so small."""

    def steps(problem, cost, best):
        for found in branch_and_bound(problem, cost, best):
            if len(cost) > 2:
                for gap in GAPS:
                    if found.gap <= gap:
                        reached.setdefault(gap, time.process_time() - start)
            yield found

    return steps


def one(name, seconds):
    problem = load_problem(*SPACES[name])
    front = search(problem, evaluations=50_000)
    reached, start = {}, time.process_time()
    certificates.branch_and_bound = watched(reached, start)
    found = certificates.certify(problem, front, seconds)
    took, memory = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    cells = [f"{reached[gap]:.1f}" if gap in reached else "" for gap in GAPS]
    share = found.missed_hypervolume / found.max_hypervolume
    more = [f"{took:.1f}", f"{memory:.2f}", f"{found.looked:,}", f"{found.waiting:,}", f"{found.solved:,}"]
    more += [f"{found.factor.max():.5f}", f"{found.largest_factor:.4f}", f"{share:.3%}"]
    print(f"| {name} | {len(problem.structures):,} | {' | '.join([*cells, *more])} |", flush=True)


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    names = [f"to {gap:.1%}" for gap in GAPS]
    names += ["whole", "GB", "looked at", "waiting", "solved", "factor", "largest factor", "missed"]
    print(f"| space | structures | {' | '.join(names)} |\n|---|---:|{'---:|' * len(names)}")
    for name in SPACES:
        subprocess.run([sys.executable, __file__, f"{seconds}", name], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        one(sys.argv[2], float(sys.argv[1]))
    else:
        main()
