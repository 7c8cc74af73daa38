"""Fronts to files: figures, tables and text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.experiment.run.record import plain_name
from evo_libra.ui.plots.canvas import ASCII, UNICODE
from evo_libra.ui.terminal.plot_view import Picture
from evo_libra.ui.terminal.scatter_drawing import draw

if TYPE_CHECKING:
    import polars as pl

    from evo_libra.front.front import Front

FIGURES, TABLES, TEXT = (".png", ".pdf", ".svg"), (".csv", ".json", ".parquet"), (".txt",)
_WIDTH, _HEIGHT = 110, 36


def default_path(name: str) -> str:
    """Return the file that is offered for a run."""
    return f"{plain_name(name)}.png"


def export(path: Path, picture: Picture, fronts: Sequence[tuple[str, Front]], *, ascii_only: bool = False) -> str:
    """Write what is shown to a file, and return a sentence; the ending of the path chooses the format.

    Endings of `FIGURES` get a figure of the picture, those of `TABLES` the designs, .txt the plot as text.

    Raises
    ------
    InputError : another ending, nothing to export, or the file cannot be written.
    """
    if path.suffix.lower() not in (*FIGURES, *TABLES, *TEXT):
        allowed = ", ".join((*FIGURES, *TABLES, *TEXT))
        raise InputError(f"cannot export to '{path.name}'; allowed endings: {allowed}")
    if not fronts:
        raise InputError("there is no front to export yet")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() in FIGURES:
            _figure(path, picture)
        elif path.suffix.lower() in TABLES:
            _table(path, fronts)
        else:
            glyphs = ASCII if ascii_only else UNICODE
            path.write_text(draw(picture, _WIDTH, _HEIGHT, glyphs, colour=False).plain() + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None
    return f"wrote {path}"


def _figure(path: Path, picture: Picture) -> None:
    from evo_libra.ui.plots.figure import front_figure  # noqa: PLC0415 - Matplotlib takes a third of a second

    front_figure(
        picture.fronts, x_label=picture.x_label, y_label=picture.y_label, title="",
        log_x=picture.x.log, log_y=picture.y.log, path=path,
    )  # fmt: skip


def _table(path: Path, fronts: Sequence[tuple[str, Front]]) -> None:
    table = _joined(fronts)
    if path.suffix.lower() == ".csv":
        table.write_csv(path)
    elif path.suffix.lower() == ".parquet":
        table.write_parquet(path)
    else:
        path.write_text(json.dumps(table.to_dicts(), indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _joined(fronts: Sequence[tuple[str, Front]]) -> pl.DataFrame:
    import polars as pl  # noqa: PLC0415 - fronts are there already, and so is Polars

    if len(fronts) == 1:
        return fronts[0][1].frame
    named = [front.frame.select(pl.lit(name).alias("run"), pl.all()) for name, front in fronts]
    return pl.concat(named, how="diagonal_relaxed")
