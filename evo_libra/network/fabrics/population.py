"""Many fabrics as arrays, and their figures: those of single fabrics, at some microseconds each.

Layers, blocks and links have powers of two. There are up to three layers of switches, and nothing is joined within one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray, IntArray, chosen, compile_functions
from evo_libra.errors import InputError, unknown
from evo_libra.network.fabrics.bits import LAYERS, LOWER, PAIRS, SLOTS, UPPER
from evo_libra.network.fabrics.evaluation import FUNCTIONS, figures, scratch
from evo_libra.network.fabrics.layered import SERVER_RATE, Between, LayeredFabric
from evo_libra.network.fabrics.routing import FORWARDING
from evo_libra.network.fabrics.stages import MAX_MEMBERS
from evo_libra.network.fabrics.traffic import KINDS, PATHS, Policy, Traffic


@dataclass(frozen=True)
class Fabrics:
    """Fabrics of one number of NPUs.

    Attributes
    ----------
    npus, server : powers of two of the NPUs, and of those of a server.
    layers : (3, n) powers of two of the switches of each layer; 0 where it is joined to nothing.
    joined : (6, n) whether the layers of each pair are joined; pairs are those of `LOWER` and `UPPER`.
    lower_blocks, upper_blocks, links : (6, n) powers of two, as in `Between`.
    parallel : (6, n) links of a joined pair of nodes.
    rate : (6, n) B/s of a link.
    server_rate : B/s inside a server.
    """

    npus: int
    server: int
    layers: IntArray
    joined: IntArray
    lower_blocks: IntArray
    upper_blocks: IntArray
    links: IntArray
    parallel: IntArray
    rate: FloatArray
    server_rate: float = SERVER_RATE

    def __len__(self) -> int:
        return int(self.layers.shape[1])

    def fabric(self, design: int) -> LayeredFabric:
        """Return one of the fabrics, layers that are joined to nothing left out."""
        used = [0, *(layer for layer in range(1, LAYERS) if self._is_used(layer, design))]
        place = {layer: index for index, layer in enumerate(used)}
        nodes = (1 << self.npus, *(1 << int(self.layers[layer - 1, design]) for layer in used[1:]))
        between = tuple(
            Between(
                place[LOWER[pair]], place[UPPER[pair]], 1 << int(self.lower_blocks[pair, design]),
                1 << int(self.upper_blocks[pair, design]), 1 << int(self.links[pair, design]),
                rate=float(self.rate[pair, design]), parallel=int(self.parallel[pair, design]),
            )
            for pair in np.flatnonzero(self.joined[:, design]).tolist()
        )  # fmt: skip
        return LayeredFabric(nodes, between, server=1 << self.server, server_rate=self.server_rate)

    def _is_used(self, layer: int, design: int) -> bool:
        return any(self.joined[pair, design] for pair in range(PAIRS) if layer in (LOWER[pair], UPPER[pair]))

    def select(self, which: IntArray) -> Fabrics:
        """Return some of the fabrics."""
        return replace(
            self, layers=chosen(self.layers, which), joined=chosen(self.joined, which),
            lower_blocks=chosen(self.lower_blocks, which), upper_blocks=chosen(self.upper_blocks, which),
            links=chosen(self.links, which), parallel=chosen(self.parallel, which), rate=chosen(self.rate, which),
        )  # fmt: skip

    @property
    def bits(self) -> IntArray:
        """(4, n) bits of the addresses of each layer."""
        return np.concatenate([np.full((1, len(self)), self.npus), self.layers])


def fabrics_of(fabrics: Sequence[LayeredFabric]) -> Fabrics:
    """Return fabrics as arrays; an `InputError` names one that is none of powers of two, or has another form."""
    shape = (PAIRS, len(fabrics))
    layers = np.zeros((LAYERS - 1, len(fabrics)), dtype=np.int64)
    whole = {key: np.zeros(shape, dtype=np.int64) for key in ("joined", "lower_blocks", "upper_blocks", "links")}
    parallel, rate = np.ones(shape, dtype=np.int64), np.ones(shape)
    pairs = {pair: index for index, pair in enumerate(zip(LOWER, UPPER, strict=True))}
    for design, fabric in enumerate(fabrics):
        _check(fabric, fabrics[0])
        layers[: len(fabric.layers) - 1, design] = [_power(nodes) for nodes in fabric.layers[1:]]
        for one in fabric.between:
            at = pairs[one.lower, one.upper], design
            if whole["joined"][at]:
                raise InputError(f"layers {one.lower} and {one.upper} are joined twice; allowed: once")
            whole["joined"][at], whole["links"][at] = 1, _power(one.links)
            whole["lower_blocks"][at], whole["upper_blocks"][at] = _power(one.lower_blocks), _power(one.upper_blocks)
            parallel[at], rate[at] = one.parallel, one.rate
    return Fabrics(
        npus=_power(fabrics[0].npus), server=_power(fabrics[0].server), layers=layers, parallel=parallel, rate=rate,
        server_rate=fabrics[0].server_rate, **whole,
    )  # fmt: skip


def _power(number: int) -> int:
    """Return the power of two that a number is."""
    if number & (number - 1):
        raise InputError(f"{number:,} is no power of two; allowed: powers of two, where many are evaluated at once")
    return number.bit_length() - 1


def _check(fabric: LayeredFabric, first: LayeredFabric) -> None:
    if len(fabric.layers) > LAYERS:
        raise InputError(f"{len(fabric.layers) - 1} layers of switches; allowed: {LAYERS - 1} at most")
    if fabric.within:
        raise InputError("links within a layer; allowed: links between layers, where many are evaluated at once")
    if max(map(_power, fabric.layers)) >= SLOTS:
        raise InputError(f"a layer of {max(fabric.layers):,} nodes; allowed: {1 << SLOTS - 1:,} at most")
    if (fabric.npus, fabric.server, fabric.server_rate) != (first.npus, first.server, first.server_rate):
        raise InputError("fabrics of different NPUs or servers; allowed: the same in all that are evaluated at once")


_FEW_DESIGNS = 20_000
"""Up to how many designs it takes longer to compile the loop for the first time than to do without numba."""


@dataclass(frozen=True)
class Figures:
    """Figures of n fabrics.

    Attributes
    ----------
    seconds : (t, n) s per byte that an NPU sends, of each traffic; infinite where there is an `outcome`.
    mean, diameter : (n,) links between two NPUs; infinite without a path.
    outcome : (n,) as in `evo_libra.network.fabrics.evaluation`: `REGULAR`, or why there are no figures.
    """

    seconds: FloatArray
    mean: FloatArray
    diameter: FloatArray
    outcome: IntArray


def evaluate(fabrics: Fabrics, traffic: Sequence[Traffic], policy: Policy, *, compiles: bool | None = None) -> Figures:
    """Return path lengths and throughput, both exact; an `InputError` names traffic that does not fit.

    Parameters
    ----------
    fabrics : the designs.
    traffic, policy : as in `evo_libra.network.fabrics.traffic.throughput`; groups are powers of two.
    compiles : whether numba compiles the loop over designs; by default where it pays.
    """
    phases = [number for phase in check_traffic(traffic, fabrics.npus) for number in phase]
    if policy.forwarding not in FORWARDING:
        raise InputError(unknown("forwarding", policy.forwarding, FORWARDING))
    if policy.paths not in PATHS:
        raise InputError(unknown("paths", policy.paths, PATHS))
    how = (PATHS.index(policy.paths), FORWARDING.index(policy.forwarding), fabrics.server)
    if how[:2] == (1, 2):
        raise InputError("paths 'striped' with forwarding 'any': a stripe might come back; allowed: none, server")
    count = len(fabrics)
    seconds, lengths = np.full((count, len(traffic)), np.inf), np.full((count, 2), np.inf)
    outcome = np.zeros(count, dtype=np.int64)
    relations = np.stack([fabrics.joined, fabrics.lower_blocks, fabrics.upper_blocks, fabrics.links], axis=1)
    links = tuple(_by_design(one) for one in _links(fabrics))
    data = _by_design(fabrics.bits), _by_design(relations.reshape(4 * PAIRS, count)), links
    run = compile_functions(FUNCTIONS) if (count > _FEW_DESIGNS if compiles is None else compiles) else None
    if run is None:
        bits, pairs, links = data
        _one_by_one(
            bits=bits, relations=pairs, links=links, phases=phases, how=how, seconds=seconds, lengths=lengths,
            outcome=outcome,
        )  # fmt: skip
    else:
        run(*data, np.array(phases), how, seconds, lengths, outcome, scratch(lists=False))
    seconds[outcome != 0] = np.inf
    return Figures(np.ascontiguousarray(seconds.T), lengths[:, 0], lengths[:, 1], outcome)


def _by_design(values: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(values.T)


def _one_by_one(
    bits: NDArray[Any], relations: NDArray[Any], links: tuple[NDArray[Any], ...], phases: list[int],
    how: tuple[int, int, int], seconds: FloatArray, lengths: FloatArray, outcome: IntArray,
) -> None:  # fmt: skip
    """Do what the compiled loop does, with lists, which are faster than arrays here."""
    arrays = scratch(lists=True)
    for design in range(len(outcome)):
        mine, path = [np.inf] * seconds.shape[1], [np.inf, np.inf]
        parts = tuple(one[design].tolist() for one in links)
        outcome[design] = figures(
            bits=bits[design].tolist(),
            relations=relations[design].tolist(),
            links=cast("Any", parts),
            traffic=phases,
            policy=how,
            seconds=mine,
            lengths=path,
            arrays=arrays,
        )
        seconds[design], lengths[design] = mine, path


def _links(fabrics: Fabrics) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return (7, n) parallel links, all links of each pair of layers and of servers, and their rates."""
    ones = np.ones((1, len(fabrics)))
    parallel = np.concatenate([fabrics.parallel, ones * (fabrics.server > 0)])
    nodes = fabrics.bits[list(LOWER)] + fabrics.links
    total = np.concatenate([2.0**nodes * fabrics.parallel, ones * 2.0 ** (fabrics.npus + fabrics.server)])
    return parallel, total, np.concatenate([fabrics.rate, ones * fabrics.server_rate])


def check_traffic(traffic: Sequence[Traffic], npus: int) -> list[tuple[int, int, int]]:
    """Return kind and bits of traffic among a power of two of NPUs; an `InputError` names what does not fit."""
    return [_phase(one, npus) for one in traffic]


def _phase(traffic: Traffic, npus: int) -> tuple[int, int, int]:
    if traffic.kind not in KINDS:
        raise InputError(unknown("traffic", traffic.kind, KINDS))
    low, high = _power(traffic.place), _power(traffic.place * traffic.members)
    found = f"{traffic.kind} groups of {traffic.members} NPUs, {traffic.place} apart"
    if not low < high <= npus:
        rule = "2 and more whose product with the distance does"
        raise InputError(f"{found}, do not divide {1 << npus:,} NPUs; allowed: {rule}")
    if traffic.kind == "pipeline" and traffic.members > MAX_MEMBERS:
        raise InputError(f"{found}; allowed: {MAX_MEMBERS} stages at most, where many are evaluated at once")
    return KINDS.index(traffic.kind), low, high
