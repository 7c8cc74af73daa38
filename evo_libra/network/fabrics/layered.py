"""A fabric of layers: NPUs, layers of switches, and the links between two layers and within one.

The space is that of ATOP (Yan et al., SIGCOMM 2025, section 4), with one addition: `parallel` links of one pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from evo_libra.errors import InputError

SERVER_RATE = 450e9
"""B/s of an NPU to the others of its server, one way: NVLink of a DGX H100 (NVIDIA, 2022: 900 GB/s both ways)."""


MAX_NODES = 1 << 24
"""Nodes of a layer: beyond them, links within it could not be counted."""


@dataclass(frozen=True)
class Between:
    """Links between two layers.

    Both layers are cut into blocks of consecutive nodes. Block k of the lower layer is joined to block
    ``k mod upper_blocks``. Node p of a block has links to the nodes ``(links * p + m) mod u`` of the joined block of u
    nodes, m = 0 .. links - 1.

    Attributes
    ----------
    lower, upper : indices of the layers; layer 0 is the NPUs.
    lower_blocks, upper_blocks : H_i and H_j of the paper.
    links : E of the paper, other ends of the links of a lower node.
    rate : B/s of a link, one way.
    parallel : links of a joined pair.
    """

    lower: int
    upper: int
    lower_blocks: int
    upper_blocks: int
    links: int
    rate: float
    parallel: int = 1


@dataclass(frozen=True)
class AffineMap:
    """Links of one dimension of a grid: X is joined to ``X'_t = (step_t m + sum_r matrix_tr X_r + offset_t) mod S_t``.

    Attributes
    ----------
    step, matrix, offset : A_0t, A_rt by rows t, and C_t of the paper.
    links : P_k of the paper, m = 1 .. links.
    """

    step: tuple[int, ...]
    matrix: tuple[tuple[int, ...], ...]
    offset: tuple[int, ...]
    links: int


@dataclass(frozen=True)
class Within:
    """Links within a layer, whose nodes are a grid: node ``X_1 + S_1 (X_2 + S_2 (X_3 + ...))`` is at X.

    Links that several maps give are one link. Those from a node to itself are none.

    Attributes
    ----------
    layer : index of the layer.
    sizes : S_1 .. S_D.
    maps : the links.
    rate : B/s of a link, one way.
    """

    layer: int
    sizes: tuple[int, ...]
    maps: tuple[AffineMap, ...]
    rate: float


@dataclass(frozen=True)
class LayeredFabric:
    """NPUs, layers of switches and their links.

    Consecutive NPUs form a server, and those of one server are joined to each other. An InputError names layers that
    cannot be joined evenly.

    Attributes
    ----------
    layers : nodes of each layer; layer 0 is the NPUs.
    between, within : the links.
    server : NPUs of a server; 1 for none.
    server_rate : B/s of an NPU to the others of its server, one way.
    """

    layers: tuple[int, ...]
    between: tuple[Between, ...]
    within: tuple[Within, ...] = ()
    server: int = 8
    server_rate: float = SERVER_RATE

    def __post_init__(self) -> None:
        if not self.layers[1:] or min(self.layers) < 1:
            raise InputError(
                f"layers {self.layers}: a fabric needs NPUs and a layer of switches, one node of each at least"
            )
        if max(self.layers) > MAX_NODES:
            raise InputError(f"a layer of {max(self.layers):,} nodes; allowed: {MAX_NODES:,} at most")
        if not self.between:
            raise InputError("no two layers are joined; allowed: one pair of layers, or more, that links join")
        _check_blocks("servers", self.layers[0], self.server, f"layer 0 has {self.layers[0]:,} NPUs")
        for between in self.between:
            _check_between(self, between)
        for within in self.within:
            _check_within(self, within)

    @property
    def npus(self) -> int:
        """NPUs of the fabric."""
        return self.layers[0]


def clique(sizes: tuple[int, ...], dimension: int) -> AffineMap:
    """Return the links that join all nodes of a grid which differ in one dimension only."""
    unit = tuple(tuple(int(row == column) for column in range(len(sizes))) for row in range(len(sizes)))
    return AffineMap(unit[dimension], unit, (0,) * len(sizes), sizes[dimension] - 1)


def _check_blocks(blocks: str, nodes: int, size: int, found: str) -> None:
    if size < 1 or nodes % size:
        raise InputError(f"{found}, and {size:,} {blocks} do not divide them evenly; allowed: divisors of {nodes:,}")


def _check_between(fabric: LayeredFabric, between: Between) -> None:
    lower, upper = between.lower, between.upper
    if not 0 <= lower < upper < len(fabric.layers):
        allowed = f"two of 0 to {len(fabric.layers) - 1}, the lower one first"
        raise InputError(f"layers {lower} and {upper} cannot be joined; allowed: {allowed}")
    for layer, blocks in ((lower, between.lower_blocks), (upper, between.upper_blocks)):
        _check_blocks("blocks", fabric.layers[layer], blocks, f"layer {layer} has {fabric.layers[layer]:,} nodes")
    _check_joined(fabric, between)


def _check_joined(fabric: LayeredFabric, between: Between) -> None:
    """Meet links that reach some nodes of the upper layer more often than others."""
    here = f"layers {between.lower} and {between.upper} cannot be joined evenly"
    lower = fabric.layers[between.lower] // between.lower_blocks
    upper = fabric.layers[between.upper] // between.upper_blocks
    if between.lower_blocks % between.upper_blocks:
        found = f"{between.lower_blocks} lower blocks on {between.upper_blocks} upper ones"
        raise InputError(f"{here}: {found}; allowed: upper blocks that divide the lower ones")
    if not 1 <= between.links <= upper:
        raise InputError(f"{here}: {between.links} links of a node to a block of {upper}; allowed: 1 to {upper}")
    if lower * between.links % upper:
        found = f"{lower} nodes of {between.links} links on {upper} nodes"
        raise InputError(f"{here}: {found}; allowed: links so that {lower} times their number is a multiple of {upper}")
    if between.parallel < 1 or between.rate <= 0:
        raise InputError(f"{here}: {between.parallel} parallel links of {between.rate} B/s; allowed: numbers above 0")


def _check_within(fabric: LayeredFabric, within: Within) -> None:
    if not 0 <= within.layer < len(fabric.layers):
        raise InputError(f"links within layer {within.layer}; allowed: 0 to {len(fabric.layers) - 1}")
    nodes, grid = fabric.layers[within.layer], " x ".join(map(str, within.sizes))
    if prod(within.sizes) != nodes:
        raise InputError(f"layer {within.layer}: a grid of {grid} does not hold its {nodes:,} nodes")
    for one in within.maps:
        rows = {len(one.step), len(one.matrix), len(one.offset), *map(len, one.matrix)}
        if rows != {len(within.sizes)}:
            raise InputError(
                f"layer {within.layer}: an affine map needs {len(within.sizes)} rows because the grid is {grid}"
            )
