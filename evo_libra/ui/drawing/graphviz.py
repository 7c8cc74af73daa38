"""A network as a graph for Graphviz: one node for each level, with counts of what stands there and of its cables."""

from __future__ import annotations

from collections.abc import Iterator

from evo_libra.network.blocks import ITEMS
from evo_libra.ui.drawing.captions import bandwidth_text
from evo_libra.ui.drawing.network import DrawnDimension, DrawnNetwork

_CABLES = tuple(item for item in ITEMS if item.endswith("link"))


def network_dot(network: DrawnNetwork) -> str:
    r"""Return the graph in the language DOT, in which edges carry the cables of the whole network as its bill has them.

    Without a problem no parts are known, and edges carry bandwidths alone.

    >>> from evo_libra.ui.drawing.network import drawn_network
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
