"""The catalogue of accelerators: peak rates, memory, kernel constants, ports, power and prices, each with its source.

Two kinds of figures stand side by side. Data sheets give peaks, memory, ports and power. Measured kernels give the
constants: a product of M x K by K x N takes ``FLOP / (peak x plateau)``, ``bytes / (memory bandwidth x share)`` and a
time of each element of K, joined by a norm, a fixed time, and in FP8 that of ``quantisation x M x K`` bytes more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from evo_libra.arrays import GIGA, TERA
from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, StrictModel, packaged, validate
from evo_libra.files.yaml_reader import format_key
from evo_libra.network.catalog.accelerator import (
    ALL,
    Accelerator,
    AttentionConstants,
    DecodeConstants,
    GemmConstants,
    covering_key,
    leaves,
)
from evo_libra.network.catalog.bus import BusConstants
from evo_libra.network.catalog.constants import Positive
from evo_libra.network.catalog.kernel_classes import CLASSES, class_of, default_kernels
from evo_libra.network.catalog.link_layers import SALE, Sale
from evo_libra.network.catalog.parts import load_parts_spec

ACCELERATORS_FILE = Path(__file__).parent / "accelerators.yaml"

Precision = Literal["bf16", "fp8", "mxfp8", "fp4", "mxfp4", "int8"]
PRECISIONS: tuple[Precision, ...] = ("bf16", "fp8", "mxfp8", "fp4", "mxfp4", "int8")

_PARTS = "parts-2024"
_NAME = r"^[A-Za-z0-9][A-Za-z0-9.-]*$"
_YEAR = re.compile(r"\b(19|20)[0-9]{2}\b")

Count = Annotated[int, Field(ge=1, le=100_000)]
TechnologyName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9.-]*$")]


_NO_FIGURES = {"base", "source", "sources", "name", "order", "generation"}
"""Keys of an entry that are no figures and need no source."""


class MemorySpec(StrictModel):
    """The memory of an accelerator as a file writes it."""

    capacity_GB: Positive | None = Field(None, description="GB of 1e9 bytes; needed unless the entry has a base")
    bandwidth_GBps: Positive | None = Field(None, description="GB/s by the data sheet; needed as the capacity is")


class KernelsSpec(StrictModel):
    """Kernel constants as a file writes them."""

    bf16: GemmConstants | None = Field(None, description="products in bf16")
    fp8: GemmConstants | None = Field(None, description="products in fp8")
    mxfp8: GemmConstants | None = Field(None, description="products in fp8 with scales of blocks (MXFP8)")
    fp4: GemmConstants | None = Field(None, description="products in fp4 with scales of blocks (NVFP4)")
    mxfp4: GemmConstants | None = Field(None, description="products in fp4 with scales of blocks of 32 (MXFP4)")
    int8: GemmConstants | None = Field(None, description="products in int8")
    decode: DecodeConstants | None = Field(None, description="products with few rows, as in decoding")
    attention: AttentionConstants | None = Field(None, description="fused attention")


class AcceleratorSpec(StrictModel):
    """An accelerator as a file writes it."""

    name: str | None = Field(None, pattern=_NAME, description="what designs call it, where a problem has several")
    base: str | None = Field(None, description="accelerator of the catalogue whose other figures hold here, too")
    generation: str | None = Field(
        None, description="generation that figures of training software, and constants of kernels that it lacks, are of"
    )
    peak_TFLOPS: dict[Precision, Positive] = Field(
        default_factory=dict, description="dense peak rate; needed unless the entry has a base"
    )
    memory: MemorySpec = Field(MemorySpec(), description="capacity and bandwidth")
    kernels: KernelsSpec = Field(KernelsSpec(), description="what kernels reach of the peak rates")
    ports: dict[TechnologyName, Count] = Field(default_factory=dict, description="ports of each link technology")
    port_GBps: dict[TechnologyName, Positive] = Field(
        default_factory=dict, description=f"GB/s of a port in one direction; {_PARTS} gives it when left out"
    )
    bus: dict[TechnologyName, BusConstants] = Field(default_factory=dict, description="how collectives use the ports")
    power_W: Positive | None = Field(None, description="power under load")
    price_usd: Positive | tuple[Positive, Positive] | None = Field(
        None, description="price of a piece, or its lowest and highest price"
    )
    order: Sale | None = Field(None, description=f"{SALE}; its systems give it when left out")
    source: str | None = Field(
        None,
        description="where all figures come from, with the year, such as `quote 2026-05`",
    )
    sources: dict[str, str] = Field(
        default_factory=dict,
        description="where each figure or group of figures comes from and its year, by key; `all` is for the rest",
    )


class _Catalogue(RootModel[dict[Annotated[str, Field(pattern=_NAME)], AcceleratorSpec]]):
    pass


def load_accelerators() -> dict[str, Accelerator]:
    """Return every accelerator that comes with the package, by name."""
    return {name: _accelerator_of(name, spec) for name, spec in load_accelerator_specs().items()}


def accelerator(name: str) -> Accelerator:
    """Return an accelerator of the catalogue.

    Raises
    ------
    InputError : there is none of that name.
    """
    specs = load_accelerator_specs()
    if name not in specs:
        raise InputError(unknown("accelerator", name, specs))
    return _accelerator_of(name, specs[name])


def read_accelerator(name: str, entry: AcceleratorSpec | Mapping[str, Any]) -> Accelerator:
    """Return an accelerator that a user describes, in the schema of the catalogue.

    Parameters
    ----------
    name : of the accelerator, unless the entry has one.
    entry : figures and their sources. With ``base`` the figures that are left out are those of that accelerator.

    Raises
    ------
    InputError : every mistake in the entry.
    """
    own = entry if isinstance(entry, AcceleratorSpec) else validate(AcceleratorSpec, Source(name, dict(entry), {}))
    whole = _extended(name, own)
    if mistakes := [*_unsourced(own), *_impossible(whole)]:
        raise InputError(Mistake(message, name, key=format_key(key)) for key, message in mistakes)
    return _accelerator_of(own.name or name, whole)


def load_accelerator_specs() -> dict[str, AcceleratorSpec]:
    """Return every accelerator that comes with the package as its file says it, by name."""
    return packaged(_Catalogue, ACCELERATORS_FILE).root


def figures_of(spec: AcceleratorSpec) -> dict[str, tuple[object, str]]:
    """Return each figure that an entry gives itself, by its key, with its source; empty where it has none."""
    given = spec.model_dump(exclude_none=True, exclude_unset=True, exclude=_NO_FIGURES)
    sources = {key: " ".join(text.split()) for key, text in _sources_of(spec).items()}
    return {key: (value, sources.get(covering_key(key, sources) or "", "")) for key, value in leaves(given)}


def _extended(name: str, own: AcceleratorSpec) -> AcceleratorSpec:
    """Return an entry together with its base; its own figures keep their own sources."""
    if own.base is None:
        return own
    if own.base not in load_accelerator_specs():
        raise InputError(Mistake(unknown("accelerator", own.base, load_accelerator_specs()), name, key="base"))
    base = load_accelerator_specs()[own.base].model_dump(exclude_none=True)
    data = own.model_dump(exclude_none=True, exclude_unset=True, exclude=_NO_FIGURES - {"generation"})
    sources = {key: source for key, (_, source) in figures_of(own).items() if source}
    return AcceleratorSpec.model_validate(_merged(base, data | {"sources": sources}))


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    return {**base} | {
        key: _merged(base[key], value) if isinstance(value, Mapping) and isinstance(base.get(key), Mapping) else value
        for key, value in own.items()
    }


def _unsourced(spec: AcceleratorSpec) -> list[tuple[KeyPath, str]]:
    """Return the figures without a source, the sources without a year, and the sources without a figure."""
    sources = _sources_of(spec)
    used = {key: covering_key(key, sources) for key in figures_of(spec)}
    missing = [((*key.split("."),), "has no source; give one under `sources`") for key in used if not used[key]]
    undated = [
        (_place_of(spec, key), "a source needs its year, such as 'NVIDIA A100 data sheet, 2021'")
        for key, text in sources.items()
        if not _YEAR.search(text)
    ]
    idle = [
        (_place_of(spec, key), f"the entry has no figure '{key}' that needs this source")
        for key in sources
        if key not in used.values()
    ]
    return [*missing, *undated, *idle]


def _place_of(spec: AcceleratorSpec, key: str) -> KeyPath:
    """Return the key of the file that a source is under; that of `source` is for the rest."""
    return ("source",) if key == ALL and key not in spec.sources else ("sources", key)


def _sources_of(spec: AcceleratorSpec) -> dict[str, str]:
    """Return the sources of an entry by key; that of `source` is for the rest."""
    return spec.sources if spec.source is None else {ALL: spec.source, **spec.sources}


def _price_of(spec: AcceleratorSpec) -> tuple[float, float] | None:
    """Return the lowest and the highest price of a piece; one price is both."""
    price = spec.price_usd
    return (price, price) if isinstance(price, int | float) else price


def _impossible(spec: AcceleratorSpec) -> list[tuple[KeyPath, str]]:
    """Return what an entry lacks, and what of it cannot be."""
    memory = spec.memory
    needed = {"peak_TFLOPS": spec.peak_TFLOPS, "memory.capacity_GB": memory.capacity_GB}
    needed["memory.bandwidth_GBps"] = memory.bandwidth_GBps
    found: list[tuple[KeyPath, str]] = [
        ((*key.split("."),), "is missing; it is needed unless the entry has a base")
        for key, value in needed.items()
        if not value
    ]
    if spec.generation is not None and spec.generation not in CLASSES:
        found.append((("generation",), unknown("generation", spec.generation, CLASSES)))
    found += [
        (("kernels", precision), f"there is no peak rate for {precision}; peak_TFLOPS needs it")
        for precision in PRECISIONS
        if getattr(spec.kernels, precision) is not None and precision not in spec.peak_TFLOPS
    ]
    for key in ("port_GBps", "bus"):
        found += [((key, name), f"ports has no {name}") for name in getattr(spec, key) if name not in spec.ports]
    found += [
        (("ports", name), f"port_GBps needs its rate, as {_PARTS} has no {name}")
        for name in spec.ports
        if name not in spec.port_GBps and name not in _catalogue_rates()
    ]
    low, high = _price_of(spec) or (0, 0)
    if low > high:
        found.append((("price_usd",), f"found {low:g} above {high:g}; the lowest comes first"))
    return found


def _catalogue_rates() -> dict[str, float]:
    return {name: kit.port_GBps for name, kit in load_parts_spec(_PARTS).technologies.items()}


def with_class_defaults(spec: AcceleratorSpec) -> AcceleratorSpec:
    """Return an entry with the constants of its class for all kernels that it runs and has none for.

    Their sources say that they are a class default.
    """
    own = spec.kernels.model_dump(exclude_none=True, exclude_unset=True)
    of = class_of(spec.generation)
    measured = load_accelerator_specs()[of.chip].kernels.model_dump(exclude_none=True, exclude_unset=True)
    found, texts = default_kernels(spec.peak_TFLOPS, own, measured, of=of)
    if not found:
        return spec
    sources = _sources_of(spec) | {f"kernels.{kind}": text for kind, text in texts.items()}
    kernels = KernelsSpec.model_validate(own | found)
    return spec.model_copy(update={"kernels": kernels, "source": None, "sources": sources})


def _accelerator_of(name: str, spec: AcceleratorSpec) -> Accelerator:
    spec = with_class_defaults(spec)
    memory, kernels = spec.memory, spec.kernels
    assert memory.capacity_GB is not None  # noqa: S101 - `_impossible` has checked
    assert memory.bandwidth_GBps is not None  # noqa: S101 - the same
    return Accelerator(
        name=name, peak={precision: rate * TERA for precision, rate in spec.peak_TFLOPS.items()},
        memory_capacity=memory.capacity_GB * GIGA, memory_bandwidth=memory.bandwidth_GBps * GIGA,
        gemm={precision: it for precision in PRECISIONS if (it := getattr(kernels, precision)) is not None},
        decode=kernels.decode, attention=kernels.attention, ports=spec.ports,
        port_bandwidth={port: (spec.port_GBps.get(port) or _catalogue_rates()[port]) * GIGA for port in spec.ports},
        bus=spec.bus, generation=spec.generation, power=spec.power_W, price=_price_of(spec), sources=_sources_of(spec),
    )  # fmt: skip
