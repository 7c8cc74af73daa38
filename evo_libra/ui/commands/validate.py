"""The command `validate`: computed figures next to published and measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.ui.commands.shared import Flag, Json, app
from evo_libra.ui.tables.output import FIGURES, new_console, print, print_json, print_styled

if TYPE_CHECKING:
    from evo_libra.pictures.plots.series import Series
    from evo_libra.validation.classes import ClassErrors
    from evo_libra.validation.fit import Constant, Refit
    from evo_libra.validation.source import Errors, PublishedRow, PublishedSource

    Computed = Mapping[PublishedSource, Sequence[PublishedRow]]

_LABELS = ("published, in the unit of its source", "computed")


@app.command
def validate(
    *,
    group: Annotated[
        tuple[str, ...], Parameter(negative="", help="Only this group or source; may be repeated.", show_default=False)
    ] = (),
    rows: Flag = False,
    plot: Path | None = None,
    refit: Flag = False,
    as_json: Json = False,
) -> int:
    """Compare what this program computes with what others have published or measured.

    Parameters
    ----------
    rows:
        Print each row, too: the published and the computed figure and the error. JSON has them always.
    plot:
        Draw the computed figures over the published ones to this file: .png, .pdf or .svg.
    refit:
        Fit the constants of training steps and serving again on the public rows, and say how far they move.
    """
    from evo_libra.pictures.plots.scatter import terminal_parity
    from evo_libra.ui.tables.validation import show_validation
    from evo_libra.validation.sources import chosen

    if plot is not None and plot.suffix.lower() not in FIGURES:
        raise InputError(f"--plot: found {plot}; allowed endings: {', '.join(FIGURES)}")
    computed = {source: tuple(source.rows()) for source in chosen(group)}
    if plot is not None:
        _draw(computed, plot)
    fitted = _refit() if refit else None
    if as_json:
        print_json(_json(computed, fitted))
    else:
        print_styled(terminal_parity(_series(computed), *_LABELS, new_console()))
        show_validation(computed, fitted, each=rows)
        if plot is not None:
            print(f"plot   {plot}")
    return 0


def _refit() -> Refit:
    from evo_libra.validation.fit import refit

    return refit()


# JSON.


def _json(computed: Computed, fitted: Refit | None) -> dict[str, Any]:
    from evo_libra.ui.tables.validation import fitted_figures
    from evo_libra.validation.classes import by_class
    from evo_libra.validation.sources import NOT_MODELLED

    constants, software = fitted_figures()
    found = {
        "classes": [_class_json(one) for one in by_class(computed)],
        "sources": [_source_json(source, rows) for source, rows in computed.items()],
        "constants": constants,
        "software": software,
        "not_modelled": list(NOT_MODELLED),
    }
    return found if fitted is None else {**found, "refit": _refit_json(fitted)}


def _source_json(source: PublishedSource, rows: Sequence[PublishedRow]) -> dict[str, Any]:
    from evo_libra.validation.source import errors_of

    about = {key: getattr(source, key) for key in ("name", "group", "title", "anchor", "note")}
    return {
        **about,
        "basis": source.basis.value,
        **_errors_json(errors_of(rows)),
        "rows": [_row_json(row) for row in rows],
    }


def _errors_json(errors: Errors) -> dict[str, Any]:
    percents = {"mean": errors.mean, "max": errors.maximum, "bias": errors.bias}
    return {"count": errors.count, **{f"{name}_percent": 100.0 * value for name, value in percents.items()}}


def _class_json(one: ClassErrors) -> dict[str, Any]:
    return {
        **asdict(one.of), "figure": one.figure, "years": list(one.years), **_errors_json(one.errors),
        "measured_over_computed": None if one.band is None else list(one.band),
        "bases": [basis.value for basis in one.bases],
    }  # fmt: skip


def _row_json(row: PublishedRow) -> dict[str, Any]:
    plain = {key: getattr(row, key) for key in ("id", "published", "ours", "unit")}
    return {**plain, "error_percent": 100.0 * row.error}


def _refit_json(fitted: Refit) -> dict[str, Any]:
    return {
        "constants": [_constant_json(one) for one in fitted.constants],
        "software": [_constant_json(one) for one in fitted.software],
        "halves": [{"tested": half.tested, **_errors_json(half.errors)} for half in fitted.halves],
        "serving": [_constant_json(one) for one in fitted.serving],
        "unseen": [{"tested": half.tested, **_errors_json(half.errors)} for half in fitted.unseen],
    }


def _constant_json(one: Constant) -> dict[str, Any]:
    return {**asdict(one), "moved_percent": 100.0 * one.moved}


# Plots.


def _series(computed: Computed) -> list[Series]:
    """Return the points of each group, the largest first: published figures across, computed ones up.

    Groups beyond those that marks can tell apart are one.
    """
    import numpy as np

    from evo_libra.pictures.plots.axes import MAX_SERIES
    from evo_libra.pictures.plots.series import Series

    pairs: dict[str, list[tuple[float, float]]] = {}
    for source, rows in computed.items():
        # Logarithmic axes have no place for 0.
        found = [(row.published, row.ours) for row in rows if min(row.published, row.ours) > 0]
        pairs.setdefault(source.group, []).extend(found)
    # Few points lie over many. One mark is that of the line.
    largest = sorted(pairs, key=lambda group: -len(pairs[group]))
    marked, others = largest[: MAX_SERIES - 2], largest[MAX_SERIES - 2 :]
    if others:
        pairs["others"] = [pair for group in others for pair in pairs[group]]
        marked.append("others")
    points = {group: np.array(pairs[group]).reshape(-1, 2).T for group in marked}
    return [Series(across, up, group) for group, (across, up) in points.items()]


def _draw(computed: Computed, path: Path) -> None:
    from evo_libra.pictures.plots.figure import parity_figure
    from evo_libra.pictures.plots.scatter import line_of

    series = _series(computed)
    x_label, y_label = _LABELS
    try:
        parity_figure(series, line_of(series), x_label=x_label, y_label=y_label, title="", path=path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None
