"""The accelerators that a problem may choose from, and which of them networks are wired for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import FloatArray, IntArray
from evo_libra.network.blocks import Range

if TYPE_CHECKING:
    from evo_libra.network.catalog.accelerator import Accelerator


@dataclass(frozen=True)
class NpuChoice:
    """The accelerators that designs may have; all NPUs of one are of one kind, which its technologies tell.

    There is none where the file names none: then nothing is known of NPUs.

    Attributes
    ----------
    names : of the accelerators.
    owner : (t,) which one each technology of the catalogue is wired with.
    capacity : (a,) bytes that plans may use of an NPU.
    watts, price : (a,) W of an NPU under load, and USD of a piece in the middle of its range; None where no source
        gives that of one of them.
    sources : where the price of each comes from; empty where no source gives it.
    ranges : USD of a piece of each; None where no source gives it.
    stopped : (a,) NPUs at work that stop while a server or a tray is out, of systems that are bought: none of those
        whose spare NPUs take their place. None of NPUs alone.
    lacking : the accelerators without a figure that designs need of all, by the key that would give it.
    """

    names: tuple[str, ...]
    owner: IntArray
    capacity: FloatArray
    watts: FloatArray | None
    price: FloatArray | None
    sources: tuple[str, ...] = ()
    ranges: tuple[Range | None, ...] = ()
    stopped: IntArray | None = None
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def several(self) -> bool:
        """Whether there is anything to choose."""
        return len(self.names) > 1

    def of(self, technology: IntArray) -> IntArray:
        """Return (n,) the accelerators that networks with (d, n) technologies are wired for."""
        return np.asarray(self.owner[technology[0]])

    def place(self, technology: IntArray) -> IntArray:
        """Return `of`, or (1,) where there is nothing to choose."""
        return self.of(technology) if self.several else np.zeros(1, dtype=np.int64)

    def figures(self, technology: IntArray) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
        """Return (n,) or (1,) capacity, W and USD of an NPU of networks with (d, n) technologies; None if unknown."""
        if not self.names:
            return None, None, None
        place = self.place(technology)
        watts, price = (None if each is None else each[place] for each in (self.watts, self.price))
        return self.capacity[place], watts, price

    def why_unknown(self, key: str, noun: str) -> str:
        """Return which accelerators lack a figure, and how a file gives it, as part of a sentence.

        >>> lacking = {"price_usd": ("gb200",)}
        >>> choice = NpuChoice(("b200", "gb200"), np.arange(2), np.ones(2), watts=None, price=None, lacking=lacking)
        >>> choice.why_unknown("price_usd", "price")
        'gb200 has no price. Give one: npu: [b200, {base: gb200, price_usd: ..., source: ...}]'
        """
        if not self.names:
            return "the file has no key 'npu'"
        lacking = self.lacking.get(key, self.names)
        entries = [f"{{base: {name}, {key}: ..., source: ...}}" if name in lacking else name for name in self.names]
        entry = f"[{', '.join(entries)}]" if self.several else entries[0]
        return f"{' and '.join(lacking)} {'has' if len(lacking) == 1 else 'have'} no {noun}. Give one: npu: {entry}"

    def named(self, technology: IntArray) -> list[str]:
        """Return the names of the accelerators of (d, n) technologies."""
        return [self.names[place] for place in self.of(technology).tolist()]


NO_NPU = NpuChoice(names=(), owner=np.empty(0, dtype=np.int64), capacity=np.empty(0), watts=None, price=None)
"""The choice where the file names no accelerator."""


def npu_choice(npus: Sequence[Accelerator], wired: Sequence[str | None], capacities: Sequence[float]) -> NpuChoice:
    """Return the choice of a problem.

    Parameters
    ----------
    wired : the accelerator of each technology, None for any.
    capacities : bytes that plans may use of each accelerator.
    """
    if not npus:
        return NO_NPU
    from evo_libra.network.catalog.hosts import price_range  # noqa: PLC0415 - tables of layers have no accelerator

    names = tuple(npu.name for npu in npus)
    owner = np.array([0 if name is None else names.index(name) for name in wired], dtype=np.int64)
    watts, ranges = [npu.power for npu in npus], tuple(price_range(npu.price) for npu in npus)
    lacking = {
        key: tuple(name for name, value in zip(names, values, strict=True) if value is None)
        for key, values in (("power_W", watts), ("price_usd", ranges))
    }
    return NpuChoice(
        names=names, owner=owner, capacity=np.array(capacities),
        watts=None if None in watts else np.array(watts, dtype=np.float64),
        price=None if None in ranges else np.array([one.value for one in ranges if one is not None]),
        sources=tuple("" if npu.price is None else npu.source_of("price_usd") for npu in npus), ranges=ranges,
        lacking=lacking,
    )  # fmt: skip
