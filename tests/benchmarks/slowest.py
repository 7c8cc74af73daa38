"""The slowest things that a user meets, before and after: `python tests/benchmarks/slowest.py BEFORE [NAME ...]`.

BEFORE is the folder of a checkout of the version to compare with. Each measure runs in processes of its own, in
turns of both versions, in an empty folder: CPU seconds and the most memory of a process. An exit code other than 0
stands next to the figures.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

NOW = Path(__file__).resolve().parents[2]
LIMIT = 600.0
"""Wall seconds after which a measure ends."""
COMMAND = "import sys; sys.argv[0] = 'evo-libra'; from evo_libra.ui.cli import main; main()"
TWO_MODELS = str(NOW / "experiments" / "problems" / "mixed-models-4k.yaml")
EXACT = ["search", TWO_MODELS, "--engine", "exhaustive"]

COMMANDS: dict[str, tuple[list[list[str]], list[str]]] = {
    "optimize two models": ([], ["optimize", TWO_MODELS, "--total", "500"]),
    "exhaustive of two models": ([], EXACT),
    "certify two models": ([EXACT], ["certify", "last"]),
    "recommend two models": ([EXACT], ["recommend", "last"]),
    "report of two models, first": ([EXACT], ["report", "last"]),
    "report of two models, second": ([EXACT, ["report", "last"]], ["report", "last"]),
    "refuse an order": ([], ["optimize", "mixed-models-4k", "--total", "500"]),
    "search buy-llama3-405b-16k": ([], ["search", "buy-llama3-405b-16k"]),
}
"""Commands that are run before, and the one that is measured."""

SEARCH = """
import time
from evo_libra import load_problem, search
problem = load_problem("moe-4k")
start = time.process_time()
search(problem, engine="nsga2", evaluations={evaluations}, seed=0)
print(time.process_time() - start)
"""
EVALUATE = """
import time
import numpy as np
from evo_libra import load_problem
problem = load_problem("{problem}")
genes = problem.genome.sample(np.random.default_rng(0), 4096)
designs = problem.decode(genes)
seconds = []
for work in (lambda: problem.evaluate_genes(genes), lambda: problem.evaluate(designs)):
    work()
    rounds = []
    for _ in range(7):
        start = time.process_time()
        work()
        rounds.append(time.process_time() - start)
    seconds.append(min(rounds))
print(seconds[1] / seconds[0])
"""
SCRIPTS = {
    "nsga2 on moe-4k, 5,000 evaluations": ("CPU s", SEARCH.format(evaluations=5000)),
    "nsga2 on moe-4k, 20,000 evaluations": ("CPU s", SEARCH.format(evaluations=20_000)),
    **{
        f"designs over genes, {name}": ("ratio", EVALUATE.format(problem=name))
        for name in ("gpt3-4k", "moe-4k", "dense-1k")
    },
}
"""What each prints, and the script."""


def run(tree: Path, words: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the package of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.run(
        [sys.executable, "-c", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def command_figures(tree: Path, before: Sequence[Sequence[str]], words: Sequence[str]) -> str:
    """Return the CPU seconds and megabytes of a command; a word where it ends otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        for other in before:
            run(tree, [COMMAND, *other], folder)
        measured = (
            "import resource, subprocess, sys\n"
            f"done = subprocess.run([sys.executable, '-c', {COMMAND!r}, *sys.argv[1:]], capture_output=True)\n"
            "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
            "print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3)\n"
        )
        code, seconds, memory = run(tree, [measured, *words], folder).stdout.split()
    return f"{float(seconds):.2f} s, {float(memory):.0f} MB" + ("" if code == "0" else f" (exit code {code})")


def main(before: Path, names: Sequence[str]) -> None:
    """Print a table of the named measures."""
    print("| measure | before | after |\n|---|---:|---:|")
    for name, (first, words) in COMMANDS.items():
        if not names or name in names:
            figures = [command_figures(tree, first, words) for tree in (before, NOW)]
            print(f"| {name} | {' | '.join(figures)} |", flush=True)
    for name, (unit, script) in SCRIPTS.items():
        if not names or name in names:
            figures = [run(tree, [script], tempfile.gettempdir()).stdout.strip() for tree in (before, NOW)]
            print(f"| {name} | {' | '.join(f'{float(one):.2f} {unit}' for one in figures)} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
