"""Damage the files of a folder of results, one at a time, and check what is shown of it.

    python tests/end_to_end/damage_stores.py --each 2000

Each kind of file is damaged so many times: bits flipped, cut short, text put for a number, bytes that are no UTF-8,
emptied, replaced by a folder or by a named pipe, made unreadable. Each time every run is listed, and the damaged one
and another are shown, planned and drawn: a damaged file is named in one sentence, every figure that is shown is the one
that was written, nothing blocks, and what is not damaged is as it was. Every so often the damaged run is done again, to
the same front byte for byte. Ends with 0 when all of that is so.

The last run, with `--each 2000`: 30,000 damages of 15 kinds of file, none believed or overlooked. Of the evaluations
read from 2,000 databases with a flipped bit, 57,688 were right, 1,176 missing, none wrong; 47 were refused. It took
1,413 seconds, 733 of one core, on a machine that had other work.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evo_libra.errors import InputError
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.plan import plan_of, write_plan
from evo_libra.experiment.execution.worker import perform
from evo_libra.experiment.results.catalogue import Catalogue, read_front
from evo_libra.experiment.run.origin import origin_of
from evo_libra.experiment.run.record import RunRecord
from evo_libra.experiment.run.spec import Experiment, RunSpec, run_of
from evo_libra.experiment.store import messages
from evo_libra.experiment.store.claim import acquire, renew
from evo_libra.experiment.store.folder import RunFolder, damaged_files
from evo_libra.experiment.store.messages import read_progress
from evo_libra.problem.protocol import Evaluation
from evo_libra.searching.evaluation.parallel import Cache
from evo_libra.searching.evaluation.usable import failed
from evo_libra.ui.terminal.session import Session, Wanted

NOBODY = 65534
SECONDS = 30
"""After which reading is taken for blocked."""
AGAIN = 100
"""Of so many damages one is followed by doing the run again."""
FIGURES = ("problem", "engine", "seed", "population", "evaluations", "budget", "front_size", "hypervolume", "wall_s",
           "hash", "search", "ended", "restarts", "islands")  # fmt: skip
Damage = Callable[[Path, random.Random], None]


def flip(path: Path, chance: random.Random) -> None:
    """Flip one bit."""
    raw = bytearray(path.read_bytes())
    place = chance.randrange(len(raw))
    raw[place] ^= 1 << chance.randrange(8)
    path.write_bytes(raw)


def cut(path: Path, chance: random.Random) -> None:
    """Cut a file short."""
    raw = path.read_bytes()
    path.write_bytes(raw[: chance.randrange(len(raw))])


def text(path: Path, chance: random.Random) -> None:
    """Put text for a number."""
    raw = path.read_bytes()
    numbers = list(re.finditer(rb"\d+", raw))
    found = chance.choice(numbers)
    path.write_bytes(raw[: found.start()] + b'"many"' + raw[found.end() :])


def no_text(path: Path, chance: random.Random) -> None:
    """Put bytes that are no UTF-8."""
    raw = path.read_bytes()
    place = chance.randrange(len(raw))
    path.write_bytes(raw[:place] + b"\xff\xfe" + raw[place:])


def empty(path: Path, _chance: random.Random) -> None:
    """Empty a file."""
    path.write_bytes(b"")


def folder(path: Path, _chance: random.Random) -> None:
    """Put a folder in the place of a file."""
    path.unlink()
    path.mkdir()


def pipe(path: Path, _chance: random.Random) -> None:
    """Put a named pipe in the place of a file."""
    path.unlink()
    os.mkfifo(path)


def forbid(path: Path, _chance: random.Random) -> None:
    """Take away all rights."""
    path.chmod(0)


DAMAGES: tuple[Damage, ...] = (flip, flip, flip, cut, text, no_text, empty, folder, pipe, forbid)


class Store:
    """A folder of results with runs of every status, and what is shown of it while nothing is damaged."""

    def __init__(self, place: Path) -> None:
        self.place, self.results = place, place / "results"
        self.results.mkdir(parents=True)
        self.done, self.other, self.begun, self.failed, self.queued = (_spec(seed) for seed in range(5))
        self.job = Job(str(self.results), "batch")
        for spec in (self.done, self.other):
            perform(spec, self.job)
        _stopped(self.begun, self.job)
        begun = self.folder(self.begun)
        begun.write_json("attempt.json", {"batch": "x", "evaluations": 300, "count": 1})
        self.folder(self.failed).write_json("failed.json", {"error": "no luck", "time": 1.0})
        specs = (self.done, self.other, self.begun, self.failed, self.queued)
        self.experiment = Experiment("mine", Path("mine.yaml"), specs, 1.0)
        batch = write_plan(self.experiment, self.results)
        batch.write_json("runner.json", {"command": ["evo-libra", "run"], "started": 1.0, "workers": 2})
        messages.request(self.results, self.queued.id, "pause")
        self.claim = acquire(begun.path, "batch")
        assert self.claim is not None
        self.truth = {run.id: run for run in self.listed()[0]}
        self.fronts = {spec.id: self.folder(spec).read_front().frame for spec in (self.done, self.other, self.begun)}
        self.progress = {spec.id: set(read_progress(self.folder(spec).path)) for spec in (self.done, self.begun)}
        self.bytes = {spec.id: _front_bytes(self.folder(spec)) for spec in (self.done, self.other)}

    def folder(self, spec: RunSpec) -> RunFolder:
        return RunFolder(self.results / spec.id)

    def files(self) -> dict[str, tuple[Path, RunSpec | None, bool]]:
        """Return kinds of files: one of each, the run it is of, and whether each damage of it must be named."""
        done, begun, batch = self.folder(self.done).path, self.folder(self.begun).path, self.results / ".batches/mine"
        (request,) = (self.results / ".control").iterdir()
        (designs,) = done.glob("designs-*")
        assert self.claim is not None
        return {
            "manifest.json": (done / "manifest.json", self.done, True),
            "done.json": (done / "done.json", self.done, True),
            "front.parquet": (done / "front.parquet", self.done, True),
            "designs-*.parquet": (designs, self.done, True),
            "manifest.json of an interrupted run": (begun / "manifest.json", self.begun, True),
            "front.parquet of an interrupted run": (begun / "front.parquet", self.begun, True),
            "checkpoint.npz": (begun / "checkpoint.npz", self.begun, True),
            "attempt.json": (begun / "attempt.json", self.begun, True),
            "events.jsonl": (begun / "events.jsonl", self.begun, False),
            "claim-0001.json": (self.claim.path, self.begun, False),
            "failed.json": (self.folder(self.failed).path / "failed.json", self.failed, True),
            "plan.json": (batch / "plan.json", None, True),
            "runner.json": (batch / "runner.json", None, True),
            "a request": (request, None, True),
        }

    def listed(self) -> tuple[list[RunRecord], tuple[str, ...]]:
        with contextlib.closing(Catalogue.open(self.results, self.place / "cache")) as catalogue:
            return catalogue.runs(), catalogue.notes()

    def check(self, path: Path, spec: RunSpec | None, *, named: bool) -> None:
        """Look at everything, and compare with what was written."""
        assert self.claim is not None
        if path != self.claim.path:
            renew(self.claim)
        runs, notes = self.listed()
        sentences = list(notes)
        for run in runs:
            self._check_figures(run, damaged=spec is not None and run.id == spec.id)
        wrong = damaged_files(self.folder(spec)) if spec is not None else {}
        sentences += wrong.values()
        if named:
            assert any(path.name in one for one in sentences), f"no sentence names it: {sentences}"
        assert all("\n" not in one and len(one) < 500 for one in sentences), sentences
        lost = {self.queued.id, self.failed.id} if path.name == "plan.json" else set()
        assert self.truth.keys() - {run.id for run in runs} <= lost
        for run in runs:
            if run.id in {self.other.id, spec.id if spec is not None else ""}:
                self._check_front(run, damaged=run.id != self.other.id)
        states = {one.spec.id: one.state for one in plan_of(self.experiment, self.results)}
        for one in self.truth:
            mine = spec is not None and spec.id == one
            assert states[one] == "damaged" if wrong and mine else states[one] in _STATES, (one, states[one])
        self._check_drawn(self.other if spec is None else spec)

    def _check_figures(self, run: RunRecord, *, damaged: bool) -> None:
        known = self.truth[run.id]
        if run.status == "damaged":
            assert damaged, run
            assert run.error
            assert (run.evaluations, run.front_size, run.hypervolume, run.wall_s) == (0, 0, None, 0.0)
            return
        seen = {name: getattr(run, name) for name in FIGURES}
        if damaged and (points := self.progress.get(run.id)) and known.status != "done":
            moments = {(one.evaluations, one.front, one.hypervolume, one.seconds) for one in points}
            manifest = (known.evaluations, known.front_size, known.hypervolume)
            shown = tuple(seen.pop(name) for name in ("evaluations", "front_size", "hypervolume", "wall_s"))
            assert shown in moments or shown[:3] == manifest, (shown, moments)
        assert seen == {name: getattr(known, name) for name in seen}
        # Whose a run is that has begun is what its plan says; who is asked to pause is what a request says.
        own: dict[str, Any] = {"updated": 0.0, "experiment": known.experiment}
        if known.status == "paused" and run.status == "queued":
            own["status"] = "paused"
        assert damaged or (run.experiment in (known.experiment, "") and replace(run, **own) == replace(known, **own))

    def _check_front(self, run: RunRecord, *, damaged: bool) -> None:
        if run.id in self.fronts:
            try:
                front = read_front(run)
            except InputError:
                assert damaged, run
                return
            assert front.frame.equals(self.fronts[run.id])

    def _check_drawn(self, spec: RunSpec) -> None:
        session = Session(self.results, self.place / "cache")
        scene = session.look(Wanted(shown=(spec.id,), log=True))
        session.close()
        for run_id, data in scene.data.items():
            if data.front is not None and "design" in data.front.frame.columns:
                assert data.front.frame.equals(self.fronts[run_id])
            if run_id in self.progress:
                assert set(data.progress) <= self.progress[run_id]
            assert all(np.isfinite(values).all() for values in data.values.values())

    def again(self, spec: RunSpec) -> None:
        """Do a run again and check that its front is the same."""
        assert perform(spec, self.job).ending == "done"
        assert damaged_files(self.folder(spec)) == {}
        assert _front_bytes(self.folder(spec)) == self.bytes[spec.id]


_STATES = ("done", "begun", "failed", "new")


def _spec(seed: int) -> RunSpec:
    settings: dict[str, Any] = {"evaluations": 600, "population": 100, "engine": "nsga2", "keep": "designs"}
    return run_of(origin_of("gpt3-4k", []), seed=seed, **settings)


def _stopped(spec: RunSpec, job: Job) -> None:
    reached = [False]

    def watch(snapshot: Any, _seconds: float) -> None:
        reached[0] = snapshot.evaluations >= 300

    perform(spec, replace(job, checkpoint_seconds=0.0), interrupted=lambda: reached[0], watch=watch)


def _front_bytes(folder: RunFolder) -> bytes:
    return (folder.path / "front.parquet").read_bytes()


@contextlib.contextmanager
def damaged(path: Path, damage: Damage, chance: random.Random) -> Iterator[bool]:
    """Damage a file, and mend it; yield whether it is any different."""
    raw, mode, dates = path.read_bytes(), path.stat().st_mode, path.stat()
    damage(path, chance)
    try:
        yield damage in (folder, pipe, forbid) or path.read_bytes() != raw
    finally:
        for one in path.parent.glob(f"moved-*-{path.name}"):
            shutil.rmtree(one)
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(raw)
        path.chmod(mode)
        os.utime(path, ns=(dates.st_atime_ns, dates.st_mtime_ns))


@contextlib.contextmanager
def as_somebody() -> Iterator[None]:
    """Look as somebody else, since root may read everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@contextlib.contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Raise TimeoutError where something blocks."""

    def late(*_: object) -> None:
        raise TimeoutError(f"blocked for {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def damage_store(store: Store, kind: str, each: int, seed: int = 0) -> Counter[str]:
    """Damage one kind of file so many times; return how often in which way.

    Raises
    ------
    AssertionError : something that is shown is not so.
    """
    path, spec, named = store.files()[kind]
    chance, found = random.Random(f"{kind} {seed}"), Counter[str]()  # noqa: S311 - no secret
    for count in range(each):
        damage = DAMAGES[count % len(DAMAGES)]
        with damaged(path, damage, chance) as different, no_longer_than(SECONDS):
            if not different:
                continue
            found[damage.__name__] += 1
            with as_somebody() if damage is forbid else contextlib.nullcontext():
                store.check(path, spec, named=named)
            if count % AGAIN == 0 and spec is not None and spec.id == store.done.id:
                kept = {one: one.read_bytes() for one in path.parent.iterdir() if one.is_file() and one != path}
                store.again(spec)
                _restore(path.parent, kept)
    return found


def _restore(folder: Path, kept: dict[Path, bytes]) -> None:
    for one in folder.iterdir():
        if one.is_file() and one not in kept:
            one.unlink()
    for one, raw in kept.items():
        one.write_bytes(raw)


def damage_cache(place: Path, each: int, seed: int = 0) -> Counter[str]:
    """Flip bits of a file of evaluations; what it gives is what was put there, or nothing."""
    chance, found = random.Random(seed), Counter[str]()  # noqa: S311 - no secret
    truth = {
        (float(k), k / 7): Evaluation(np.array([[1.0 + k], [2.0 / (k + 1)]]), np.array([float(k % 2)]))
        if k % 3
        else failed(2, np.array([[float(k)], [k / 7]]), "x")
        for k in range(30)
    }
    path = place / "evaluations.sqlite"
    with contextlib.closing(Cache(path, {})) as cache:
        for genes, worth in truth.items():
            cache.put(np.array(genes), worth)
    raw = path.read_bytes()
    for _ in range(each):
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        path.write_bytes(raw)
        flip(path, chance)
        try:
            with contextlib.closing(Cache(path, {})) as cache:
                for genes, worth in truth.items():
                    got = cache.get(np.array(genes))
                    found["missing" if got is None else "right"] += 1
                    if got is not None:
                        assert _values(got) == _values(worth)
        except InputError:
            found["refused"] += 1
    return found


def _values(evaluation: Evaluation) -> tuple[list[list[float]], list[float], list[str]]:
    reasons = [failure.reason for failure in evaluation.failures.first]
    return evaluation.objectives.tolist(), evaluation.violation.tolist(), reasons


def main() -> int:
    """Damage every kind of file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--each", type=int, default=2000, help="damages of each kind of file")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    started = time.monotonic()
    try:
        store = Store(place)
        for kind in store.files():
            print(f"{kind:<40}{dict(damage_store(store, kind, options.each, options.seed))}", flush=True)
        print(f"{'evaluations.sqlite':<40}{dict(damage_cache(place, options.each, options.seed))}")
    finally:
        shutil.rmtree(place)
    print(f"{time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
