"""Accelerators whose kernels were not measured: a sentence on them, and the bands of times that they give."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.files.source import Source
from evo_libra.network.catalog.accelerator import ATTENTION, DECODING, Accelerator
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.network.catalog.constants import Constants
from evo_libra.problem.bands import Band, Bands
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.problem.protocol import TIME
from evo_libra.timing.quirks import Quirk
from evo_libra.workload.serving.serving_setup import products_of

if TYPE_CHECKING:
    from evo_libra.problem.problem import Problem


_QUIRK = "class-default"
_NAMES = {DECODING: "decoding", ATTENTION: "attention"}
_OF = {DECODING: "their memory bandwidth in decoding", ATTENTION: "their peak in attention"}
_YEAR = re.compile(r"\b20[0-9]{2}\b")

End = Literal["slow", "fast"]


@dataclass(frozen=True)
class Spread:
    """Constants of kernels of a kind on the chips where they were measured.

    Attributes
    ----------
    slow, fast : by key of a file, those that make kernels the slowest and the fastest.
    chips : their number.
    years : of the oldest and of the newest source.
    """

    slow: Mapping[str, float]
    fast: Mapping[str, float]
    chips: int
    years: tuple[int, int]

    @property
    def shares(self) -> tuple[float, float]:
        """The smallest and the largest share of the peak or of the memory bandwidth that kernels reach."""
        key = next(iter(self.slow))
        return self.slow[key], self.fast[key]


_SHARE_AND_MORE = {DECODING: ("bandwidth", "fixed_us"), ATTENTION: ("plateau", "half_tokens")}
_PRODUCTS = ("plateau", "quantisation")
"""Constants that measurements of kernels give: a share that makes kernels faster, and one that makes them slower."""


_NARROW = frozenset({"fp8", "mxfp8", "mxfp4", "fp4"})
"""Precisions of at most 8 bits, whose products stand for each other where few chips were measured in one of them."""
_FEW = 3
"""Chips below which a spread says little."""


@cache
def measured_spread(kind: str) -> Spread | None:
    """Return the constants of kernels of a kind on the chips of the catalogue where they were measured, if any.

    If these are few and the kind is a precision of at most 8 bits, it is the spread of all such precisions.
    """
    found = _measured_in(kind)
    if kind in _NARROW and 0 < len(found) < _FEW:
        found = [one for precision in sorted(_NARROW) for one in _measured_in(precision)]
    if not found:
        return None
    share, more = _SHARE_AND_MORE.get(kind, _PRODUCTS)
    shares, others = ([getattr(_constants(npu, of), key) for npu, of in found] for key in (share, more))
    years = [int(year) for npu, of in found for year in _YEAR.findall(npu.source_of_kernels(of))]
    slow, fast = {share: min(shares), more: max(others)}, {share: max(shares), more: min(others)}
    return Spread(slow, fast, len({npu.name for npu, _ in found}), (min(years), max(years)))


def _measured_in(kind: str) -> list[tuple[Accelerator, str]]:
    """Return the chips whose kernels of a kind were measured, with the kind."""
    chips = load_accelerators().values()
    return [(npu, kind) for npu in chips if kind in set(npu.kernel_shares()) - {*npu.class_defaults()}]


def _constants(npu: Accelerator, kind: str) -> Constants:
    known: Mapping[str, Constants | None] = {**npu.gemm, DECODING: npu.decode, ATTENTION: npu.attention}
    found = known[kind]
    assert found is not None, "the accelerator has a share of this kind"  # noqa: S101 - internal error
    return found


def default_kernels(npus: Iterable[Accelerator], workloads: Sequence[WorkloadSpec]) -> tuple[Quirk, ...]:
    """Return what to know of the times of accelerators whose kernels have constants of their class; nothing of others.

    Only kinds of kernels count that some workload runs.
    """
    unmeasured = assumed_kernels(npus, workloads)
    if not unmeasured:
        return ()
    each = tuple((name, Quirk(_QUIRK, _sentence({name: its}))) for name, its in unmeasured.items())
    return (Quirk(_QUIRK, _sentence(unmeasured), each=each),)


def _sentence(kinds: Mapping[str, tuple[str, ...]]) -> str:
    """Return what to know of accelerators, from the kinds of kernels of each that were not measured."""
    chips: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, its in kinds.items():
        chips[its].append(name)
    some = "; ".join(f"{', '.join(names)} ({', '.join(map(_name, its))})" for its, names in chips.items())
    every = dict.fromkeys(kind for each in chips for kind in each)
    measured = ", ".join(filter(None, map(_measured, every)))
    return (
        f"no public measurement of kernels: the constants of {some} are the default of their class. Measured chips "
        f"reach {measured}; at these ends are the bands of the times"
    )


def assumed_kernels(npus: Iterable[Accelerator], workloads: Sequence[WorkloadSpec]) -> dict[str, tuple[str, ...]]:
    """Return the kinds of kernels that workloads run and that were not measured, by the name of each accelerator."""
    run = _run(workloads)
    kinds = {npu.name: tuple(kind for kind in npu.class_defaults() if kind in run) for npu in npus}
    return {name: mine for name, mine in kinds.items() if mine}


def _run(workloads: Sequence[WorkloadSpec]) -> Collection[str]:
    """Return the kinds of kernels that workloads run: products in their precisions, attention, and decoding."""
    found: set[str] = set()
    for spec in workloads:
        if spec.training is not None:
            found |= {*_listed(spec.training.precision), ATTENTION}
        if spec.serving is not None:
            found |= {*map(products_of, _listed(spec.serving.weights)), ATTENTION, DECODING}
    return found


def _listed(values: str | tuple[str, ...]) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else values


def _name(kind: str) -> str:
    return _NAMES.get(kind, kind)


def _measured(kind: str) -> str:
    """Return what kernels of a kind reach on the chips of the catalogue where they were measured."""
    if (spread := measured_spread(kind)) is None:
        return ""
    low, high = spread.shares
    return f"{100 * low:.0f} to {100 * high:.0f} % of {_OF.get(kind, f'their peak in {kind}')}"


def at_end(npu: Accelerator, kinds: Collection[str], end: End) -> Accelerator:
    """Return an accelerator with the constants of some kinds of kernels at an end of those of measured chips.

    A constant of its own that is beyond that end stays.
    """
    moved = {kind: _at_end(_constants(npu, kind), kind, end) for kind in kinds}
    gemm = {precision: moved.get(precision, constants) for precision, constants in npu.gemm.items()}
    known = {"gemm": gemm, "decode": moved.get(DECODING, npu.decode), "attention": moved.get(ATTENTION, npu.attention)}
    return replace(npu, **known)  # type: ignore[arg-type]


def _at_end(own: Constants, kind: str, end: End) -> Constants:
    spread = measured_spread(kind)
    if spread is None:
        return own
    share, more = _SHARE_AND_MORE.get(kind, _PRODUCTS)
    worst = end == "slow"
    pick = {share: min, more: max} if worst else {share: max, more: min}
    there = spread.slow if worst else spread.fast
    return own.model_copy(update={key: choose(getattr(own, key), there[key]) for key, choose in pick.items()})


@dataclass(frozen=True)
class KernelBands:
    """Bands of the figures of designs whose accelerator has kernels that were not measured.

    The figures are computed again with all of these kernels as slow, and as fast, as those of measured chips.

    Attributes
    ----------
    source, folder : the problem file.
    npus : the accelerators, by name; `kinds` : of their kernels, those that were not measured.
    load : returns the problem of a file with some accelerators in place of those of the same name.
    """

    source: Source
    folder: Path
    npus: Mapping[str, Accelerator]
    kinds: Mapping[str, tuple[str, ...]]
    load: Callable[[Source, Path, Mapping[str, Accelerator]], Problem]

    def bands(self, problem: Problem, designs: Population) -> list[Bands]:
        """Return the bands of each design; none where its kernels were measured."""
        systems, names = _bought(problem, designs)
        found: list[Bands] = [{} for _ in names]
        mine = [place for place, name in enumerate(names) if name in self.kinds]
        if not mine:
            return found
        texts = problem.notation.written(designs.select(np.array(mine)))
        narrow = _with_systems(self.source, list(dict.fromkeys(systems[place] for place in mine if systems)))
        stated, *ends = (_figures(one, texts) for one in (problem, self._at(narrow, "slow"), self._at(narrow, "fast")))
        for n, place in enumerate(mine):
            factors = {column: [float(end[column][n] / values[n]) for end in ends] for column, values in stated.items()}
            found[place] = self._around(names[place], factors)
        return found

    def _at(self, source: Source, end: End) -> Problem:
        chips = {name: at_end(self.npus[name], kinds, end) for name, kinds in self.kinds.items()}
        return self.load(source, self.folder, chips)

    def _around(self, npu: str, factors: Mapping[str, Sequence[float]]) -> Bands:
        """Return the bands of columns between factors on their figures, where these differ."""
        kinds = self.kinds[npu]
        spreads = [spread for kind in kinds if (spread := measured_spread(kind)) is not None]
        of = f"class default of {npu} ({', '.join(map(_name, kinds))})"
        rows = sum(spread.chips for spread in spreads)
        years = min(spread.years[0] for spread in spreads), max(spread.years[1] for spread in spreads)
        return {
            column: Band(low_factor=min(1.0, *both), high_factor=max(1.0, *both), of=of, rows=rows, years=years)
            for column, both in factors.items()
            if max(both) - min(both) > _NOTHING
        }


_NOTHING = 1e-9
"""Difference of factors that is rounding."""


def _bought(problem: Problem, designs: Population) -> tuple[list[str], list[str]]:
    """Return the system of each order, none of designs, and the accelerator of each of both."""
    if problem.book is None:
        return [], problem.sources.npu.named(designs.technology)
    systems = [problem.book.orders[place].system for place in problem.book.place(designs).tolist()]
    return systems, [problem.book.products.systems[name].npu for name in systems]


def _with_systems(source: Source, systems: list[str]) -> Source:
    """Return a file that asks for some systems alone; one that asks for designs as it is."""
    if not systems or not isinstance(source.data, dict):
        return source
    return replace(source, data={**source.data, "systems": systems})


def _figures(problem: Problem, texts: Sequence[str]) -> dict[str, FloatArray]:
    """Return (n,) seconds of an iteration and values of the objectives of designs, by column."""
    designs = problem.read(texts)
    values = problem.evaluate(designs).objectives
    objectives = {one.column: each for one, each in zip(problem.objectives, values, strict=True)}
    return {TIME.column: problem.measure(designs).time, **objectives}
