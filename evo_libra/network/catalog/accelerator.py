"""Accelerators: what a step of training or serving knows of one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import Field

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.network.catalog.bus import BusConstants
from evo_libra.network.catalog.constants import MICRO, NANO, Constants, Positive, Share, Size, Time

ALL = "all"
DECODING, ATTENTION = "decode", "attention"
"""Kinds of kernels besides products of matrices, as files call them."""
CLASS_DEFAULT = "Class default"
"""Begin of the source of constants that were not measured on a chip."""
UNCHECKED = "No row that the fit has not seen"
"""Begin of the source of constants that were measured on a chip, and that no other measurement has tried."""
HEAD_WIDTH = 128
"""Width of a head of attention that the plateau is of."""
Value = TypeVar("Value")
Array = FloatArray | float


class GemmConstants(Constants):
    """Speed of an accelerator in products of matrices of one precision.

    The plateau was fitted together with `isolated`. Only comparisons with measurements of single kernels use that; a
    training step uses `fixed`.
    """

    plateau: Share = Field(description="share of the peak rate that large products reach")
    bandwidth: Share | None = Field(
        None, description="share of the memory bandwidth that products reach; element-wise kernels' when left out"
    )
    k_step_ns: Time = Field(0.0, description="ns of each element of the inner size k, which a product takes at least")
    split_k: Positive | None = Field(
        None, description="inner size beyond which a product splits it and takes no longer; none when left out"
    )
    exponent: Annotated[float, Field(ge=1, le=100)] | None = Field(
        None, description="p of the norm that joins times of FLOP, bytes and k; the longest counts when left out"
    )
    fixed_us: Time = Field(description="time of a product in a training step beyond its roofline")
    quantisation: Time = Field(0.0, description="bytes of memory traffic per element of the input that is quantised")
    isolated_us: Time | None = Field(
        None, description="time beyond the roofline of a large product that is measured alone"
    )
    any_layout: bool = Field(
        default=False,
        description="whether products of 8 bits take operands in any layout without transposed copies",
    )

    @property
    def fixed(self) -> float:
        """S of a product in a training step beyond its roofline."""
        return self.fixed_us * MICRO

    @property
    def k_step(self) -> float:
        """S of each element of the inner size."""
        return self.k_step_ns * NANO

    @property
    def of_any_shape(self) -> bool:
        """Whether the constants were fitted to products of any shape, and not to large ones alone."""
        return self.exponent is not None

    def joined(self, compute: FloatArray | float, memory: FloatArray | float, inner: FloatArray | float) -> FloatArray:
        """Return S of products that compute and move memory for some time, and have some inner sizes: a p-norm.

        Kernels overlap FLOP and bytes in part. One processor walks along k, unless the product splits it.
        """
        steps = self.k_step * np.minimum(inner, self.split_k or math.inf)
        if self.exponent is None:
            return np.asarray(np.maximum(np.maximum(compute, memory), steps))
        power = self.exponent
        return np.asarray((compute**power + memory**power + steps**power) ** (1.0 / power))

    @property
    def isolated(self) -> float | None:
        """S beyond the roofline of a large product that is measured alone, or None."""
        return None if self.isolated_us is None else self.isolated_us * MICRO


class DecodeConstants(Constants):
    """Speed of an accelerator in products of few rows and a matrix, as in decoding."""

    bandwidth: Share = Field(description="share of the memory bandwidth that they reach")
    fixed_us: Time = Field(description="time of a product beyond its memory traffic")

    @property
    def fixed(self) -> float:
        """S of a product beyond its memory traffic."""
        return self.fixed_us * MICRO


class AttentionConstants(Constants):
    """Speed of fused attention on the FLOP of its causal half; `isolated` is as in products."""

    plateau: Share = Field(description="share of the 16-bit peak rate that long sequences reach forwards")
    half_tokens: Time = Field(description="tokens at which half of the plateau is reached")
    token_ns: Time = Field(0.0, description="ns of each token of a sequence, through which one processor walks")
    backward: Share = Field(description="rate backwards over the rate forwards")
    narrow: Share = Field(1.0, description="rate with heads of 64 over that with heads of 128")
    edge_tokens: Time = Field(0.0, description="tokens at the edges of tiles that a window costs beyond its own")
    isolated_us: Time | None = Field(None, description="time of a kernel that is measured alone beyond its tokens")

    @property
    def token(self) -> float:
        """S of each token of a sequence."""
        return self.token_ns * NANO

    @property
    def isolated(self) -> float | None:
        """S of a kernel that is measured alone beyond its tokens, or None."""
        return None if self.isolated_us is None else self.isolated_us * MICRO

    def share(self, tokens: Size) -> Size:
        """Return the share of the 16-bit peak rate at a length of sequences, with heads of 128 and wider ones."""
        return self.plateau * tokens / (tokens + self.half_tokens)

    def of_width(self, width: float) -> float:
        """Return the rate with heads of a width over that with heads of 128; each half of the width costs as much."""
        return float(self.narrow ** max(math.log2(HEAD_WIDTH / width), 0.0))

    def forward(self, work: Array, peak: float, attended: Array, width: float, *, windowed: bool = False) -> FloatArray:
        """Return S of causal FLOP at a 16-bit peak rate, where a token attends to half of `attended` tokens.

        Processors share the FLOP; one of them walks through all tokens. A window has tiles at its edges, too.
        """
        tiles = attended + self.half_tokens + (self.edge_tokens if windowed else 0.0)
        computed = work / (peak * self.plateau * self.of_width(width)) * tiles / attended
        return np.asarray(computed + self.token * attended)


@dataclass(frozen=True)
class Accelerator:
    """An accelerator; a figure that has no source is not there, and asking for it raises an `InputError`.

    Attributes
    ----------
    name : what files call it.
    peak : dense FLOP/s by precision.
    memory_capacity, memory_bandwidth : B and B/s.
    gemm : constants of matrix products by precision.
    decode, attention : constants of products with few rows, and of fused attention, or None.
    ports : number of ports by link technology.
    port_bandwidth : B/s of a port in one direction, by link technology.
    bus : how collectives use the ports, by link technology.
    power : W under load, or None.
    price : lowest and highest USD of a piece, or None.
    generation : whose figures of training software hold for it; None where none are known.
    chip : its name in sources, where `name` is that of the systems that have it.
    sources : where figures come from, by the key of a figure or a group of figures, or ``all``.
    """

    name: str
    peak: Mapping[str, float]
    memory_capacity: float
    memory_bandwidth: float
    gemm: Mapping[str, GemmConstants]
    decode: DecodeConstants | None
    attention: AttentionConstants | None
    ports: Mapping[str, int]
    port_bandwidth: Mapping[str, float]
    bus: Mapping[str, BusConstants]
    power: float | None
    price: tuple[float, float] | None
    sources: Mapping[str, str] = field(repr=False)
    generation: str | None = None
    chip: str = ""

    @property
    def product(self) -> str:
        """The name in sources; `name` is another one where it stands for the accelerators of some systems."""
        return self.chip or self.name

    def figures(self) -> dict[str, Any]:
        """Return all figures in SI units, by name."""
        decode = None if self.decode is None else self.decode.figures()
        attention = None if self.attention is None else self.attention.figures()
        gemm = {precision: constants.figures() for precision, constants in self.gemm.items()}
        bus = {technology: constants.figures() for technology, constants in self.bus.items()}
        own = {key: value for key, value in vars(self).items() if key != "chip"}
        return {**own, "gemm": gemm, "decode": decode, "attention": attention, "bus": bus}

    def peak_rate(self, precision: str) -> float:
        """Return the dense peak rate in FLOP/s."""
        return self._chosen(self.peak, precision, "peak rate")

    def gemm_constants(self, precision: str) -> GemmConstants:
        """Return the constants of matrix products in a precision."""
        return self._chosen(self.gemm, precision, "kernel constants")

    def bus_constants(self, technology: str) -> BusConstants:
        """Return how collectives use the ports of a link technology."""
        return self._chosen(self.bus, technology, "measured collectives")

    def decode_constants(self) -> DecodeConstants:
        """Return the constants of products with few rows."""
        return self._known(self.decode, "kernel constants for decoding")

    def attention_constants(self) -> AttentionConstants:
        """Return the constants of fused attention."""
        return self._known(self.attention, "kernel constants for fused attention")

    def wire_rate(self, technology: str) -> float:
        """Return the B/s of all ports of a link technology together, in one direction."""
        return self._chosen(self.ports, technology, "ports") * self.port_bandwidth[technology]

    def power_draw(self) -> float:
        """Return the power under load in W."""
        return self._known(self.power, "power")

    def price_range(self) -> tuple[float, float]:
        """Return the lowest and the highest price of a piece in USD."""
        return self._known(self.price, "price")

    def source_of(self, figure: str) -> str:
        """Return where a figure comes from, by its key in the file, such as ``kernels.bf16.plateau``."""
        key = covering_key(figure, self.sources)
        if key is None:
            raise InputError(f"{self.product} has no figure '{figure}'")
        return self.sources[key]

    def kernel_shares(self) -> dict[str, float]:
        """Return the shares that kernels reach, by kind: of the peak of a precision, or of the memory bandwidth."""
        decode = {} if self.decode is None else {DECODING: self.decode.bandwidth}
        attention = {} if self.attention is None else {ATTENTION: self.attention.plateau}
        return {**{name: one.plateau for name, one in self.gemm.items()}, **decode, **attention}

    def source_of_kernels(self, kind: str) -> str:
        """Return where the share that kernels of a kind reach comes from; empty where no source is named."""
        share = "bandwidth" if kind == DECODING else "plateau"
        key = covering_key(f"kernels.{kind}.{share}", self.sources)
        return "" if key is None else self.sources[key]

    def class_defaults(self) -> tuple[str, ...]:
        """Return the constants of kernels that are the default of the class, and were not measured.

        A kind of kernels, such as ``bf16``, stands for all of its constants, ``fp8.quantisation`` for one of a kind
        whose share was measured.
        """
        return tuple(key for kind in self.kernel_shares() for key in self._defaults_of(kind))

    def unchecked_kernels(self) -> tuple[str, ...]:
        """Return the kinds of kernels that were measured, and that no row tries which their fit has not seen."""
        return tuple(kind for kind in self.kernel_shares() if self.source_of_kernels(kind).startswith(UNCHECKED))

    def _defaults_of(self, kind: str) -> Iterator[str]:
        if self.source_of_kernels(kind).startswith(CLASS_DEFAULT):
            yield kind
            return
        known: Mapping[str, Constants | None] = {**self.gemm, DECODING: self.decode, ATTENTION: self.attention}
        constants = known[kind]
        for part in () if constants is None else constants.model_dump(exclude_unset=True):
            key = covering_key(f"kernels.{kind}.{part}", self.sources)
            if key is not None and self.sources[key].startswith(CLASS_DEFAULT):
                yield f"{kind}.{part}"

    def _chosen(self, known: Mapping[str, Value], key: str, what: str) -> Value:
        if key not in known:
            others = f"it has {', '.join(known)}" if known else "none are known"
            raise InputError(f"{self.product} has no {what} for {key}; {others}")
        return known[key]

    def _known(self, value: Value | None, what: str) -> Value:
        if value is None:
            raise InputError(f"{self.product} has no {what} because no source gives it; an entry with it as `base` can")
        return value


def leaves(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of nested mappings that is not None, by its key.

    >>> dict(leaves({"memory": {"capacity_GB": 80}, "power_W": None}))
    {'memory.capacity_GB': 80}
    """
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        elif value is not None:
            yield f"{prefix}{key}", value


def covering_key(figure: str, sources: Mapping[str, str]) -> str | None:
    """Return the key of the source of a figure: its own, that of the smallest group it is in, or ``all``.

    >>> covering_key("memory.capacity_GB", {"memory": "data sheet, 2020", "all": "own"}), covering_key("power_W", {})
    ('memory', None)
    """
    parts = figure.split(".")
    keys = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((key for key in (*keys, ALL) if key in sources), None)
