"""The picture of a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.named_code import trust_files
from evo_libra.ui.commands.names import columns
from evo_libra.ui.commands.shared import Assignments, DesignId, Flag, Json, TrustCode, app
from evo_libra.ui.tables.addresses import Addressed, addressed, chosen, is_address
from evo_libra.ui.tables.fabric_designs import fabric_design
from evo_libra.ui.tables.output import print, print_json

if TYPE_CHECKING:
    from evo_libra.explain.drawn_network import DrawnNetwork
    from evo_libra.explain.drawn_order import DrawnOrder


@app.command
def draw(
    problem: str,
    design: str | None = None,
    *,
    number: DesignId = None,
    assignments: Assignments = (),
    figure: Annotated[Path | None, Parameter(name=["--figure", "-o"])] = None,
    ascii_only: Annotated[Flag, Parameter(name="--ascii")] = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Draw the network of a design or an order: its NPUs, switches and cables, tier by tier.

    Parameters
    ----------
    problem:
        The design, such as last#12, or in the notation alone; or the problem of --design, or the result of --id.
    design:
        The design in the notation, of that problem.
    number:
        Instead of --design, the design's id in the front of that run.
    figure:
        The file to write: a picture, .svg, or a graph for Graphviz, .dot; without it, the picture is printed.
    ascii_only:
        Print characters of ASCII only.
    """
    trust_files(allowed=trust_code)
    if figure is not None and figure.suffix.lower() not in (".svg", ".dot"):
        raise InputError(f"--figure: found {figure}; the file of a picture ends in .svg or .dot")
    if fabric_design(problem, design, number, assignments) is not None:
        raise InputError("a fabric of switches has no picture; `evo-libra export ... --to graphviz` writes its graph")
    if design is not None or number is not None or assignments:
        picture = _of_design(chosen(problem, design, number, assignments))
    elif is_address(problem) and "#" not in problem:
        picture = _of_notation(problem)
    else:
        picture = _of_design(addressed(problem))
    if figure is None and not as_json:
        print("\n".join(picture.lines(columns(), ascii_only)))
        return 0
    if figure is not None:
        try:
            figure.write_text((picture.svg if figure.suffix.lower() == ".svg" else picture.dot)(), encoding="utf-8")
        except OSError as error:
            raise InputError(f"{figure} cannot be written: {(error.strerror or '').lower()}") from None
    if as_json:
        print_json(({} if figure is None else {"figure": str(figure)}) | picture.fields())
    else:
        print(f"picture  {figure}")
    return 0


@dataclass(frozen=True)
class _Picture:
    """A record to draw, and its picture in each form."""

    record: DrawnNetwork | DrawnOrder
    lines: Callable[[int, bool], list[str]]
    svg: Callable[[], str]
    dot: Callable[[], str]

    def fields(self) -> dict[str, Any]:
        """Return all but the places of boxes."""
        return {key: value for key, value in asdict(self.record).items() if key != "sketch"}


def _of_notation(design: str) -> _Picture:
    """Return the picture of a design in the notation; an order is of the products of the package."""
    from evo_libra.explain.drawn_network import drawn_network
    from evo_libra.explain.drawn_order import drawn_order
    from evo_libra.network.orders.catalog import load_products
    from evo_libra.network.orders.choices import CATALOG
    from evo_libra.network.orders.text import is_order

    if is_order(design):
        return _of_order(drawn_order(design, load_products(CATALOG)))
    return _of_network(drawn_network(design))


def _of_design(found: Addressed) -> _Picture:
    """Return the picture of a design of a problem."""
    from evo_libra.explain.drawn_network import drawn_network
    from evo_libra.explain.drawn_order import drawn_order

    if found.problem.book is not None:
        return _of_order(drawn_order(found.design, found.problem.book.products))
    return _of_network(drawn_network(found.design, found.problem))


def _of_network(network: DrawnNetwork) -> _Picture:
    from evo_libra.exchange.graphviz import network_dot
    from evo_libra.pictures.networks.characters import network_lines
    from evo_libra.pictures.networks.svg import network_svg

    return _Picture(
        network,
        lambda wide, ascii_only: network_lines(network, wide, ascii_only=ascii_only),
        lambda: network_svg(network),
        lambda: network_dot(network),
    )


def _of_order(order: DrawnOrder) -> _Picture:
    from evo_libra.exchange.graphviz import order_dot
    from evo_libra.pictures.networks.order_characters import order_lines
    from evo_libra.pictures.networks.order_svg import order_svg

    return _Picture(
        order,
        lambda wide, ascii_only: order_lines(order, wide, ascii_only=ascii_only),
        lambda: order_svg(order),
        lambda: order_dot(order),
    )
