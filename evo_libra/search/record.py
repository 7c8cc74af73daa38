"""Every design that a search has evaluated, on disk: for who wants to keep more than the front."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evo_libra.errors import InputError
from evo_libra.model.arrays import FloatArray
from evo_libra.problem.protocol import Evaluation, SearchProblem

PART = 100_000
"""Designs that a file has at least, and that are held in memory at most, but for a generation."""


class Record:
    """Writes what it is called with to Parquet files of a folder, a part at a time.

    A row is a design: its number, its objectives in their units, its violation and its genes.

    Parameters
    ----------
    folder : of the files; it is made.
    problem : that is searched.
    evaluations : designs that the files hold already, of a search that goes on; what they hold beyond is removed.

    Raises
    ------
    InputError : the files do not hold as many.
    """

    def __init__(self, folder: Path, problem: SearchProblem, evaluations: int = 0) -> None:
        self._folder, self._problem, self._written = folder, problem, evaluations
        self._waiting: list[tuple[FloatArray, Evaluation]] = []
        folder.mkdir(parents=True, exist_ok=True)
        for file in folder.glob("*.parquet"):
            if int(file.stem) >= evaluations:
                file.unlink()
        held = sum(pl.scan_parquet(file).select(pl.len()).collect().item() for file in folder.glob("*.parquet"))
        if held != evaluations:
            raise InputError(
                f"{folder} has {held:,} evaluated designs, but the search that goes on has evaluated {evaluations:,}; "
                "it was not kept from its start on"
            )

    def __call__(self, genes: FloatArray, worth: Evaluation) -> None:
        """Add designs."""
        self._waiting.append((genes, worth))
        if sum(genes.shape[1] for genes, _ in self._waiting) >= PART:
            self.flush()

    def flush(self) -> None:
        """Write what is still in memory, so that files end where a checkpoint does."""
        if not self._waiting:
            return
        genes = np.concatenate([genes for genes, _ in self._waiting], axis=1)
        objectives = np.concatenate([worth.objectives for _, worth in self._waiting], axis=1)
        violation = np.concatenate([worth.violation for _, worth in self._waiting])
        frame = _frame(self._problem, self._written, genes, objectives, violation)
        # Complete or not there: a search that is killed leaves no half file.
        temporary = self._folder / "part.tmp"
        frame.write_parquet(temporary, compression="zstd")
        temporary.replace(self._folder / f"{self._written:016d}.parquet")
        self._written, self._waiting = self._written + len(violation), []


def _frame(
    problem: SearchProblem, first: int, genes: FloatArray, objectives: FloatArray, violation: FloatArray
) -> pl.DataFrame:
    genome = problem.genome
    columns: dict[str, NDArray[Any]] = {"evaluation": np.arange(first, first + len(violation))}
    columns |= {o.column: values / o.scale for o, values in zip(problem.objectives, objectives, strict=True)}
    columns |= {"violation": violation}
    kinds = zip(genome.names, genes, genome.categorical, strict=True)
    columns |= {f"gene:{name}": values.astype(np.int64) if whole else values for name, values, whole in kinds}
    return pl.DataFrame(columns)


def recorded(folder: Path) -> pl.LazyFrame:
    """Return every design of a record, in the order in which they were evaluated, to be read as far as it is needed."""
    return pl.scan_parquet(sorted(folder.glob("*.parquet")))


def recorded_genes(frame: pl.DataFrame) -> FloatArray:
    """Return the (g, n) genes of rows of a record."""
    genes = [name for name in frame.columns if name.startswith("gene:")]
    return np.ascontiguousarray(frame.select(genes).cast(pl.Float64).to_numpy().T)
