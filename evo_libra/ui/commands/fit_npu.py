"""Kernel constants of an accelerator, from tables of measured kernels."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.errors import InputError, Mistake
from evo_libra.ui.commands.shared import Json, app
from evo_libra.ui.tables.output import print, print_file, print_json, print_table

if TYPE_CHECKING:
    from evo_libra.exchange.kernel_tables import KernelTable
    from evo_libra.validation.kernel_fit import KernelFit

_MOST_BYTES = 500_000_000


@app.command
def fit_npu(*tables: Path, npu: str, as_json: Json = False) -> int:
    """Fit kernel constants of an accelerator to tables of measured kernels, for `npu` of a problem file.

    Parameters
    ----------
    tables:
        Tables of aiconfigurator, such as gemm_perf.parquet, or some with their columns, as Parquet or with commas.
    npu:
        Accelerator of the catalogue whose peak rates, memory and ports hold.
    """
    from evo_libra.exchange.kernel_tables import read_kernel_table
    from evo_libra.network.catalog.accelerators import accelerator
    from evo_libra.validation.kernel_fit import fit_kernels

    if not tables:
        raise InputError("files are needed: TABLES of measured kernels, such as gemm_perf.parquet")
    base = accelerator(npu)
    found = {path: read_kernel_table(_read(path), str(path)) for path in tables}
    fits = fit_kernels(base, list(found.values()))
    devices = sorted({device for table in found.values() for device in table.devices})
    entry = _entry(npu, fits, [*(path.name for path in tables), *devices])
    if as_json:
        left = {str(path): dict(table.left) for path, table in found.items() if table.left}
        print_json({"npu": entry, "fits": [asdict(fit) for fit in fits], "left_out": left})
        return 0
    print_file(_text(entry))
    _show(fits, found)
    return 0


def _read(path: Path) -> str:
    """Return a table with commas, also of a Parquet file."""
    from evo_libra.files.source import read_text

    if path.suffix != ".parquet":
        return read_text(path, _MOST_BYTES)
    import polars as pl

    try:
        return pl.read_parquet(path).write_csv()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(Mistake(f"is no table in Parquet: {str(error).splitlines()[0]}", str(path))) from None


def _entry(npu: str, fits: Sequence[KernelFit], sources: Sequence[str]) -> dict[str, Any]:
    """Return the accelerator as a problem file writes it; its sources are the tables and what they were measured on."""
    found: dict[str, Any] = {"base": npu}
    for fit in fits:
        group, _, name = fit.key.partition(".")
        found.setdefault(group, {})[name] = dict(fit.constants)
    return {**found, "source": f"fitted to {', '.join(sources)}, {datetime.now(UTC).year}"}


def _text(entry: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML

    stream, yaml = io.StringIO(), YAML()
    yaml.default_flow_style = None
    yaml.width = 120
    yaml.dump({"npu": entry}, stream)
    return stream.getvalue()


def _show(fits: Sequence[KernelFit], tables: Mapping[Path, KernelTable]) -> None:
    columns = ("constants", "rows", "median", "90 % below", "largest")
    rows = [
        [fit.key, f"{fit.rows:,}", *(f"{100 * one:.1f}" for one in (fit.median, fit.percentile_90, fit.maximum))]
        for fit in fits
    ]
    print_table("error of rows that a fit to every other row has not seen [%]", columns, rows, left=("constants",))
    for path, table in tables.items():
        for what, count in table.left.items():
            print(f"left out of {path}: {count:,} rows of {what}")
