"""The folder of a run: written atomically, finished when ``done.json`` is there."""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evo_libra.errors import InputError
from evo_libra.front.archive import Archive, Collection
from evo_libra.front.front import Front
from evo_libra.search.engine import EngineState
from evo_libra.search.run import Snapshot
from evo_libra.search.termination import Mark

FRONT, MANIFEST, DONE, CHECKPOINT, PLOT = "front.parquet", "manifest.json", "done.json", "checkpoint.npz", "front.png"
FAILURES = "failures.json"
_FORMAT = 2


@dataclass(frozen=True)
class RunFolder:
    """Where one run keeps its files."""

    path: Path

    @property
    def done(self) -> bool:
        """Whether the run has finished."""
        return (self.path / DONE).is_file()

    def write(self, name: str, content: Callable[[Path], None] | bytes) -> None:
        """Write one file so that it is there whole or not at all.

        Parameters
        ----------
        name : of the file.
        content : its bytes, or a function that writes them to the path it is given.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.path, prefix=".tmp-", suffix=Path(name).suffix)
        os.close(handle)
        try:
            if isinstance(content, bytes):
                Path(temporary).write_bytes(content)
            else:
                content(Path(temporary))
            _sync(Path(temporary))
            Path(temporary).chmod(0o644)
            Path(temporary).replace(self.path / name)
        finally:
            Path(temporary).unlink(missing_ok=True)
        _sync(self.path)

    def write_json(self, name: str, data: Mapping[str, Any]) -> None:
        """Write JSON for people and programs."""
        self.write(name, (json.dumps(data, indent=2, allow_nan=False) + "\n").encode())

    def read_json(self, name: str) -> dict[str, Any]:
        """Read a JSON file of the run.

        Raises
        ------
        InputError : the folder has no such file, or it is damaged.
        """
        try:
            data = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise InputError(f"{self.path} is no folder of a result: it has no readable {name}") from None
        if not isinstance(data, dict):
            raise InputError(f"{self.path / name} is damaged")
        return data

    def read_front(self) -> Front:
        """Read the front; see `Front.read` for the errors."""
        if not (self.path / FRONT).is_file():
            raise InputError(f"{self.path} has no front: its run was not finished")
        return Front.read(self.path / FRONT)

    def clear(self) -> None:
        """Remove the files of an earlier run, the mark that it is done first."""
        for name in (DONE, CHECKPOINT, FRONT, PLOT, MANIFEST, FAILURES):
            (self.path / name).unlink(missing_ok=True)


def run_folder(results: Path, problem: str, name: str, digest: str, seed: int) -> RunFolder:
    """Return the folder ``<results>/<problem>/<name>-<hash8>-s<seed>``."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
    return RunFolder(results / problem / f"{plain}-{digest[:8]}-s{seed}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_checkpoint(folder: RunFolder, snapshot: Snapshot, digest: str) -> None:
    """Save a search between two generations: arrays and plain data, nothing that could run when it is loaded."""
    head = {
        "format": _FORMAT,
        "run": digest,
        "evaluations": snapshot.evaluations,
        "exhausted": snapshot.exhausted,
        "ended": snapshot.ended,
        "restarts": snapshot.restarts,
        "seconds": snapshot.seconds,
        "mark": snapshot.mark.evaluations,
        "random": dict(snapshot.engine.random),
    }
    arrays: dict[str, Any] = {
        "head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8),
        "archive/genes": snapshot.archive.genes,
        "archive/objectives": snapshot.archive.objectives,
        "mark/objectives": snapshot.mark.objectives,
        **{f"engine/{name}": np.asarray(values) for name, values in snapshot.engine.arrays.items()},
    }
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    folder.write(CHECKPOINT, buffer.getvalue())


def read_checkpoint(folder: RunFolder, digest: str) -> Snapshot | None:
    """Return where a search stopped, or None when it never wrote a checkpoint.

    Raises
    ------
    InputError : the checkpoint is damaged, or of another run or format.
    """
    path = folder.path / CHECKPOINT
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as data:
            head = json.loads(bytes(data["head"]).decode())
            if head["format"] != _FORMAT or head["run"] != digest:
                raise InputError(f"the checkpoint {path} belongs to another run or version")
            arrays = {name.removeprefix("engine/"): data[name] for name in data.files if name.startswith("engine/")}
            found = Collection(Archive(data["archive/genes"], data["archive/objectives"]))
            mark = Mark(head["mark"], data["mark/objectives"])
            state = EngineState(arrays, head["random"])
            fields = {name: head[name] for name in ("evaluations", "exhausted", "ended", "restarts", "seconds")}
            return Snapshot(state, found, mark=mark, **fields)
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InputError(f"the checkpoint {path} is damaged ({error}); search again without --resume") from None
