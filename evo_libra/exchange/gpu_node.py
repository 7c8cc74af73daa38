"""A server of GPUs as other programs describe it, and the first dimension of a network that it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError, Mistake

GENERATIONS: Mapping[int, tuple[str, int, float]] = {
    80: ("nvlink3", 12, 25e9),
    90: ("nvlink4", 18, 25e9),
    100: ("nvlink5", 18, 50e9),
}
"""Technology, most links of a GPU and bandwidth of a link in B/s each way, by the compute capability of the GPUs."""

MOST_GPUS = 1024
MOST_LINKS = 36


@dataclass(frozen=True)
class GpuNode:
    """A server.

    Attributes
    ----------
    gpus : how many GPUs there are.
    peers : (GPU, GPU) to the links between them; empty where switches connect them.
    switched : links of each GPU to switches; 0 where there are none.
    capability : compute capability of the GPUs times ten; None where the file does not say it.
    nics : bandwidth of each network interface in B/s; None where the file does not say it.
    """

    gpus: int
    peers: Mapping[tuple[int, int], int]
    switched: int
    capability: int | None
    nics: tuple[float | None, ...]

    @property
    def scale_out(self) -> float | None:
        """Bandwidth of each GPU out of the server in B/s, over its fastest interfaces; None where it is not known."""
        known = [rate for rate in self.nics if rate is not None]
        if not known or len(known) < len(self.nics):
            return None
        fastest = max(known)
        return fastest * known.count(fastest) / self.gpus


def node_design(node: GpuNode, file: str, capability: int | None = None) -> str:
    """Return the dimension inside a server in the notation.

    `capability` is used where the file does not say it. Raises `InputError` where the generation of the links is not
    known, or where no building block is wired as the server.

    >>> node_design(GpuNode(8, {}, 18, 90, ()), "node.xml")
    'SW(8)@nvlink4:450'
    """
    code, technology, bandwidth = node_dimension(node, file, capability)
    return f"{code}({node.gpus})@{technology}:{bandwidth / GIGA:g}"


def node_dimension(node: GpuNode, file: str, capability: int | None = None) -> tuple[str, str, float]:
    """Return the code of the building block, the technology and each GPU's B/s inside a server; as `node_design`."""
    reached = node.capability or capability
    if reached is None or reached not in GENERATIONS:
        allowed = ", ".join(map(str, GENERATIONS))
        raise InputError(Mistake(f"found compute capability {reached}; NVLink is known of {allowed}", file))
    technology, most, rate = GENERATIONS[reached]
    code, links = _block(node, file)
    if links > most:
        raise InputError(Mistake(f"found {links} links of a GPU; {technology} has {most} at most", file))
    return code, technology, links * rate


def _block(node: GpuNode, file: str) -> tuple[str, int]:
    """Return the code of the building block that connects the GPUs, and the links of each."""
    if node.gpus > 1 and node.switched:
        return "SW", node.switched
    pairs = {(min(pair), max(pair)) for pair in node.peers}
    counts = set(node.peers.values())
    complete = node.gpus * (node.gpus - 1) // 2
    if node.gpus > 1 and len(pairs) == complete and len(counts) == 1:
        return "FC", counts.pop() * (node.gpus - 1)
    if len(counts) == 1 and len(pairs) == node.gpus and _is_ring(pairs, node.gpus):
        return "RI", 2 * counts.pop()
    message = f"{len(pairs)} pairs of {node.gpus} GPUs have NVLink; only a switch, a ring and all pairs alike are read"
    raise InputError(Mistake(message, file))


def _is_ring(pairs: set[tuple[int, int]], gpus: int) -> bool:
    near: dict[int, list[int]] = {}
    for first, second in pairs:
        near.setdefault(first, []).append(second)
        near.setdefault(second, []).append(first)
    if len(near) != gpus or any(len(ends) != 2 for ends in near.values()):  # noqa: PLR2004 - a ring has two
        return False
    start = next(iter(near))
    before, at, steps = start, near[start][0], 1
    while at != start:
        before, at = at, next(end for end in near[at] if end != before)
        steps += 1
    return steps == gpus
