"""The picture of a network."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.ui.commands.names import columns
from evo_libra.ui.commands.shared import Flag, Json, TrustCode, app
from evo_libra.ui.tables.addresses import DesignAddress, addressed, is_address
from evo_libra.ui.tables.output import print, print_json


@app.command
def draw(
    design: DesignAddress,
    *,
    figure: Annotated[Path | None, Parameter(name=["--figure", "-o"])] = None,
    ascii_only: Annotated[Flag, Parameter(name="--ascii")] = False,
    trust_code: TrustCode = False,
    as_json: Json = False,
) -> int:
    """Draw the network of a design: its NPUs, switches and cables, tier by tier.

    Parameters
    ----------
    figure:
        The file to write: a picture, .svg, or a graph for Graphviz, .dot; without it, the picture is printed.
    ascii_only:
        Print characters of ASCII only.
    """
    from evo_libra.exchange.graphviz import network_dot
    from evo_libra.explain.drawn_network import drawn_network
    from evo_libra.pictures.networks.characters import network_lines
    from evo_libra.pictures.networks.svg import network_svg

    writers = {".svg": network_svg, ".dot": network_dot}
    if figure is not None and figure.suffix.lower() not in writers:
        raise InputError(f"--figure: found {figure}; the file of a picture ends in {' or '.join(writers)}")
    if is_address(design) and "#" not in design:  # notation alone
        network = drawn_network(design)
    else:
        found = addressed(design, trust_code=trust_code)
        network = drawn_network(found.design, found.problem)
    if figure is None and as_json:
        print_json(asdict(network))
        return 0
    if figure is None:
        print("\n".join(network_lines(network, columns(), ascii_only=ascii_only)))
        return 0
    try:
        figure.write_text(writers[figure.suffix.lower()](network), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{figure} cannot be written: {(error.strerror or '').lower()}") from None
    if as_json:
        print_json({"figure": str(figure), **asdict(network)})
    else:
        print(f"picture  {figure}")
    return 0
