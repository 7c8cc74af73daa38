"""Whole commands of several checkouts in turns: ``python tests/benchmarks/end_to_end.py TIMES PROGRAM [PROGRAM ...]``.

Each PROGRAM is the `evo-libra` of a checkout that is installed. Processor time, and the clock until the first output.
"""

from __future__ import annotations

import os
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STUDIES = Path(__file__).parents[2] / "experiments" / "problems"
COMMANDS = (
    "search gpt3-4k --evaluations 1000000 --json",
    "search gpt3-4k --evaluations 1000000 --memetic 0 --json",
    "search gpt3-4k --engine nsga2 --population 100 --evaluations 200000 --memetic 0 --json",
    f"search {STUDIES}/llama3-405b-16k.yaml --engine nsga3 --population 10000 --evaluations 200000 --memetic 0 --json",
    "search gpt3-4k --set 'time={model: astra, latency_ns: 500}' --evaluations 100000 --memetic 0 --json",
    "search gpt3-4k --set 'time={model: themis, latency_ns: 500}' --evaluations 20000 --memetic 0 --json",
    "search moe-4k --json",
    "search moe-4k --engine exhaustive --json",
    f"search {STUDIES}/dense-4k.yaml --engine exhaustive --json",
    "search gpt3-4k",
)
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(program: str, words: list[str]) -> tuple[float, float] | None:
    """Return processor time and the time until the first output [s]; None where the program refuses."""
    with tempfile.TemporaryDirectory() as folder:
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with subprocess.Popen(
            [program, *words], cwd=folder, env=COMPILED, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            process.stdout.read(1)
            first = time.perf_counter() - begun
            process.stdout.read()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (processor, first) if process.returncode == 0 else None


def main(times: int, programs: list[str]) -> None:
    for command in COMMANDS:
        found: dict[str, list[tuple[float, float] | None]] = {program: [] for program in programs}
        for program in programs:
            measure(program, shlex.split(command))  # compiles
        for _ in range(times):
            for program in programs:
                found[program].append(measure(program, shlex.split(command)))
        cells = []
        for rows in found.values():
            known = [row for row in rows if row is not None]
            figures = [statistics.median(values) for values in zip(*known, strict=True)]
            cells.append("{:.2f} s of a core, {:.2f} s to the first output".format(*figures) if figures else "refused")
        print(f"{command}: {'; '.join(cells)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
