"""What a batch costs beside its searches, and how it scales over local workers."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evo_libra import load_problem, search

COMMAND = str(Path(sys.executable).parent / "evo-libra")
SHORT = "problem: gpt3-4k\nevaluations: 650\nrepeats: 300\n"
ONE_SECOND = "problem: sleeping:problem\nengines: random\npopulation: 20\nevaluations: 200\nrepeats: 200\n"
SLEEPING = """
import time

from problems.two_tier import TwoTier


class Sleeping(TwoTier):
    name = "sleeping"

    def evaluate_genes(self, genes):
        time.sleep(0.1)
        return super().evaluate_genes(genes)


problem = Sleeping()
"""


def batch(folder, text, workers):
    """Return the seconds of a batch: of the whole command, and from the first run that began to the last that ended."""
    (folder / "batch.yaml").write_text(text)
    words = [
        COMMAND,
        "run",
        "batch.yaml",
        "--trust-code",
        "--workers",
        str(workers),
        "--out",
        f"results-{workers}",
        "--json",
    ]
    begun = time.perf_counter()
    done = subprocess.run(words, cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    whole = time.perf_counter() - begun
    assert json.loads(done.stdout)["failed"] == 0
    times = [
        json.loads(line)["time"]
        for path in folder.glob(f"results-{workers}/*/*/events.jsonl")
        for line in path.read_text().splitlines()
    ]
    return whole, max(times) - min(times)


def overhead():
    """Print what 300 short runs cost beside their searches."""
    problem = load_problem("gpt3-4k")
    search(problem, evaluations=650)
    begun = time.perf_counter()
    for seed in range(100):
        search(problem, evaluations=650, seed=seed)
    alone = (time.perf_counter() - begun) / 100
    print(f"a search alone: {alone * 1e3:.1f} ms")
    for workers in (0, 1, 2):
        with tempfile.TemporaryDirectory() as name:
            whole, work = batch(Path(name), SHORT, workers)
        each, all_in = (seconds / 300 - alone / max(workers, 1) for seconds in (work, whole))
        print(f"{workers} workers: {each * 1e3:.1f} ms a run beside the search, {all_in * 1e3:.1f} ms with the start")


def scaling():
    """Print how 200 runs of a second scale over workers that sleep most of the time."""
    for workers in (1, 2, 4, 8):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "sleeping.py").write_text(SLEEPING)
            (folder / "problems").symlink_to(Path(__file__).parents[2] / "problems")
            whole, work = batch(folder, ONE_SECOND, workers)
        print(f"{workers} workers: {work:.1f} s, {200 / workers / work:.1%} of ideal; {whole:.1f} s with start and end")


if __name__ == "__main__":
    for part in sys.argv[1:] or ["overhead", "scaling"]:
        {"overhead": overhead, "scaling": scaling}[part]()
