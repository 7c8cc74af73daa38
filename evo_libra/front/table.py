"""Tables as Parquet files that carry the checksum of all their bytes in their metadata."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import polars as pl

from evo_libra.errors import InputError
from evo_libra.files.integrity import BLANK, CHECKSUM, DamagedError, check_table, read_bytes, seal_table


def write_table(target: Path | BinaryIO, frame: pl.DataFrame, metadata: Mapping[str, str] | None = None) -> None:
    """Write a table to a path or to an open file; the same table gives the same bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", metadata={**(metadata or {}), CHECKSUM: BLANK})
    raw = seal_table(buffer.getvalue())
    if isinstance(target, Path):
        target.write_bytes(raw)
    else:
        target.write(raw)


def read_table(path: Path) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """Return a table and its metadata.

    Raises
    ------
    InputError : there is none; `DamagedError` as for `parse_table`.
    """
    raw = read_bytes(path)
    if raw is None:
        raise InputError(f"{path} cannot be read: no such file or directory")
    return parse_table(path, raw)


def parse_table(path: Path, raw: bytes) -> tuple[pl.DataFrame, Mapping[str, str]]:
    """Return the table and the metadata that the bytes of a file hold.

    Raises
    ------
    DamagedError : `write_table` did not write them so.
    """
    check_table(path, raw)
    try:
        return pl.read_parquet(io.BytesIO(raw)), pl.read_parquet_metadata(io.BytesIO(raw))
    except pl.exceptions.PolarsError:
        raise DamagedError(f"{path} is no Parquet file") from None
