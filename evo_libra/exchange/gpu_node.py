"""A server of GPUs as other programs describe it, and the first dimension of a network that it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError, Mistake

GENERATIONS: Mapping[int, tuple[str, int, float]] = {
    80: ("nvlink3", 12, 25e9),
    90: ("nvlink4", 18, 25e9),
    100: ("nvlink5", 18, 50e9),
    103: ("nvlink5", 18, 50e9),
}
"""Technology, most links of a GPU and bandwidth of a link in B/s each way, by the compute capability of the GPUs."""

DEVICES = {
    "0x20b0": "a100-40gb", "0x20b1": "a100-40gb", "0x20b2": "a100-80gb", "0x20b3": "a100-80gb", "0x20b5": "a100-80gb",
    "0x20f1": "a100-40gb", "0x2322": "h800-80gb", "0x2324": "h800-80gb", "0x2329": "h20-96gb", "0x232c": "h20-96gb",
    "0x2330": "h100-80gb", "0x2331": "h100-80gb", "0x2335": "h200-141gb", "0x26b9": "l40s-48gb", "0x2901": "b200",
    "0x2941": "gb200", "0x3182": "b300", "0x31c2": "gb300",
}  # fmt: skip
"""PCI devices of NVIDIA (pci.ids, 2026) -> accelerators of the catalogue."""

NAMES = {
    "GB300": "gb300", "GB200": "gb200", "B300": "b300", "B200": "b200", "H200": "h200-141gb", "H800": "h800-80gb",
    "H20": "h20-96gb", "H100": "h100-80gb", "A100-SXM4-40GB": "a100-40gb", "A100": "a100-80gb", "L40S": "l40s-48gb",
}  # fmt: skip
"""Words in the names of GPUs -> accelerators; longer words come before those that they begin with."""

RACKS = {"gb200": 72, "gb300": 72}
"""Accelerators of trays whose NVLink joins them to a rack -> GPUs of a rack."""

_OF_CAPABILITY = {
    80: ("a100-40gb", "a100-80gb"), 90: ("h100-80gb", "h200-141gb", "h800-80gb", "h20-96gb"),
    100: ("b200", "gb200"), 103: ("b300", "gb300"),
}  # fmt: skip
"""Compute capability times ten -> accelerators that have it."""

BY_LINKS = {12: "a100-80gb", 18: "h100-80gb"}
"""Links of a GPU -> the accelerator, for files that say neither its device nor its compute capability."""

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
    device : PCI device of the GPUs, such as 0x2330; empty where the file does not say it.
    """

    gpus: int
    peers: Mapping[tuple[int, int], int]
    switched: int
    capability: int | None
    nics: tuple[float | None, ...]
    device: str = ""

    @property
    def npu(self) -> str | None:
        """Accelerator of the catalogue: by the PCI device, or by the links of each GPU; None where neither says it.

        A device of another generation than the compute capability says nothing.
        """
        if self.capability is None:
            return BY_LINKS.get(self.links)
        named = DEVICES.get(self.device)
        return named if named in _OF_CAPABILITY.get(self.capability, ()) else None

    @property
    def links(self) -> int:
        """Links of each GPU; 0 where they differ."""
        direct = [0] * self.gpus
        for (gpu, _), links in self.peers.items():
            direct[gpu] += links
        counts = {self.switched} if self.switched else set(direct)
        return counts.pop() if len(counts) == 1 else 0

    @property
    def scale_out(self) -> float | None:
        """Bandwidth of each GPU out of the server in B/s, over its fastest interfaces; None where it is not known."""
        known = [rate for rate in self.nics if rate is not None]
        if not known or len(known) < len(self.nics):
            return None
        fastest = max(known)
        return fastest * known.count(fastest) / self.gpus


def npu_named(name: str) -> str | None:
    """Return the accelerator that programs call by some name.

    >>> npu_named("NVIDIA H200"), npu_named("NVIDIA A100-SXM4-40GB"), npu_named("a card")
    ('h200-141gb', 'a100-40gb', None)
    """
    return next((npu for word, npu in NAMES.items() if word in name), None)


def joined(node: GpuNode, npu: str, npus: int) -> GpuNode:
    """Return the rack that a tray is a part of, or all of its trays where they are fewer; other servers as they are."""
    size = min(RACKS.get(npu, 0), npus)
    if not node.switched or size <= node.gpus or size % node.gpus:
        return node
    return replace(node, gpus=size, nics=node.nics * (size // node.gpus))


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
