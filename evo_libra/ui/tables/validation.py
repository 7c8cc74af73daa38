"""Tables of `validate`: errors by what is bought and by source, and what the figures rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from evo_libra.quantities import number
from evo_libra.ui.tables.output import print, print_folded, print_table

if TYPE_CHECKING:
    from evo_libra.validation.classes import ClassErrors
    from evo_libra.validation.fit import Refit
    from evo_libra.validation.source import Errors, PublishedRow, PublishedSource

    Computed = Mapping[PublishedSource, Sequence[PublishedRow]]

_ERRORS = ("rows", "mean %", "max %", "bias %")


def show_validation(computed: Computed, fitted: Refit | None, *, each: bool) -> None:
    """Print the errors by what is bought, then by source, and what they rest on.

    Parameters
    ----------
    each : print each row, too.
    """
    _show_classes(computed)
    _show_sources(computed)
    for source, rows in computed.items() if each else ():
        _show_rows(source, rows)
    if fitted is not None:
        _show_refit(fitted)
    print_folded(*notes())


def _show_classes(computed: Computed) -> None:
    from evo_libra.validation.classes import by_class

    if classes := by_class(computed):
        print_table(
            "error of steps, memory and requests, by what is bought",
            CLASS_COLUMNS,
            [class_cells(one) for one in classes],
            left=("what is bought", "constants"),
            fold=("what is bought",),
        )


CLASS_COLUMNS = ("what is bought", "rows", "years", "mean %", "bias %", "measured /\ncomputed", "constants")


def class_cells(found: ClassErrors) -> tuple[str, ...]:
    """Return the errors of a class, for reading; see `CLASS_COLUMNS`."""
    first, last = found.years
    errors = _cells(found.errors)
    return (
        found.title, errors[0], f"{first}" if first == last else f"{first}-{last % 100:02}", errors[1], errors[3],
        "-" if found.band is None else f"{found.band[0]:.2f}-{found.band[1]:.2f}",
        "both" if len(found.bases) > 1 else found.bases[0].value,
    )  # fmt: skip


def offset_cells() -> list[list[str]]:
    """Return the factors by which bands are wider where a class stands for another one, of each figure, for reading."""
    from evo_libra.problem.measured import ASPECTS, offsets

    return [
        [f"{one.figure} of {'serving' if one.served else 'training'}", *(
            f"{one.factors[aspect]:.2f}{'*' if aspect in one.without_pairs else ''}" for aspect in ASPECTS
        )]
        for one in offsets()
    ]  # fmt: skip


def _show_sources(computed: Computed) -> None:
    print_table(
        "error of what is computed, by group and source",
        ("source", *_ERRORS, "constants"),
        _lines(computed),
        left=("source", "constants"),
    )
    print("what the sources are")
    for source in computed:
        others = f"; error of others: {source.anchor}" if source.anchor else ""
        print_folded(f"{source.name}: {meaning(source)}{others}")


def _lines(computed: Computed) -> list[Sequence[str] | None]:
    """Return a line per source, under a line with the name of its section."""
    found: list[Sequence[str] | None] = []
    for name, members in sections_of(computed).items():
        found += [None, (name, *[""] * (len(_ERRORS) + 1))]
        found += [(f"  {one.name}", *error_cells(computed[one]), basis_of(one)) for one in members]
    return found[1:]


def sections_of(sources: Iterable[PublishedSource]) -> dict[str, list[PublishedSource]]:
    """Return the sources of each section: a group's, and at the end those whose equations the program takes over."""
    from evo_libra.validation.source import Basis

    found: dict[str, list[PublishedSource]] = {}
    for source in sorted(sources, key=lambda one: one.basis is Basis.EQUATIONS):
        name = Basis.EQUATIONS.value if source.basis is Basis.EQUATIONS else source.group
        found.setdefault(name, []).append(source)
    return found


def basis_of(source: PublishedSource) -> str:
    """Return whether constants were fitted to the rows of a source."""
    from evo_libra.validation.source import Basis

    return "" if source.basis is Basis.EQUATIONS else source.basis.value


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
    from evo_libra.network.catalog.collective_latency import IN_SERVICE
    from evo_libra.validation.sources import NOT_MODELLED
    from evo_libra.workload.serving.stacks import LAYER

    constants, software = (", ".join(f"{name} {value:g}" for name, value in one.items()) for one in fitted_figures())
    serving = f"LAYER {LAYER * 1e6:g} us, IN_SERVICE {IN_SERVICE:g}"
    return (
        f"Two constants of a training step are fitted to published rows: {constants}.",
        f"Fitted for each software to its own rows: {software}; all other software takes the defaults.",
        f"Two constants of serving were fitted one after the other to rows of 2023 and 2025: {serving}.",
        f"Not modelled: {' '.join(NOT_MODELLED)}",
    )


def fitted_figures() -> tuple[dict[str, float], dict[str, float]]:
    """Return the fitted constants of a training step, and what is fitted of each software."""
    from evo_libra.validation.fit import FITTED
    from evo_libra.workload.models.stacks import STACKS
    from evo_libra.workload.training.training_setup import GEMM_OF_ISOLATED, MEMORY_OF_PEAK

    pairs = ((name, field) for name, fields in FITTED.items() for field in fields)
    software = {f"{name} {field}": getattr(STACKS[name], field) for name, field in pairs}
    return {"GEMM_OF_ISOLATED": GEMM_OF_ISOLATED, "MEMORY_OF_PEAK": MEMORY_OF_PEAK}, software
