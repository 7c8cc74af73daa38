"""Cables for links of some lengths, and the modules at their ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evo_libra.network.orders.cables import Choice, Ends, Plug, cheapest
from evo_libra.network.orders.products import ProductsSpec
from evo_libra.network.orders.runs import Modules, Place, Run
from evo_libra.network.orders.ways import Ways


@dataclass(frozen=True)
class Laid:
    """Cables of one kind and length, and what they end in."""

    run: Run
    choice: Choice


def lay(ways: Ways, ends: Ends, products: ProductsSpec, *, beyond: float = 0.0) -> list[Laid]:
    """Return the cables of each length; an InputError where none reaches as far and as many metres beyond its end."""
    found = []
    for metres, links in ways.links:
        choice = cheapest(ends, metres + beyond, products, together=ways.together)
        found.append(Laid(Run(ways.tier, choice.name, metres, links, -(-links // choice.links)), choice))
    return found


def in_whole_pieces(laid: Sequence[Laid], ends: Iterable[tuple[Mapping[str, int], int]]) -> list[Laid]:
    """Return cables with the pieces that switches need, as one of several links ends in one cage.

    Parameters
    ----------
    ends : links of each cable at a switch, and at how many switches it is so.

    The longest of a kind have the pieces that are not full.
    """
    served, needed = {one.run.cable: one.choice.links for one in laid}, Counter[str]()
    for links, switches in ends:
        for cable, some in links.items():
            needed[cable] += -(-some // served[cable]) * switches
    found = list(laid)
    for cable, place in {one.run.cable: place for place, one in enumerate(laid)}.items():
        more = needed[cable] - sum(one.run.pieces for one in laid if one.run.cable == cable)
        longest = found[place]
        if more > 0:
            found[place] = replace(longest, run=replace(longest.run, pieces=longest.run.pieces + more))
    return found


def links_at_switches(ways: Ways, laid: Sequence[Laid]) -> Iterator[tuple[Mapping[str, int], int]]:
    """Yield the links of each cable at a switch, and at how many switches it is so."""
    cables = {one.run.metres: one.run.cable for one in laid}
    for _, ends, switches in ways.ends:
        links: Counter[str] = Counter()
        for metres, some in ends:
            links[cables[metres]] += some
        yield links, switches


def spread_evenly(
    laid: Sequence[Laid], leaves: Sequence[tuple[int, int]], together: int
) -> Iterator[tuple[Mapping[str, int], int]]:
    """Yield the links of each cable at a leaf, and how many leaves have them, in proportion to all of its links.

    Parameters
    ----------
    leaves : links of a leaf, and how many leaves have so.
    together : links of a system to a leaf, which have one length and one kind of cable.
    """
    links: Counter[str] = Counter()
    for one in laid:
        links[one.run.cable] += one.run.links
    whole = sum(each * alike for each, alike in leaves)
    for cable, some in links.items():
        before = given = 0
        unit = together if some % together == 0 else 1
        for each, alike in leaves:
            before += each * alike
            until = some // unit * before // whole
            least, more = divmod(until - given, max(alike, 1))
            yield {cable: least * unit}, alike - more
            yield {cable: (least + 1) * unit}, more
            given = until


def modules_in_switches(ways: Ways, laid: Sequence[Laid]) -> Iterator[Modules]:
    """Yield the modules of switches, which serve links of one kind of module at one switch."""
    plugs = {one.run.metres: one.choice.upper for one in laid}
    pieces: Counter[tuple[Place, str]] = Counter()
    for place, links, switches in _links_of_plugs(ways, plugs):
        for plug, some in links.items():
            if plug is not None:
                pieces[place, plug.module] += -(-some // plug.links) * switches
    yield from (Modules(ways.tier, place, module, some) for (place, module), some in pieces.items())


def _links_of_plugs(
    ways: Ways, plugs: Mapping[float, Plug | None]
) -> Iterator[tuple[Place, Mapping[Plug | None, int], int]]:
    """Yield the links of each plug at a switch, and at how many switches it is so."""
    kinds = set(plugs.values())
    if len(kinds) == 1:
        yield from ((place, dict.fromkeys(kinds, links), switches) for place, links, switches in ways.totals)
        return
    for place, ends, switches in ways.ends:
        links: Counter[Plug | None] = Counter()
        for metres, some in ends:
            links[plugs[metres]] += some
        yield place, links, switches


def modules_in_nics(laid: Sequence[Laid], per_cage: int) -> Iterator[Modules]:
    """Yield the modules of NICs, whose cages are alike."""
    links: Counter[Plug | None] = Counter()
    for one in laid:
        links[one.choice.lower] += one.run.links
    for plug, some in links.items():
        if plug is not None:
            alike = some // per_cage * -(-per_cage // plug.links) + -(-(some % per_cage) // plug.links)
            yield Modules(laid[0].run.tier, "NICs", plug.module, alike)
