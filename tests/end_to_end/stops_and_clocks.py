"""Batches while workers are stopped for ever and while the clock jumps by decades; a script, not a part of the suite.

    python tests/end_to_end/stops_and_clocks.py [--scheduler]

Stops a worker of `run` for good, then lets the clock of all processes jump by 30 years to and fro, which takes a C
compiler (`cc`) for a library that is loaded before the system's. With ``--scheduler`` it also stops a worker of a Dask
scheduler. Each batch has to end with the fronts of an undisturbed one.

Last figures, on two cores that eight others shared: 64 s, 54 s and 203 s, each with the fronts of the undisturbed
batch. A stopped worker was told of after 10 s and replaced at once; one of a scheduler was told of after 31 s, and its
runs went on elsewhere after 124 s.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
from command import COMMAND
from patience import code_of, wait_for

ROOT = Path(__file__).parents[2]
DASK = str(Path(sys.executable).parent / "dask")
PROBLEM = """
import time
from problems.two_tier import TwoTier


class Slow(TwoTier):
    name = "slow"

    def evaluate_genes(self, genes):
        time.sleep(0.1)
        return super().evaluate_genes(genes)


problem = Slow()
"""
BATCH = """
problem: slow:problem
engines: random
population: 50
evaluations: 5000
checkpoint_s: 0.2
seeds: [1, 2, 3, 4]
"""
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static time_t offset(void) {
    FILE *file = fopen(getenv("CLOCK_OFFSET"), "r");
    double seconds = 0;
    if (file) { if (fscanf(file, "%lf", &seconds) != 1) seconds = 0; fclose(file); }
    return (time_t)seconds;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += offset();
    return failed;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec, now->tv_usec = found.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *now) {
    struct timespec found;
    clock_gettime(CLOCK_REALTIME, &found);
    if (now) *now = found.tv_sec;
    return found.tv_sec;
}
"""
JUMPS = (1e9, -1e9, 0.0, 9e8)


@contextlib.contextmanager
def batch(
    folder: Path, out: str, *words: str, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a batch and give it once two runs are at work; it has to end well within five minutes."""
    command = [COMMAND, "run", "batch.yaml", "--trust-code", "--out", out, *words]
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **(env or {})})
    wait_for(lambda: len(list(folder.glob(f"{out}/*/*/checkpoint.npz"))) >= 2)
    yield process
    if code_of(process):
        raise SystemExit(f"{out}: the batch has failed")
    if fronts(folder, out) != fronts(folder, "straight"):
        raise SystemExit(f"{out}: the fronts differ")


def fronts(folder: Path, out: str) -> dict[str, bytes]:
    """Return the bytes of every front."""
    return {path.parent.name: path.read_bytes() for path in folder.glob(f"{out}/*/*/front.parquet")}


def stopped_worker(folder: Path) -> None:
    """Stop a worker of this machine."""
    with batch(folder, "stopped", "--workers", "2") as process:
        psutil.Process(process.pid).children()[0].send_signal(signal.SIGSTOP)


def jumping_clock(folder: Path) -> None:
    """Let the clock of all processes jump."""
    (folder / "clock.c").write_text(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "clock.so", "clock.c", "-ldl"], cwd=folder, check=True)
    offset = folder / "offset"
    env = {"LD_PRELOAD": str(folder / "clock.so"), "CLOCK_OFFSET": str(offset)}
    with batch(folder, "jumping", "--workers", "2", env=env):
        for seconds in JUMPS:
            offset.write_text(str(seconds))
            time.sleep(4)


def stopped_worker_of_a_scheduler(folder: Path) -> None:
    """Stop a worker of a Dask scheduler."""
    file = ["--scheduler-file", "scheduler.json", "--no-dashboard"]
    words = [["scheduler", "--host", "127.0.0.1", "--port", "0"], *[["worker", "--nthreads", "1", "--no-nanny"]] * 2]
    with (folder / "dask.txt").open("wb") as log:
        started = [subprocess.Popen([DASK, *one, *file], cwd=folder, stdout=log, stderr=log) for one in words]
    try:
        wait_for((folder / "scheduler.json").exists)
        with batch(folder, "silent", "--scheduler", "scheduler.json"):
            started[1].send_signal(signal.SIGSTOP)
    finally:
        for one in started:
            one.kill()
            one.wait()


def main() -> None:
    """Run all that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scheduler", action="store_true", help="stop a worker of a Dask scheduler, too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "slow.py").write_text(PROBLEM)
        (folder / "problems").symlink_to(ROOT / "problems")
        (folder / "batch.yaml").write_text(BATCH)
        subprocess.run([COMMAND, "run", "batch.yaml", "--trust-code", "--out", "straight"], cwd=folder, check=True)
        for check in (stopped_worker, jumping_clock, *([stopped_worker_of_a_scheduler] if asked.scheduler else [])):
            begun = time.monotonic()
            check(folder)
            print(f"{check.__name__}: as undisturbed, {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
