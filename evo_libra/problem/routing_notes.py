"""Notes on the routing of a design: which one it is, and where flows are hashed, what that costs as a band."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evo_libra.arrays import Population
from evo_libra.errors import counted
from evo_libra.network.bill import inner_npus
from evo_libra.network.blocks import Kit
from evo_libra.network.blocks.fat_tree import Crowd, FatTree, even_tree
from evo_libra.network.blocks.registry import BLOCKS
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.network.routing import ROUTINGS, Slowdown
from evo_libra.problem.pricing.catalog import KitTechnology
from evo_libra.timing.quirks import Quirk, Warned

_NAME = "routing"


def states_routing(catalog: Catalog) -> bool:
    """Return whether the problem of a catalogue states the routing of some technology."""
    return any(kit is not None and bool(kit.routing) for kit in _kits(catalog))


def _kits(catalog: Catalog) -> list[Kit | None]:
    return [one.kit if isinstance(one, KitTechnology) else None for one in catalog.technologies]


def routing_notes(catalog: Catalog, design: Population) -> list[Warned]:
    """Return a note on each dimension of one design whose routing the problem states; none where it states none."""
    kits = _kits(catalog)
    inside, found = inner_npus(design.npus), []
    for d in np.flatnonzero(design.npus[:, 0] > 1).tolist():
        kit = kits[int(design.technology[d, 0])]
        if kit is not None and kit.routing:
            text = f"Dimension {d}, {kit.technology}: {_sentence(kit, int(design.npus[d, 0]), int(inside[d, 0]))}"
            found.append(Warned(Quirk(_NAME, text), 1, 1))
    return found


def _sentence(kit: Kit, npus: int, inside: int) -> str:
    routing = ROUTINGS[kit.routing]
    if not routing.hashed:
        return f"{kit.routing} fills links between switches evenly ({routing.source})."
    block = even_tree(BLOCKS[kit.block].name) or BLOCKS[kit.block]
    found = block.crowds(npus, kit, inside) if isinstance(block, FatTree) else ()
    if not found:
        return f"{kit.routing} has one way to choose, through a single switch."
    flows = counted(kit.flows, "flow")
    return f"{kit.routing} hashes {flows} of each message ({routing.source}). {' '.join(_bands(found))}"


def _bands(found: tuple[Crowd, ...]) -> Iterator[str]:
    names = ("Rings with one member under each leaf", "all-to-alls of all", "halving-doubling of one under each leaf")
    texts = [f"{name} {_band(crowd.slowdown)}" for name, crowd in zip(names, found, strict=True)]
    yield f"{texts[0]} as long as with even links (10th to 90th percentile), {texts[1]} and {texts[2]}."


def _band(found: Slowdown) -> str:
    return f"take {found.expected:.2f} times ({found.low:.2f} to {found.high:.2f})"
