"""The command `validate`: computed figures next to published and measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.quantities import number
from evo_libra.ui.commands.shared import Flag, Json, app
from evo_libra.ui.tables.output import FIGURES, new_console, print, print_folded, print_json, print_styled, print_table

if TYPE_CHECKING:
    from evo_libra.pictures.plots.series import Series
    from evo_libra.validation.fit import Constant, Refit
    from evo_libra.validation.source import Errors, PublishedRow, PublishedSource

    Computed = Mapping[PublishedSource, Sequence[PublishedRow]]

_LABELS = ("published, in the unit of its source", "computed")
_ERRORS = ("rows", "mean %", "max %", "bias %")


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
        _show(computed, fitted, each=rows)
        if plot is not None:
            print(f"plot   {plot}")
    return 0


def _refit() -> Refit:
    from evo_libra.validation.fit import refit

    return refit()


# JSON.


def _json(computed: Computed, fitted: Refit | None) -> dict[str, Any]:
    from evo_libra.validation.sources import NOT_MODELLED

    constants, software = fitted_figures()
    found = {
        "sources": [_source_json(source, rows) for source, rows in computed.items()],
        "constants": constants,
        "software": software,
        "not_modelled": list(NOT_MODELLED),
    }
    return found if fitted is None else {**found, "refit": _refit_json(fitted)}


def _source_json(source: PublishedSource, rows: Sequence[PublishedRow]) -> dict[str, Any]:
    from evo_libra.validation.source import errors_of

    about = {key: getattr(source, key) for key in ("name", "group", "title", "anchor", "note")}
    return {**about, **_errors_json(errors_of(rows)), "rows": [_row_json(row) for row in rows]}


def _errors_json(errors: Errors) -> dict[str, Any]:
    percents = {"mean": errors.mean, "max": errors.maximum, "bias": errors.bias}
    return {"count": errors.count, **{f"{name}_percent": 100.0 * value for name, value in percents.items()}}


def _row_json(row: PublishedRow) -> dict[str, Any]:
    return {**asdict(row), "error_percent": 100.0 * row.error}


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


def fitted_figures() -> tuple[dict[str, float], dict[str, float]]:
    """Return the fitted constants of a training step, and what is fitted of each software."""
    from evo_libra.validation.fit import FITTED
    from evo_libra.workload.models.stacks import STACKS
    from evo_libra.workload.training.training_setup import GEMM_OF_ISOLATED, MEMORY_OF_PEAK

    pairs = ((name, field) for name, fields in FITTED.items() for field in fields)
    software = {f"{name} {field}": getattr(STACKS[name], field) for name, field in pairs}
    return {"GEMM_OF_ISOLATED": GEMM_OF_ISOLATED, "MEMORY_OF_PEAK": MEMORY_OF_PEAK}, software


# Tables.


def _show(computed: Computed, fitted: Refit | None, *, each: bool) -> None:
    from evo_libra.pictures.plots.scatter import terminal_parity

    print_styled(terminal_parity(_series(computed), *_LABELS, new_console()))
    _show_sources(computed)
    for source, rows in computed.items() if each else ():
        _show_rows(source, rows)
    if fitted is not None:
        _show_refit(fitted)
    print_folded(*notes())


def _show_sources(computed: Computed) -> None:
    print_table(
        "error of what is computed, by group and source",
        ("source", *_ERRORS, "error of others"),
        _lines(computed),
        left=("source",),
        fold=("error of others",),
    )
    print("what the sources are")
    for source in computed:
        print_folded(f"{source.name}: {meaning(source)}")


def _lines(computed: Computed) -> list[Sequence[str] | None]:
    """Return a line per source, under a line with the name of its group."""
    from evo_libra.validation.sources import groups_of

    found: list[Sequence[str] | None] = []
    for group in groups_of(list(computed)):
        found += [None, (group, *[""] * len(_ERRORS), "")]
        members = [source for source in computed if source.group == group]
        found += [(f"  {source.name}", *error_cells(computed[source]), source.anchor) for source in members]
    return found[1:]


def error_cells(rows: Sequence[PublishedRow]) -> tuple[str, ...]:
    """Return the number of rows and their errors in percent, for reading."""
    from evo_libra.validation.source import errors_of

    return _cells(errors_of(rows))


def _cells(errors: Errors) -> tuple[str, ...]:
    bias = f"{100 * errors.bias:+.2f}"
    sizes = (f"{100 * value:.2f}" for value in (errors.mean, errors.maximum))
    return (str(errors.count), *sizes, "0.00" if bias in ("+0.00", "-0.00") else bias)


def meaning(source: PublishedSource) -> str:
    """Return what a source is, and what its comparison assumes."""
    return f"{source.title} ({source.note})" if source.note else source.title


def _show_rows(source: PublishedSource, rows: Sequence[PublishedRow]) -> None:
    print_table(
        f"{source.name}: {source.title}",
        ("row", "published", "computed", "unit", "error %"),
        [(row.id, number(row.published), number(row.ours), row.unit, f"{100 * row.error:+.2f}") for row in rows],
        left=("unit",),
        fold=("row",),
    )


def _show_refit(fitted: Refit) -> None:
    print_table(
        "fitted again on the public rows",
        ("constant", "now", "fitted", "moves %"),
        [
            (one.name, f"{one.value:.4g}", f"{one.fitted:.4g}", f"{100 * one.moved:+.2f}")
            for one in (*fitted.constants, *fitted.software, *fitted.serving)
        ],
        left=("constant",),
    )
    print_table(
        "fitted on one half of the rows, tested on the other",
        ("tested", *_ERRORS),
        [(f"{half.tested} rows", *_cells(half.errors)) for half in fitted.halves],
        left=("tested",),
    )
    print_table(
        "serving: fitted on the other models or accelerators, tested on these",
        ("tested", *_ERRORS),
        [(f"{half.tested} rows", *_cells(half.errors)) for half in fitted.unseen],
        left=("tested",),
    )


def notes() -> tuple[str, ...]:
    """Return what the figures rest on, a sentence each."""
    from evo_libra.validation.sources import NOT_MODELLED
    from evo_libra.workload.serving.stacks import HOP, LAYER

    constants, software = (", ".join(f"{name} {value:g}" for name, value in one.items()) for one in fitted_figures())
    serving = f"LAYER {LAYER * 1e6:g} us, HOP {HOP * 1e6:g} us"
    return (
        f"Two constants of a training step are fitted to published rows: {constants}.",
        f"Fitted for each software to its own rows: {software}; all other software takes the defaults.",
        f"Two constants of serving are fitted to the 22 rows of Llama 2: {serving}.",
        f"Not modelled: {' '.join(NOT_MODELLED)}",
    )


# Plots.


def _series(computed: Computed) -> list[Series]:
    """Return the points of each group, the largest first: published figures across, computed ones up."""
    import numpy as np

    from evo_libra.pictures.plots.series import Series
    from evo_libra.validation.sources import groups_of

    found = []
    for group in groups_of(list(computed)):
        pairs = [(row.published, row.ours) for source in computed if source.group == group for row in computed[source]]
        # Logarithmic axes have no place for 0.
        across, up = np.array([pair for pair in pairs if min(pair) > 0]).reshape(-1, 2).T
        found.append(Series(across, up, group))
    # Few points lie over many.
    return sorted(found, key=lambda one: -one.x.size)


def _draw(computed: Computed, path: Path) -> None:
    from evo_libra.pictures.plots.figure import parity_figure
    from evo_libra.pictures.plots.scatter import line_of

    series = _series(computed)
    x_label, y_label = _LABELS
    try:
        parity_figure(series, line_of(series), x_label=x_label, y_label=y_label, title="", path=path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None
