"""Named fabrics of a number of NPUs, which a search starts from and fronts are compared with."""

from __future__ import annotations

from collections.abc import Iterator

from evo_libra.errors import InputError
from evo_libra.network.fabrics.layered import LayeredFabric
from evo_libra.network.fabrics.named import NAMED, parse_named
from evo_libra.network.fabrics.population import fabrics_of

_PORTS = tuple(1 << power for power in range(2, 10))


def named_fabrics(npus: int, server: int) -> dict[str, LayeredFabric]:
    """Return the named fabrics of a number of NPUs that have a form in arrays, by their names.

    Parameters
    ----------
    npus : their number.
    server : NPUs of a server.
    """
    found: dict[str, LayeredFabric] = {}
    for name in _names(npus):
        try:
            fabric = parse_named(name)
            fabrics_of([fabric])
        except InputError:
            continue
        if fabric.npus == npus and fabric.server == server:
            found[name] = fabric
    return found


def _names(npus: int) -> Iterator[str]:
    for name in sorted(NAMED):
        if name in ("bcube", "zcube"):
            yield from (f"{name}({round(npus ** (1 / k))}, {k})" for k in (2, 3))
        elif name in ("hpn", "rail-only", "roft"):
            yield from (f"{name}({npus}, {ports})" for ports in _PORTS)
