"""From the section `system` of a problem file to the bill of what is bought beside network and accelerators."""

from __future__ import annotations

from collections.abc import Sequence

from evo_libra.errors import InputError
from evo_libra.files.mistakes import KeyPath
from evo_libra.network.catalog.hosts import HostSpec, SourcedSpec, host_of, price_range
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.system import Fixed, Hosts, SystemBill, SystemRow

_KEYS = {"price": "price_usd", "watts": "power_W"}


class SystemLoader:
    """Reads the section `system` of a problem file."""

    def __init__(self, file: ProblemFile) -> None:
        self.source, self.spec, self.fail = file.source, file.spec, file.fail

    def bill(self) -> SystemBill | None:
        """Return the rows; None where the file has no such section.

        An `InputError` says that there is no host of a name, or which figures have no source.
        """
        if self.spec.system is None:
            return None
        rows = [row for row in (self._host(), self._storage()) if row is not None]
        if not rows:
            raise self.fail(("system",), "it is empty; it takes a host, storage, or both")
        return SystemBill(tuple(rows))

    def check(self, bill: SystemBill | None, asked: Sequence[tuple[str, str]]) -> None:
        """Refuse objectives and constraints, by their key, that need a figure which a row lacks."""
        for place, name in asked:
            for figure, needed in (("price", MEASURES[name].priced), ("watts", MEASURES[name].drawn)):
                lacking = bill.lacking(figure) if bill is not None and needed else []
                if lacking:
                    row, key = lacking[0], _KEYS[figure]
                    raise self.fail(
                        (place,), f"{name} needs `{row.key}.{key}` of the {row.name}, and no source gives it; a figure "
                        "of your own with its source can"
                    )  # fmt: skip

    def _host(self) -> SystemRow | None:
        given = self.spec.system.host if self.spec.system else None
        if given is None:
            return None
        own = given if isinstance(given, HostSpec) else None
        try:
            host = host_of(given)
        except InputError as error:
            raise self.fail(("system", "host"), str(error)) from None
        self._check_sources(("system", "host"), own or host)
        if host.npus is None:
            raise self.fail(("system", "host"), "how many accelerators a host has is missing: `npus`")
        name = " ".join(filter(None, ("hosts", given if isinstance(given, str) else given.base)))
        price = price_range(host.price_usd)
        return Hosts(name, "host", price, host.power_W, "system.host", _sources(host), host.npus)

    def _storage(self) -> SystemRow | None:
        given = self.spec.system.storage if self.spec.system else None
        if given is None:
            return None
        self._check_sources(("system", "storage"), given)
        price = price_range(given.price_usd)
        return Fixed("storage", "TB", price, given.power_W, "system.storage", _sources(given), given.capacity_TB)

    def _check_sources(self, path: KeyPath, spec: SourcedSpec) -> None:
        wrong = [self.source.mistake((*path, *key.split(".")), text) for key, text in spec.mistakes()]
        if wrong:
            raise InputError(wrong)


def _sources(spec: SourcedSpec) -> str:
    """Return where price and power come from."""
    return "; ".join(dict.fromkeys(filter(None, map(spec.source_of, _KEYS.values()))))
