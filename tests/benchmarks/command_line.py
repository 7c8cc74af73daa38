"""What it takes to be answered: ``python tests/benchmarks/command_line.py [TIMES]``.

Processor time, which other programs disturb less than the clock does; the modules are compiled, as they are after a
first start.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = str(Path(sys.executable).parent / "evo-libra")
CALLS = (("--help",), ("--version",), ("search", "--help"), ("results", "--json"), ("schema",))
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(words: tuple[str, ...], folder: str, times: int) -> tuple[float, float]:
    """Return the medians of processor time and of wall time [s]."""
    found = []
    for _ in range(times + 1):
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run([COMMAND, *words], cwd=folder, env=COMPILED, stdout=subprocess.DEVNULL, check=True)
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall))
    processor, wall = (statistics.median(values) for values in zip(*found[1:], strict=True))
    return processor, wall


def main(times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for words in CALLS:
            processor, wall = measure(words, folder, times)
            print(f"{' '.join(words):<16}{processor:.3f} s of a core, {wall:.3f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
