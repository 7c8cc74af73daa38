"""Constants of kernels that were not measured on an accelerator, and those of the chips where they were measured."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from evo_libra.network.catalog.accelerator import ATTENTION, CLASS_DEFAULT, DECODING, Accelerator, covering_key
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.network.catalog.constants import Constants
from evo_libra.network.catalog.kernel_classes import NEAREST, lender_of
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.workload.serving.serving_setup import products_of

_NAMES = {DECODING: "decoding", ATTENTION: "attention"}
_YEAR = re.compile(r"\b20[0-9]{2}\b")

End = Literal["slow", "fast"]


@dataclass(frozen=True)
class Assumed:
    """Constants of kernels of an accelerator that were not measured on it, or that nothing has tried.

    Attributes
    ----------
    kind : of the kernels; `part` : the one constant that was not measured, all of them when empty.
    near : whether they are those of another precision.
    unchecked : whether they were measured, and no row tries them that their fit has not seen.
    lender : the measured chip whose constants they are, and why it stands in; empty where the catalogue says whose.
    """

    kind: str
    part: str = ""
    near: bool = False
    unchecked: bool = False
    lender: str = ""

    def __str__(self) -> str:
        """Return the kind as people name it, with its part, and with what stands in for it."""
        named = _NAMES.get(self.kind, self.kind)
        return f"{named} {self.part}" if self.part else f"{named} by its nearest precision" if self.near else named

    @property
    def spread(self) -> Spread | None:
        """The constants of measured chips."""
        return measured_spread(self.kind, near=self.near)


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
_QUANTISATION = "quantisation"
"""Bytes that training moves to quantise an input; software that answers fuses it with the kernel before."""
_PRODUCTS = ("plateau", _QUANTISATION)
"""Constants that measurements of kernels give: a share that makes kernels faster, and one that makes them slower."""


_NARROW = frozenset({"fp8", "mxfp8", "mxfp4", "fp4"})
"""Precisions of at most 8 bits, whose products stand for each other where few chips were measured in one of them."""
_FEW = 3
"""Chips below which a spread says little."""


@cache
def measured_spread(kind: str, *, near: bool = False) -> Spread | None:
    """Return the constants of kernels of a kind on the chips of the catalogue where they were measured, if any.

    If these are few and the kind is a precision of at most 8 bits, it is the spread of all such precisions. Constants
    that are those of a near precision have the spread of all precisions.
    """
    found = _measured_in(kind)
    if near or (kind in _NARROW | {"int8"} and len(found) < _FEW):
        precisions = _NARROW | {kind} | ({"bf16", "int8"} if near else set())
        found = [one for precision in sorted(precisions) for one in _measured_in(precision)]
    if not found:
        return None
    share, more = _SHARE_AND_MORE.get(kind, _PRODUCTS)
    shares = [getattr(_constants(npu, of), share) for npu, of in found]
    others = [getattr(_constants(npu, of), more) for npu, of in found if f"{of}.{more}" not in npu.class_defaults()]
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


def assumed_kernels(npus: Iterable[Accelerator], workloads: Sequence[WorkloadSpec]) -> dict[str, tuple[Assumed, ...]]:
    """Return the kernels that workloads run and that were not measured, or not tried, by the accelerator's name."""
    run = _run(workloads)
    unused = () if any(spec.training is not None for spec in workloads) else (_QUANTISATION,)
    kinds = {
        npu.name: tuple(one for one in assumed_of(npu) if one.kind in run and one.part not in unused) for npu in npus
    }
    return {name: mine for name, mine in kinds.items() if mine}


def assumed_of(npu: Accelerator) -> Iterator[Assumed]:
    """Yield the constants of an accelerator that a spread of measured chips holds, and no measurement of its own."""
    for key in npu.class_defaults():
        kind, _, part = key.partition(".")
        if not part or part in _SHARE_AND_MORE.get(kind, _PRODUCTS):
            source = npu.source_of_kernels(kind)
            near = not part and source.startswith(NEAREST)
            yield Assumed(kind, part, near=near, lender="" if part else lender_of(source))
    for kind in npu.unchecked_kernels():
        yield Assumed(kind, unchecked=True)


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


def at_end(npu: Accelerator, kinds: Collection[Assumed], end: End) -> Accelerator:
    """Return an accelerator with the constants of some kinds of kernels at an end of those of measured chips.

    A constant of its own that is beyond that end stays.
    """
    moved: dict[str, Constants] = {}
    for one in kinds:
        moved[one.kind] = _at_end(moved.get(one.kind) or _constants(npu, one.kind), one, end)
    gemm = {precision: moved.get(precision, constants) for precision, constants in npu.gemm.items()}
    known = {"gemm": gemm, "decode": moved.get(DECODING, npu.decode), "attention": moved.get(ATTENTION, npu.attention)}
    return replace(npu, peak=_peaks(npu, end), **known)  # type: ignore[arg-type]


def _at_end(own: Constants, one: Assumed, end: End) -> Constants:
    spread = one.spread
    if spread is None:
        return own
    share, more = _SHARE_AND_MORE.get(one.kind, _PRODUCTS)
    worst = end == "slow"
    pick = {share: min, more: max} if worst else {share: max, more: min}
    there = spread.slow if worst else spread.fast
    keys = (one.part,) if one.part else (share, more)
    return own.model_copy(update={key: pick[key](getattr(own, key), there[key]) for key in keys})


def _peaks(npu: Accelerator, end: End) -> Mapping[str, float]:
    """Return the peaks of an accelerator; one in bf16 that is a class default is at an end of the ratios to fp8's."""
    key = covering_key("peak_TFLOPS.bf16", npu.sources)
    if "bf16" not in npu.peak or key is None or not npu.sources[key].startswith(CLASS_DEFAULT):
        return npu.peak
    ratios = [chip.peak["bf16"] / chip.peak["fp8"] for chip in load_accelerators().values() if _has_both(chip)]
    return {**npu.peak, "bf16": npu.peak["fp8"] * (min(ratios) if end == "slow" else max(ratios))}


def _has_both(npu: Accelerator) -> bool:
    """Return whether sources give the peaks of an accelerator in bf16 and in fp8."""
    return {"bf16", "fp8"} <= npu.peak.keys() and not npu.source_of("peak_TFLOPS.bf16").startswith(CLASS_DEFAULT)
