"""What the terminal UI costs: ``python tests/benchmarks/terminal.py [RUNS DESIGNS]``.

It makes a store of 1,000 runs that have kept 10,000 designs each, opens it in a pseudo-terminal of 160 x 45 characters,
and shows a run at work whose front, of 200 designs, is another one ten times a second.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import numpy as np
import polars as pl
import psutil

from evo_libra.experiment.run.record import program
from evo_libra.experiment.store.claim import Lease
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.experiment.store.messages import Progress, tell_progress
from evo_libra.experiment.store.search_state import write_checkpoint
from evo_libra.files.integrity import checksum
from evo_libra.front.archive import Archive, Collection, non_dominated
from evo_libra.front.front import Front, write_table
from evo_libra.searching.engine import EngineState
from evo_libra.searching.loop import Snapshot

WIDTH, HEIGHT = 160, 45
FRONT = 200
SECONDS = 20
UPDATES = 10
COMMAND = str(Path(sys.executable).parent / "evo-libra")
PROGRAM = """
import sys
from evo_libra.ui.terminal import app
app.UPDATES_PER_SECOND = float(sys.argv.pop())
from evo_libra.ui.cli import main
main()
"""


def front(generator: np.random.Generator, count: int) -> np.ndarray:
    cost = np.exp(generator.uniform(np.log(1e6), np.log(1e8), 4 * count))
    values = np.array([0.1 + 1e6 / cost * generator.uniform(1.0, 1.5, cost.size), cost])
    best = values[:, non_dominated(values)][:, :count]
    return best[:, np.argsort(best[0])]


def manifest(name: str, seed: int, budget: int) -> dict[str, object]:
    objectives = [
        {"name": "time", "column": "time_ms", "scale": 1e-3, "label": "iteration time [ms]"},
        {"name": "cost", "column": "cost_usd", "scale": 1.0, "label": "network cost [USD]"},
    ]
    return {
        "name": name, "engine": "nsga2", "seed": seed, "population": 100, "budget": budget, "keep": "designs",
        "hash": f"{name}{seed}", "search": "s", "program": program(), "started": "2026-01-01T00:00:00Z",
        "objectives": objectives, "experiment": "", "label": "", "problem": {},
        "source": {"problem": "m:problem", "set": [], "data": None, "folder": ""}, "method": {}, "versions": {},
        "git": None, "machine": {}, "command": [],
    }  # fmt: skip


def make_store(results: Path, runs: int, designs: int) -> Path:
    """Write runs that are done, and one at work; return the folder of that one."""
    generator = np.random.default_rng(0)
    for index in range(runs):
        name, seed = f"problem-{index // 50:02d}", index % 50
        folder = results / name / f"nsga2-{index:08x}-e{designs}-s{seed}"
        folder.mkdir(parents=True)
        RunFolder(folder).write_json("manifest.json", manifest(name, seed, designs))
        for step in range(1, 41):
            tell_progress(
                RunFolder(folder), Progress(step, designs * step // 40, 5 * step, 1 - 1 / (step + 1), step / 2)
            )
        time_, cost = front(generator, FRONT)
        network = ["RI(4)@chiplet:250_FC(8)@package:125_SW(32)@pod:20"] * time_.size
        table = {"id": np.arange(time_.size), "time_ms": time_ * 1e3, "cost_usd": cost, "design": network}
        Front(pl.DataFrame(table), ("time_ms", "cost_usd")).write(folder / "front.parquet")
        values = np.round(generator.uniform(1, 1000, (6, designs)), 1)
        genes = {f"gene[{n}]": values[n] for n in range(2, 6)}
        kept = {"evaluation": np.arange(designs), "time_ms": values[0], "cost_usd": values[1] * 1e5, "violation": 0.0}
        write_table(folder / "designs-000000000000000.parquet", pl.DataFrame({**kept, **genes}))
        done = {"evaluations": designs, "front": int(time_.size), "hypervolume": 0.97, "wall_s": 20.0}
        files = {path.name: checksum(path) for path in folder.glob("*.parquet")}
        RunFolder(folder).write_json("done.json", {**done, "ended": "", "restarts": 0, "files": files})
    live = results / "a-live-one" / "nsga2-00000000-e1000000-s0"
    live.mkdir(parents=True)
    RunFolder(live).write_json("manifest.json", manifest("a-live-one", 0, 1_000_000))
    return live


class Terminal:
    """A pseudo-terminal with the UI in it."""

    def __init__(self, results: Path, cache: Path, updates: float | None = None) -> None:
        self.begun = time.perf_counter()
        self.inner, outer = pty.openpty()
        fcntl.ioctl(outer, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        environment = {
            **os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "POLARS_MAX_THREADS": "1",
            "EVO_LIBRA_CACHE": str(cache),
        }  # fmt: skip
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled after a first start
        command = [COMMAND] if updates is None else [sys.executable, "-c", PROGRAM]
        self.process = subprocess.Popen(
            [*command, "ui", str(results), *([] if updates is None else [str(updates)])],
            stdin=outer, stdout=outer, stderr=outer, env=environment, start_new_session=True,
        )  # fmt: skip
        os.close(outer)
        self.seen = b""

    def read(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self.inner], [], [], seconds)
        try:
            new = os.read(self.inner, 1 << 16) if ready else b""
        except OSError:  # the program has ended
            new = b""
        self.seen += new
        return new

    def wait(self, *texts: str) -> float:
        """Return the seconds from the start of the program until it has written some texts."""
        while not all(text.encode() in self.seen for text in texts):
            if time.perf_counter() - self.begun > 60:
                raise TimeoutError(f"no {texts} in {self.seen[-2000:]!r}")
            self.read(0.05)
        return time.perf_counter() - self.begun

    def cpu(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    def close(self) -> None:
        os.write(self.inner, b"q")
        while self.process.poll() is None:
            self.read(0.05)
        os.close(self.inner)


def update(live: Path, step: int, generator: np.random.Generator) -> None:
    """Write what a run at work writes."""
    values = front(generator, FRONT)
    values[1] *= 1.0 - 0.001 * (step % 100)
    state = EngineState({}, {})
    write_checkpoint(
        RunFolder(live), Snapshot(state, Collection(Archive(np.zeros((4, values.shape[1])), values)), step), "s"
    )
    tell_progress(
        RunFolder(live), Progress(time.time(), 100 * step, values.shape[1], 1 - 1 / (step + 2), step / UPDATES)
    )


def measure_opening(results: Path, cache: Path) -> None:
    for what in ("index to be made", *["index there"] * 3):
        terminal = Terminal(results, cache)
        listed, plotted = terminal.wait("running", "problem-00"), terminal.wait("network cost [")
        memory = psutil.Process(terminal.process.pid).memory_info().rss / 1e6
        print(
            f"opened, {what}: runs after {listed:.2f} s, plot after {plotted:.2f} s, {terminal.cpu():.2f} s of a core, "
            f"{memory:.0f} MB"
        )
        terminal.close()


def measure_updates(results: Path, cache: Path, live: Path) -> None:
    generator = np.random.default_rng(1)
    for rate in (UPDATES, 4.0):
        terminal = Terminal(results, cache, rate)
        terminal.wait("network cost [")
        for _ in range(20):
            terminal.read(0.1)
        before, begun, written, step = terminal.cpu(), time.perf_counter(), 0, 0
        while time.perf_counter() - begun < SECONDS:
            step += 1
            update(live, step, generator)
            while (left := begun + step / UPDATES - time.perf_counter()) > 0:
                written += len(terminal.read(left))
        share = (terminal.cpu() - before) / (time.perf_counter() - begun)
        print(
            f"{UPDATES} fronts a second, read {rate:g} times: {share:.1%} of a core, {written / SECONDS / 1e3:.0f} kB/s"
        )
        terminal.close()


def main(runs: int, designs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        results, cache = Path(folder) / "results", Path(folder) / "cache"
        live = make_store(results, runs, designs)
        update(live, 0, np.random.default_rng(1))
        size = sum(path.stat().st_size for path in results.rglob("*") if path.is_file())
        print(f"{runs:,} runs, {runs * designs:,} designs, {size / 1e6:.0f} MB")
        with Lease(live, "benchmark"):
            measure_opening(results, cache)
            measure_updates(results, cache, live)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]) if len(sys.argv) > 1 else (1_000, 10_000))
