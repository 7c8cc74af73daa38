"""A network as a graph for Graphviz: device by device where it is small, else a node for each level with counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from evo_libra.errors import InputError
from evo_libra.exchange.devices import device_name, named_cables, wired
from evo_libra.exchange.formats import Chosen, Writer, Written
from evo_libra.explain.drawn_network import DrawnDimension, DrawnNetwork, bandwidth_text, drawn_network
from evo_libra.explain.drawn_order import DrawnOrder, drawn_order
from evo_libra.explain.order_captions import (
    between_text,
    cable_text,
    links_text,
    ports_text,
    systems_texts,
    systems_title,
    tier_title,
)
from evo_libra.network.blocks import ITEMS

_CABLES = tuple(item for item in ITEMS if item.endswith("link"))

FULL = 256
"""NPUs and switches that are drawn one by one; a network of more is folded."""


def network_dot(network: DrawnNetwork) -> str:
    r"""Return the graph in the language DOT, in which edges carry the cables of the whole network as its bill has them.

    Without a problem no parts are known, and edges carry bandwidths alone.

    >>> from evo_libra.explain.drawn_network import drawn_network
    >>> print(network_dot(drawn_network("RI(4)@package:250")))
    graph fabric {
      rankdir=BT;
      node [shape=box];
      npus [label="4 NPUs"];
      npus -- npus [label="RI(4) package\n250 GB/s per NPU"];
    }
    <BLANKLINE>
    """
    lines = ["graph fabric {", "  rankdir=BT;", "  node [shape=box];", f'  npus [label="{network.npus:,} NPUs"];']
    for place, dimension in enumerate(network.dimensions):
        lines += [f"  {line}" for line in _dimension(place, dimension)]
    return "\n".join([*lines, "}", ""])


def order_dot(order: DrawnOrder) -> str:
    """Return the graph of an order: a node for the systems and for each tier, and an edge with the cables between."""
    lines = ["graph order {", "  rankdir=BT;", "  node [shape=box];"]
    below = "systems"
    lines.append(f"  {below} [label={_quoted([systems_title(order), *systems_texts(order)])}];")
    for tier in order.tiers:
        switches = _quoted([f"{tier_title(tier)} {tier.product}", ports_text(tier)])
        lines += [
            f"  {tier.name} [shape=ellipse, label={switches}];",
            f"  {below} -- {tier.name} [label={_quoted([links_text(tier), *map(cable_text, tier.cables)])}];",
        ]
        for links in tier.between:
            label = _quoted([between_text(links), *map(cable_text, links.cables)])
            lines.append(f"  {tier.name} -- {tier.name} [label={label}];")
        below = tier.name
    return "\n".join([*lines, "}", ""])


def _dimension(place: int, dimension: DrawnDimension) -> Iterator[str]:
    label = [dimension.name]
    if dimension.bandwidth_GBps is not None:
        label.append(bandwidth_text(dimension))
    pieces = dimension.pieces or {}
    label += [f"{count:,} x {item}" for item, count in pieces.items() if item in _CABLES]
    target = "npus"
    if dimension.switched:
        target = f"switches{place}"
        stands = [dimension.name]
        if "switch" in pieces:
            stands.append(f"{pieces['switch']:,} x switch")
        if dimension.levels:
            stands.append(f"tiers of a plane: {' + '.join(f'{count:,}' for count in dimension.levels)}")
        yield f"{target} [shape=ellipse, label={_quoted(stands)}];"
    yield f"npus -- {target} [label={_quoted(label)}];"


def _quoted(lines: list[str]) -> str:
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'


def full_dot(chosen: Chosen) -> str:
    """Return every NPU, switch and cable of a design; cables that are alike and side by side are an edge with a count.

    An `InputError` says that there are no parts, or that the cables of a block are not known.
    """
    counts = Counter((one.ends[0][0], one.ends[1][0], f"{one.technology} {one.item}") for one in named_cables(chosen))
    switches = range(1, len(wired(chosen).switch_tier) + 1)
    # NPUs below each other: a page is longer than it is wide.
    lines = ["graph fabric {", "  rankdir=LR;", "  ranksep=4;", "  node [shape=box];"]
    lines += [
        f"  {_quoted([device_name('NPU', number + 1)])};" for number in range(int(chosen.population.npus[:, 0].prod()))
    ]
    lines += [f"  {_quoted([device_name('switch', number)])} [shape=ellipse];" for number in switches]
    for (one, other, what), count in counts.items():
        label = f"{count} x {what}" if count > 1 else what
        lines.append(f"  {_quoted([one])} -- {_quoted([other])} [label={_quoted([label])}];")
    return "\n".join([*lines, "}", ""])


def _write(chosen: Chosen) -> Written:
    if chosen.problem.book is not None:
        left = "each of the systems and switches: a graph of an order has a node for each tier"
        return Written(order_dot(drawn_order(chosen.notation, chosen.problem.book.products)), (left,))
    network = drawn_network(chosen.notation, chosen.problem)
    if any(one.pieces is None for one in network.dimensions):
        return Written(network_dot(network), ("parts, which the problem has no catalogue of",))
    devices = network.npus + sum((one.pieces or {}).get("switch", 0) for one in network.dimensions)
    if devices <= FULL:
        try:
            return Written(full_dot(chosen))
        except InputError as unknown_block:
            return Written(network_dot(network), (str(unknown_block),))
    left = f"each of the {devices:,} NPUs and switches: a graph of more than {FULL} has a node for each level"
    return Written(network_dot(network), (left,))


WRITERS = (
    Writer("graphviz", f"the fabric as a graph of Graphviz, device by device up to {FULL} NPUs and switches", _write),
)
