"""Files of a search in the folder of its run: checkpoint and evaluated designs.

A checkpoint is a search between two generations: arrays and plain data, nothing that could run when it is loaded.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError, error_text
from evo_libra.experiment.run.record import program
from evo_libra.experiment.store.folder import CHECKPOINT, DESIGNS, RunFolder
from evo_libra.files.integrity import DamagedError, check_table, read_archive, read_bytes, seal_archive
from evo_libra.front.archive import Archive, Collection
from evo_libra.front.front import read_table, write_table
from evo_libra.problem.protocol import Evaluation, Failure, Failures, SearchProblem
from evo_libra.searching.engine import EngineState
from evo_libra.searching.loop import Mark, Snapshot

PART = 100_000
"""Designs of a file, of all but the last one; memory has as many and those of a generation."""
_GENE = "gene:"
_FORMAT = 4
_SEARCH = ("evaluations", "exhausted", "ended", "restarts", "seconds")


def write_checkpoint(folder: RunFolder, snapshot: Snapshot, search: str) -> None:
    """Save a search; `search` is the hash of problem, engine and settings, whatever the number of evaluations."""
    arrays: dict[str, Any] = {
        "archive/genes": snapshot.archive.genes,
        "archive/objectives": snapshot.archive.objectives,
        "mark/objectives": snapshot.mark.objectives,
        **{f"engine/{name}": np.asarray(values) for name, values in snapshot.engine.arrays.items()},
        **({} if snapshot.extent is None else {"extent": np.array(snapshot.extent)}),
    }
    head = {
        "format": _FORMAT,
        "program": program(),
        "search": search,
        **{name: getattr(snapshot, name) for name in _SEARCH},
        "mark": snapshot.mark.evaluations,
        "random": dict(snapshot.engine.random),
        "failures": snapshot.failures.count,
        "first_failures": [
            {"reason": failure.reason, "genes": failure.genes.tolist()} for failure in snapshot.failures.first
        ],
    }
    buffer = io.BytesIO()
    np.savez(buffer, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), **arrays)
    folder.write(CHECKPOINT, seal_archive(buffer.getvalue()))


def read_checkpoint(folder: RunFolder, search: str) -> Snapshot | None:
    """Return where a search stopped, or None when it never wrote a checkpoint.

    Raises an `InputError` where the checkpoint is damaged, or of another search, format or version of the program.
    """
    path = folder.path / CHECKPOINT
    found = read_archive(path)
    if found is None:
        return None
    head, arrays = found
    if head["format"] != _FORMAT or head["search"] != search:
        raise InputError(f"the checkpoint {path} belongs to another run or format; search again without --resume")
    if head["program"] != program():
        raise InputError(f"the checkpoint {path} is of another version of the program; search again without --resume")
    engine = {name.removeprefix("engine/"): values for name, values in arrays.items() if name.startswith("engine/")}
    return Snapshot(
        EngineState(engine, head["random"]),
        Collection(Archive(arrays["archive/genes"], arrays["archive/objectives"])),
        mark=Mark(head["mark"], arrays["mark/objectives"]),
        extent=(arrays["extent"][0], arrays["extent"][1]) if "extent" in arrays else None,
        failures=Failures(
            head["failures"],
            tuple(Failure(np.array(one["genes"], dtype=np.float64), one["reason"]) for one in head["first_failures"]),
        ),
        **{name: head[name] for name in _SEARCH},
    )


def checkpoint_evaluations(folder: RunFolder) -> int | None:
    """Return the designs evaluated by the last checkpoint; None when there is no sound one."""
    try:
        found = read_archive(folder.path / CHECKPOINT)
    except InputError:
        return None
    return None if found is None else int(found[0]["evaluations"])


class Record:
    """Writes the designs that it is called with to files of a run's folder, which depend on the run alone.

    A row is a design: its number, its objectives in their units, its violation and its genes. The files hold
    `evaluations` designs already; see `keep_first`.
    """

    def __init__(self, folder: RunFolder, problem: SearchProblem, evaluations: int = 0) -> None:
        self._folder, self._problem, self._next, self._written = folder, problem, evaluations, evaluations
        part = _part(folder, evaluations - evaluations % PART)
        self._held: list[pl.DataFrame] = [read_table(part)[0]] if evaluations % PART else []

    def __call__(self, genes: FloatArray, evaluation: Evaluation) -> None:
        """Add designs."""
        self._held.append(_frame(self._problem, self._next, genes, evaluation))
        self._next += genes.shape[1]
        if self._next - self._next % PART > self._start:
            self._write(full=True)

    def flush(self) -> None:
        """Write what is in memory alone; before the checkpoint that has seen it."""
        if self._next > self._written:
            self._write(full=False)

    @property
    def _start(self) -> int:
        return self._next - sum(frame.height for frame in self._held)

    def _write(self, *, full: bool) -> None:
        """Write the files that are full, or all; those that are not full stay in memory."""
        start, held = self._start, pl.concat(self._held)
        while held.height >= PART or (held.height and not full):
            file = held[:PART].rechunk()
            self._folder.write(_part(self._folder, start).name, partial(write_table, frame=file))
            self._written = start + file.height
            if held.height < PART:
                break
            start, held = start + PART, held[PART:]
        self._held = [held.clone()] if held.height else []


def _frame(problem: SearchProblem, first: int, genes: FloatArray, evaluation: Evaluation) -> pl.DataFrame:
    genome = problem.genome
    columns: dict[str, NDArray[Any]] = {"evaluation": np.arange(first, first + genes.shape[1])}
    columns |= {o.column: row / o.scale for o, row in zip(problem.objectives, evaluation.objectives, strict=True)}
    columns |= {"violation": evaluation.violation}
    kinds = zip(genome.names, genes, genome.categorical, strict=True)
    columns |= {f"{_GENE}{name}": values.astype(np.int64) if whole else values for name, values, whole in kinds}
    return pl.DataFrame(columns)


def _part(folder: RunFolder, start: int) -> Path:
    return folder.path / f"designs-{start:015d}.parquet"


def keep_first(folder: RunFolder, count: int, source: RunFolder | None = None) -> bool:
    """Make the files of a folder those of the first `count` designs; return whether there are as many, and sound.

    The files are those of the source, where that is another run of the same search.
    """
    files = designs_files((source or folder).path)
    starts = [int(path.stem.partition("-")[2]) for path in files]
    try:
        if count and (starts != [n * PART for n in range(len(starts))] or _count(files) < count):
            return False
    except DamagedError:
        return False
    for path, start in zip(files, starts, strict=True):
        if start >= count:
            if source is None:
                folder.remove(path.name)
        elif source is not None or start + PART > count:
            frame, _ = read_table(path)
            if source is not None or frame.height > count - start:
                folder.write(path.name, partial(write_table, frame=frame[: count - start].rechunk()))
    return True


def _count(files: Sequence[Path]) -> int:
    return sum(read_table(path)[0].height for path in files)


def designs_files(folder: Path) -> list[Path]:
    """Return the files of all designs that a run has kept, in order."""
    return sorted(path for path in folder.glob(DESIGNS) if path.stem.partition("-")[2].isdecimal())


def kept_designs(folder: Path) -> pl.LazyFrame:
    """Return every design that a run has kept, in the order of their evaluation, to be read as far as it is needed.

    Raises a `DamagedError` where a file is not what the run wrote.
    """
    files = designs_files(folder)
    for path in files:
        check_table(path, read_bytes(path) or b"")
    return pl.scan_parquet(files)


def kept_genes(frame: pl.DataFrame) -> FloatArray:
    """Return the (g, n) genes of rows of kept designs."""
    genes = [name for name in frame.columns if name.startswith(_GENE)]
    return np.ascontiguousarray(frame.select(genes).cast(pl.Float64).to_numpy().T)


def failure_rows(problem: SearchProblem, failures: Failures) -> list[dict[str, Any]]:
    """Return the first designs that could not be evaluated: the ``reason``, the description and the ``genes`` of each.

    The description is the problem's own; where the problem cannot describe such a design, ``description`` says so.
    """
    return [
        {"reason": one.reason, **_description(problem, one.genes), "genes": one.genes.tolist()}
        for one in failures.first
    ]


def _description(problem: SearchProblem, genes: FloatArray) -> dict[str, Any]:
    try:
        return {column: values[0] for column, values in problem.describe(genes[:, None]).items()}
    except Exception as error:  # noqa: BLE001 - a problem's own code may raise anything at such a design
        return {"description": f"none: {error_text(error)}"}
