"""What comparing two large fronts takes: `python tests/benchmarks/compare.py [OBJECTIVES ...]`.

Designs on a sphere, everywhere or in 20 clusters; the second front is on the same sphere or 1 % worse. CPU seconds of
`compare` and the most memory of a process of its own; its last figures are in README.md.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.experiment.results.comparison import compare

SIZES = (48_000, 69_000)
KINDS = ("sphere", "clustered")
SCALES = (1.0, 0.99)


def front(random: np.random.Generator, kind: str, objectives: int, count: int, scale: float) -> FloatArray:
    """Return (m, n) designs that do not dominate each other, the first objective ascending as in a stored front."""
    points = np.abs(random.normal(size=(objectives, count)))
    if kind == "clustered":
        centres = np.abs(np.random.default_rng(1).normal(size=(objectives, 20)))
        points = np.abs(centres[:, random.integers(0, 20, count)] + 0.03 * random.normal(size=(objectives, count)))
    points = 10 ** (2 - scale * points / np.linalg.norm(points, axis=0))
    return np.asarray(points[:, np.argsort(points[0])])


def measure(objectives: int, kind: str, scale: float) -> None:
    """Print a row."""
    random = np.random.default_rng(0)
    one, other = front(random, kind, objectives, SIZES[0], 1.0), front(random, kind, objectives, SIZES[1], scale)
    start = time.process_time()
    found = compare(("objective",) * objectives, {"one": [one], "other": [other]})
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    share = found.coverage["one", "other"]
    print(f"| {objectives} | {kind} | {scale} | {seconds:.1f} | {memory:.0f} | {share:.3f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[2] in KINDS:
        measure(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
    else:
        for objectives in sys.argv[1:] or ["2", "3", "4"]:
            for kind in KINDS:
                for scale in SCALES:
                    subprocess.run([sys.executable, __file__, objectives, kind, str(scale)], check=True)
