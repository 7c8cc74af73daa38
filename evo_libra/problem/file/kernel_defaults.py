"""Accelerators whose kernels were not measured: a sentence on them, and the bands of times that they give."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import FloatArray, Population
from evo_libra.files.source import Source
from evo_libra.network.catalog.accelerator import ATTENTION, DECODING, Accelerator
from evo_libra.problem.bands import Band, Bands
from evo_libra.problem.file.kernel_spread import Assumed, End, assumed_kernels, at_end
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.problem.protocol import TIME
from evo_libra.timing.quirks import Quirk

if TYPE_CHECKING:
    from evo_libra.problem.problem import Problem


_QUIRK = "class-default"
_PARTS = {"quantisation": "bytes for each element that is quantised", "half_tokens": "tokens at half of the rate"}
_OF = {DECODING: "their memory bandwidth in decoding", ATTENTION: "their peak in attention"}


def default_kernels(npus: Iterable[Accelerator], workloads: Sequence[WorkloadSpec]) -> tuple[Quirk, ...]:
    """Return what to know of the times of accelerators whose kernels have constants of their class; nothing of others.

    Only kinds of kernels count that some workload runs.
    """
    unmeasured = assumed_kernels(npus, workloads)
    if not unmeasured:
        return ()
    each = tuple((name, Quirk(_QUIRK, _sentence({name: its}))) for name, its in unmeasured.items())
    return (Quirk(_QUIRK, _sentence(unmeasured), each=each),)


def _sentence(kinds: Mapping[str, tuple[Assumed, ...]]) -> str:
    """Return what to know of accelerators, from the kernels of each that were not measured, or that nothing tries."""
    defaults, unchecked = (_grouped(kinds, unchecked=which) for which in (False, True))
    clauses = [f"no public measurement of kernels: the constants of {defaults} are the default of their class"]
    tried = f"no row that their fit has not seen: the constants of {unchecked} are those of one measurement"
    clauses = [*(clauses if defaults else []), *([tried] if unchecked else [])]
    every = dict.fromkeys(one for its in kinds.values() for one in its)
    shares, parts = (dict.fromkeys(_measured(one) for one in every if bool(one.part) == part) for part in (False, True))
    measured = [f"{verb} {', '.join(texts)}" for verb, texts in (("reach", shares), ("have", parts)) if texts]
    return f"{'; '.join(clauses)}. Measured chips {'; they '.join(measured)}; at these ends are the bands of the times"


def _grouped(kinds: Mapping[str, tuple[Assumed, ...]], *, unchecked: bool) -> str:
    """Return accelerators with their kinds of kernels, those with the same kinds together."""
    chips: defaultdict[tuple[Assumed, ...], list[str]] = defaultdict(list)
    for name, its in kinds.items():
        if mine := tuple(one for one in its if one.unchecked == unchecked):
            chips[mine].append(name)
    return "; ".join(f"{', '.join(names)} ({_named(its)})" for its, names in chips.items())


def _named(kinds: Sequence[Assumed]) -> str:
    """Return kinds of kernels, and the measured chips whose constants they have where an entry has none."""
    lenders = dict.fromkeys(one.lender for one in kinds if one.lender)
    return ", ".join([*map(str, kinds), *(f"those of the {lender}" for lender in lenders)])


def _measured(one: Assumed) -> str:
    """Return what kernels of a kind reach, or move, on the chips of the catalogue where they were measured."""
    spread = one.spread
    assert spread is not None, "some chip was measured in each kind"  # noqa: S101 - internal error
    if one.part:
        key = _PARTS.get(one.part, one.part)
        return f"{spread.fast[one.part]:g} to {spread.slow[one.part]:g} {key} ({one.kind})"
    low, high = spread.shares
    of = "their peaks in all precisions" if one.near else _OF.get(one.kind, f"their peak in {one.kind}")
    return f"{100 * low:.0f} to {100 * high:.0f} % of {of}"


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
    kinds: Mapping[str, tuple[Assumed, ...]]
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
        spreads = [spread for one in kinds if (spread := one.spread) is not None]
        of = _of_class(npu, kinds)
        rows = sum(spread.chips for spread in spreads)
        years = min(spread.years[0] for spread in spreads), max(spread.years[1] for spread in spreads)
        return {
            column: Band(low_factor=min(1.0, *both), high_factor=max(1.0, *both), of=of, rows=rows, years=years)
            for column, both in factors.items()
            if max(both) - min(both) > _NOTHING
        }


def _of_class(npu: str, kinds: Sequence[Assumed]) -> str:
    """Return the class that the band of an accelerator is from."""
    defaults, tried = ([str(one) for one in kinds if one.unchecked == which] for which in (False, True))
    words = [f"class default of {npu} ({', '.join(defaults)})"] if defaults else []
    return " and ".join([*words, *([f"one measurement of {npu} ({', '.join(tried)})"] if tried else [])])


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
