"""Networks as people write them: building blocks, dimensions and the notation ``RI(4)@package:250_SW(32)@pod:20``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import FloatArray, Population, cases
from evo_libra.errors import InputError, printable, suggestion, unknown
from evo_libra.network.blocks.registry import BLOCKS

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Dimension:
    """One dimension of a network: index of the block, NPUs, B/s per NPU; what is not known is None."""

    block: int
    npus: int
    technology: str | None = None
    bandwidth: float | None = None

    def __str__(self) -> str:
        technology = "" if self.technology is None else f"@{self.technology}"
        bandwidth = "" if self.bandwidth is None else f":{_gigabytes(self.bandwidth)}"
        return f"{BLOCKS[self.block].code}({self.npus}){technology}{bandwidth}"


@dataclass(frozen=True)
class Fabric:
    """A network as a list of dimensions, the innermost first.

    >>> fabric = parse_fabric("RI(4)@package:250_FC(8)@node:62.5")
    >>> fabric.npus, fabric.dimensions[1].bandwidth
    (32, 62500000000.0)
    >>> str(fabric)
    'RI(4)@package:250_FC(8)@node:62.5'

    Options are names of `OPTIONS`, with their values as written. Plans are those of the workloads that leave some open.
    The NPU is named where the problem has several to choose from; `spares` are the spare NPUs.
    """

    dimensions: tuple[Dimension, ...]
    options: tuple[tuple[str, str], ...] = ()
    plans: tuple[str, ...] = ()
    npu: str | None = None
    spares: int = 0

    @property
    def npus(self) -> int:
        """NPUs of the whole network."""
        return int(np.prod([dimension.npus for dimension in self.dimensions], dtype=object))

    def __str__(self) -> str:
        network = "_".join(str(dimension) for dimension in self.dimensions)
        return written(network, self.options, self.plans, self.npu, self.spares)


def written(
    network: str, options: Sequence[tuple[str, str]], plans: Sequence[str], npu: str | None, spares: int
) -> str:
    """Return a design in the notation, whose network is written already; see `Fabric` for the rest."""
    named = [*options, *([] if npu is None else [(NPU, npu)]), *([(SPARES, str(spares))] if spares else [])]
    whole = " ".join([network, *(f"{name}={value}" for name, value in named)])
    return " | ".join([whole, *plans])


OPTIONS = ("chunks", "scheduler", "algorithms")
"""Options that may follow a network in the notation, such as ``chunks=64``; see `evo_libra.timing.schedule_choices`."""

_COUNT = re.compile(r"\d{1,9}", re.ASCII)

NPU = "npu"
"""Key of the accelerator in the notation, such as ``npu=h100-80gb``."""

SPARES = "spares"
"""Key of the number of spare NPUs in the notation, such as ``spares=64``."""

_DIMENSION = re.compile(
    r"(?P<block>[A-Za-z]+\d*)\((?P<npus>\d{1,9})\)"
    r"(?:@(?P<technology>[A-Za-z][A-Za-z0-9.-]*))?"
    r"(?::(?P<bandwidth>\d{1,15}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,2})?))?"
)


def parse_fabric(text: str) -> Fabric:
    """Read the notation of a design; bandwidth is in GB/s, technology and bandwidth may be left out.

    An InputError names the dimension that cannot be read.

    >>> parse_fabric("RI(4)_SW(8) chunks=16 algorithms=ring,direct").options
    (('chunks', '16'), ('algorithms', 'ring,direct'))
    >>> fabric = parse_fabric("SW(8)_SW(4) npu=b200 | tp8 dp4 mb1 zero1")
    >>> fabric.npu, fabric.plans
    ('b200', ('tp8 dp4 mb1 zero1',))
    """
    text = printable(text.strip())
    first, *plans = (part.strip() for part in text.split("|"))
    network, *words = first.split(" ")
    dimensions = tuple(_parse_dimension(part, text) for part in network.split("_"))
    given = [_parse_option(word, text) for word in words if word]
    npus = [value for name, value in given if name == NPU]
    if len(npus) > 1:
        raise InputError(f"the design '{text}' names {len(npus)} NPUs; all of its NPUs are of one kind")
    options = tuple(one for one in given if one[0] not in (NPU, SPARES))
    return Fabric(dimensions, options, tuple(plans), next(iter(npus), None), _spares(given, text))


def _spares(given: Sequence[tuple[str, str]], text: str) -> int:
    values = [value for name, value in given if name == SPARES]
    if len(values) > 1 or not all(_COUNT.fullmatch(value) for value in values):
        listed = " and ".join(f"{SPARES}={value}" for value in values)
        raise InputError(f"the design '{text}' has {listed}; write one whole number of spare NPUs, like {SPARES}=64")
    return int(next(iter(values), "0"))


def _parse_option(option: str, text: str) -> tuple[str, str]:
    name, equals, value = option.partition("=")
    if name not in (*OPTIONS, NPU, SPARES):
        raise InputError(f"in the design '{text}': {unknown('option', name, (*OPTIONS, NPU, SPARES))}")
    if not (equals and value):
        raise InputError(f"'{option}' in the design '{text}' has no value; write it like {name}=...")
    return name, value


def _parse_dimension(part: str, text: str) -> Dimension:
    match = _DIMENSION.fullmatch(part)
    if match is None and part.partition("=")[0] in (*OPTIONS, NPU, SPARES):
        raise InputError(
            f"'{part}' in the design '{text}' stands where a dimension is needed; an option goes after the network and "
            f"a space, like SW(8)@node_SW(32)@pod {part}"
        )
    if match is None:
        raise InputError(
            f"'{part}' in the design '{text}' is no dimension; a dimension reads like RI(4), FC(8)@node or "
            "SW(32)@pod:20 (block, NPUs, technology, GB/s per NPU), joined by '_'"
        )
    codes = [block.code for block in BLOCKS]
    code = match["block"].upper()
    if code not in codes:
        names = ", ".join(f"{block.code} ({block.name})" for block in BLOCKS if block.code.isalpha())
        names += ", and fat trees by their oversubscription, such as CL4 or SW2"
        nearest = suggestion(code, codes)
        raise InputError(f"unknown block '{match['block']}' in the design '{text}'; allowed: {names}{nearest}")
    npus = int(match["npus"])
    if npus < 2:  # noqa: PLR2004 - a dimension of one NPU connects nothing
        raise InputError(f"'{part}' in the design '{text}' has {npus} NPUs; a dimension has at least 2")
    bandwidth = None if match["bandwidth"] is None else float(Decimal(match["bandwidth"]).scaleb(9))
    if bandwidth is not None and bandwidth <= 0:
        raise InputError(f"'{part}' in the design '{text}' has no bandwidth; it must be above 0 GB/s")
    return Dimension(codes.index(code), npus, match["technology"], bandwidth)


_GIGA_DIGITS = 9
_GIGA = 10**_GIGA_DIGITS
_POWERS = 1e16
"""From here on floats are written with a power of ten."""


def _gigabytes(bandwidth: float) -> str:
    """Return B/s as the shortest decimal number of GB/s that reads back to the same float."""
    text = repr(float(bandwidth))
    if "e" in text:
        text = f"{Decimal(text):f}"
    whole, _, part = text.partition(".")
    whole = whole.zfill(_GIGA_DIGITS + 1)
    digits = (whole[-_GIGA_DIGITS:] + part).rstrip("0")
    return f"{whole[:-_GIGA_DIGITS]}.{digits}" if digits else whole[:-_GIGA_DIGITS]


def population_of(fabrics: Sequence[Fabric], technologies: Sequence[str], depth: int = 1) -> Population:
    """Pack networks into a population, padded with unused dimensions of size 1 up to some depth at least.

    An InputError names a dimension that lacks its technology or bandwidth, or whose technology the catalogue has not.
    """
    depth = max([depth, *(len(fabric.dimensions) for fabric in fabrics)])
    npus = np.ones((depth, len(fabrics)), dtype=np.int64)
    block = np.zeros_like(npus)
    technology = np.zeros_like(npus)
    bandwidth = np.zeros(npus.shape)
    for n, fabric in enumerate(fabrics):
        for d, dimension in enumerate(fabric.dimensions):
            if dimension.technology is None or dimension.bandwidth is None:
                raise InputError(
                    f"'{dimension}' in the design '{fabric}' lacks its technology or bandwidth; "
                    f"write it like {BLOCKS[dimension.block].code}({dimension.npus})@{technologies[0]}:100 (GB/s)"
                )
            if dimension.technology not in technologies:
                names = list(dict.fromkeys(technologies))
                raise InputError(f"in the design '{fabric}': {unknown('technology', dimension.technology, names)}")
            npus[d, n], block[d, n] = dimension.npus, dimension.block
            technology[d, n] = technologies.index(dimension.technology)
            bandwidth[d, n] = dimension.bandwidth
    return Population(npus, block, technology, bandwidth)


def networks_of(population: Population, technologies: Sequence[str]) -> list[str]:
    """Return the networks of (n,) designs in the notation, as `fabrics_of` has them, all of them at once."""
    import polars as pl  # noqa: PLC0415 - whoever reads a notation or lists blocks needs no frames

    if not len(population):
        return []
    depth, count = population.npus.shape
    places = [each.ravel() for each in (population.block, population.npus, population.technology)]
    first, kind = cases(*places)
    rows = zip(*(each[first].tolist() for each in places), strict=True)
    names = [f"{Dimension(b, n, technologies[t])}:" if n > 1 else None for b, n, t in rows]
    # The name of an unused dimension is missing, and so is the sum.
    text = pl.Series(names, dtype=pl.String).gather(kind) + _gigabytes_of(population.bandwidth.ravel())
    dimensions = [text.slice(d * count, count) for d in range(depth)]
    return pl.select(pl.concat_str(dimensions, separator="_", ignore_nulls=True)).to_series().to_list()


def _gigabytes_of(bandwidth: FloatArray) -> pl.Series:
    """Return (n,) B/s as `_gigabytes` has them; in one expression, as each costs as much as dozens of designs."""
    import polars as pl  # noqa: PLC0415 - as above

    whole = np.minimum(bandwidth, _POWERS).astype(np.int64)
    gigabytes = whole // _GIGA
    frame = pl.DataFrame({"all": bandwidth, "whole": gigabytes, "rest": whole - gigabytes * _GIGA + _GIGA})
    text = pl.col("all").cast(pl.String)
    part = text.str.split_exact(".", 1).struct.field("field_1")
    digits = "." + pl.col("rest").cast(pl.String).str.slice(1) + part
    found = pl.col("whole").cast(pl.String) + digits.str.strip_chars_end("0").str.strip_chars_end(".")
    written, powers = frame.select(found=found, powers=text.str.contains("e", literal=True)).iter_columns()
    if not powers.any():  # of ten: hardly any bandwidth is so small or large
        return written
    return written.scatter(powers.arg_true(), [_gigabytes(each) for each in bandwidth[powers.to_numpy()].tolist()])


def fabrics_of(population: Population, technologies: Sequence[str]) -> list[Fabric]:
    """Return the networks of a population as records, without their unused dimensions."""

    def dimension(d: int, n: int) -> Dimension:
        technology = technologies[int(population.technology[d, n])]
        block, npus = int(population.block[d, n]), int(population.npus[d, n])
        return Dimension(block, npus, technology, float(population.bandwidth[d, n]))

    used = population.npus > 1
    return [Fabric(tuple(dimension(d, n) for d in np.flatnonzero(used[:, n]).tolist())) for n in range(len(population))]
