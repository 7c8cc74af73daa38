"""Every design that a run evaluates, in parts that fit its checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evo_libra.experiment.store import DESIGNS, PART, RunFolder
from evo_libra.model.arrays import FloatArray
from evo_libra.problem.genome import Genome
from evo_libra.problem.protocol import Evaluation, Objective, SearchProblem, SearchSettings


class Recorder:
    """A problem that remembers what it was asked; for the rest it is the problem it stands for."""

    def __init__(self, problem: SearchProblem) -> None:
        self.problem = problem
        self._kept: list[pl.DataFrame] = []

    @property
    def name(self) -> str:
        """Name of the problem."""
        return self.problem.name

    @property
    def genome(self) -> Genome:
        """The genes."""
        return self.problem.genome

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """What is minimised."""
        return self.problem.objectives

    @property
    def settings(self) -> SearchSettings:
        """How a search runs unless it is told otherwise."""
        return self.problem.settings

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return what genes mean."""
        return self.problem.describe(genes)

    def identity(self) -> Mapping[str, Any]:
        """Return what results depend on."""
        return self.problem.identity()

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the worth of genes, and remember both."""
        worth = self.problem.evaluate_genes(genes)
        values = zip(self.objectives, worth.objectives, strict=True)
        columns: dict[str, Any] = {objective.column: row / objective.scale for objective, row in values}
        columns |= {"violation": worth.violation}
        columns |= {f"gene[{index}]": row for index, row in enumerate(genes)}
        self._kept.append(pl.DataFrame(columns))
        return worth

    def take(self, count: int | None) -> pl.DataFrame | None:
        """Return and forget the first `count` designs since the last time, or all of them; None when there are none."""
        if not self._kept:
            return None
        kept = pl.concat(self._kept)
        count = kept.height if count is None else count
        self._kept = [kept[count:]] if count < kept.height else []
        return kept[:count]


def write_part(folder: RunFolder, start: int, designs: pl.DataFrame | None) -> None:
    """Write the designs from number `start` on; before the checkpoint that has seen them."""
    if designs is not None:
        folder.write(f"designs-{start:015d}.parquet", designs.write_parquet)


def drop_parts(folder: RunFolder, start: int) -> None:
    """Remove parts that no checkpoint has seen."""
    for path in folder.path.glob(PART):
        if _start(path) >= start:
            path.unlink(missing_ok=True)


def copy_parts(source: RunFolder, folder: RunFolder, count: int) -> bool:
    """Write the first `count` designs of another run of the same search as a part; return whether it has them."""
    frame = _whole(source)
    if frame is None or frame.height < count:
        return False
    write_part(folder, 0, frame.head(count))
    return True


def merge_parts(folder: RunFolder) -> None:
    """Write all parts as one file; the same designs give the same bytes however they were cut."""
    frame = _joined(folder)
    if frame is not None:
        numbered = frame.insert_column(0, pl.Series("evaluation", np.arange(frame.height)))
        folder.write(DESIGNS, numbered.rechunk().write_parquet)


def remove_parts(folder: RunFolder) -> None:
    """Remove the parts once the run is done."""
    drop_parts(folder, 0)


def _whole(folder: RunFolder) -> pl.DataFrame | None:
    path = folder.path / DESIGNS
    return pl.read_parquet(path).drop("evaluation") if path.is_file() else _joined(folder)


def _joined(folder: RunFolder) -> pl.DataFrame | None:
    parts = sorted(folder.path.glob(PART), key=_start)
    return pl.concat([pl.read_parquet(part) for part in parts]) if parts else None


def _start(path: Path) -> int:
    return int(path.stem.partition("-")[2])
