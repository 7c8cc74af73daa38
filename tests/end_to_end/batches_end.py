"""Batches under faults of their machine: each ends, with right fronts or with a sentence.

    python tests/end_to_end/batches_end.py [--batches 200] [--seed 0]

The faults are lost reports (1 in 10), an address space of 400 MB to 3 GB, threads that cannot be started, and signals:
the batch or a worker is stopped for some seconds, killed, or asked to stop. A batch fails that lives on for more than
60 s after its last run or the request, ends with another code than 0, 1, 3 or 130, prints a traceback, or has other
fronts than a batch without faults.

The last figures are at the end of this file.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import polars as pl
import psutil

BATCH = "problem: gpt3-4k\nengines: nsga2\nevaluations: [2000, 4000]\npopulation: 100\nseeds: [1, 2, 3]\n"
MAIN = "from evo_libra.ui.cli import main; main()"
LOSE = """
import random
from evo_libra.experiment.execution.scheduler import OnScheduler
answer, draw = OnScheduler._answer, random.Random({seed})
OnScheduler._answer = lambda self, future: None if draw.random() < 0.1 else answer(self, future)
"""
DENY = """
import threading
start, left = threading.Thread.start, [{seed} % 40]
def deny(self):
    left[0] -= 1
    if left[0] < 0:
        raise RuntimeError("can't start new thread")
    start(self)
threading.Thread.start = deny
"""
FAULTS = ("lost", "space", "threads", "stop", "kill worker", "term", "none")
MOST_SECONDS, LONGEST_SECONDS = 60.0, 180.0


def limited(megabytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def started(folder: Path, fault: str, draw: random.Random) -> subprocess.Popen[bytes]:
    """Start a batch with a fault that it has from its start."""
    seed, space = draw.randrange(1000), draw.choice((400, 600, 800, 900, 1000, 1500, 3000))
    before = {"lost": LOSE, "threads": DENY}.get(fault, "").replace("{seed}", str(seed))
    return subprocess.Popen(
        [sys.executable, "-P", "-c", before + MAIN, "run", "batch.yaml", "--workers", str(draw.randint(1, 2))],
        cwd=folder, stdout=(folder / "out").open("wb"), stderr=(folder / "err").open("wb"),
        preexec_fn=(lambda: limited(space)) if fault == "space" else None,  # noqa: PLW1509 - no thread is there
    )  # fmt: skip


def disturb(process: psutil.Process, fault: str, draw: random.Random) -> float | None:
    """Send a signal that belongs to a fault; return when the batch was asked to stop."""
    time.sleep(draw.uniform(1.0, 5.0))
    with suppress(psutil.Error):
        workers = process.children()
        if fault == "term":
            process.terminate()
            return time.monotonic()
        if fault == "stop":
            one = draw.choice([process, *workers])
            one.suspend()
            time.sleep(draw.uniform(0.5, 15.0))
            one.resume()
        if fault == "kill worker" and workers:
            draw.choice(workers).kill()
    return None


def ended(process: subprocess.Popen[bytes], folder: Path, asked: float | None) -> str:
    """Wait for the end of a batch; return what is wrong with it, empty where nothing is."""
    begun, last, known = time.monotonic(), asked, -1
    while process.poll() is None:
        done = len(list(folder.glob("results/gpt3-4k/*/done.json")))
        if done != known:
            known, last = done, max(time.monotonic(), last or 0.0) if asked is None else asked
        now = time.monotonic()
        over = (done == 6 or asked is not None) and now - (last or now) > MOST_SECONDS
        if over or now - begun > LONGEST_SECONDS:
            process.kill()
            process.wait()
            return f"lived on for {now - (last or begun):.0f} s with {done} runs done"
        time.sleep(0.2)
    errors = (folder / "err").read_text(errors="replace")
    if asked is not None and process.returncode == -signal.SIGTERM and not errors:
        return ""  # it had not begun
    if process.returncode not in (0, 1, 3, 130):
        return f"ended with code {process.returncode}: {errors[-300:]}"
    if "Traceback" in errors:
        return f"traceback: {errors[-500:]}"
    if process.returncode and not errors.strip():
        return f"ended with code {process.returncode} and no sentence"
    return ""


def differing(folder: Path, straight: Path) -> list[str]:
    """Return the runs that are done and have other fronts than without faults."""
    wrong = []
    for done in folder.glob("results/gpt3-4k/*/done.json"):
        own, other = done.with_name("front.parquet"), straight / done.parent.relative_to(folder) / "front.parquet"
        if not pl.read_parquet(own).equals(pl.read_parquet(other)):
            wrong.append(done.parent.name)
    return wrong


def main() -> None:
    """Run batches, each with a fault drawn at random, and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--faults", default=",".join(FAULTS))
    given = parser.parse_args()
    os.environ["EVO_LIBRA_CACHE"] = tempfile.mkdtemp()
    top, draw, wrong, codes = Path(tempfile.mkdtemp()), random.Random(given.seed), 0, Counter[str]()  # noqa: S311
    begun = time.monotonic()
    for number in range(-1, given.batches):
        folder = top / ("straight" if number < 0 else f"batch-{number}")
        folder.mkdir()
        (folder / "batch.yaml").write_text(BATCH)
        fault = "none" if number < 0 else draw.choice(given.faults.split(","))
        process = started(folder, fault, draw)
        asked = disturb(psutil.Process(process.pid), fault, draw) if fault in FAULTS[3:6] else None
        said = ended(process, folder, asked)
        said = said or ", ".join(differing(folder, top / "straight"))
        codes[f"{fault} {process.returncode}"] += 1
        if said:
            wrong += 1
            print(f"batch {number}, {fault}: {said}", flush=True)
        if number >= 0:
            shutil.rmtree(folder)
    shutil.rmtree(top)
    print(f"{given.batches} batches in {time.monotonic() - begun:.0f} s, {wrong} wrong: {dict(sorted(codes.items()))}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

# Last figures, on 2 cores that others used, too (load 10 to 17): seed 0, 40 batches in 597 s. None lived on, and all
# fronts that were done were those without faults. Four were wrong: three were asked to stop before they had begun, and
# no longer count; one printed a traceback where no thread could be started, which is a sentence since.
# Then seed 3, 8 batches with limits, denied threads and requests, and seeds 4 and 10 to 15, 134 batches in 4,051 s:
# none wrong. Of 12 more one printed a traceback without threads to start: from the fifth thread on reports were lost
# with their callbacks, and with three or four a batch lived on for 95 s and more. Each number of threads from 0 to 8,
# with one and two workers, ends at once since. These are 194 of 200.
# Since then 200 batches in a row on one commit, seed 0, in 992 s beside other work: none wrong; 30 of them without a
# fault, 37 with killed and 34 with stopped workers, 28 with lost reports, 27 asked to end, 22 with little memory.
