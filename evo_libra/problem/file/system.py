"""Loader of the section `system` of a problem file: the bill of everything besides network and accelerators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import GIGA, BoolArray, FloatArray
from evo_libra.errors import InputError
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.yaml_reader import format_key
from evo_libra.network.blocks import Kit
from evo_libra.network.catalog.hosts import HostSpec, SourcedSpec, host_of, price_range
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.needs import NPU_PRICE, NPU_WATTS
from evo_libra.problem.system import Fixed, Hosts, MemoryOfPlans, OfPlans, SsdsOfPlans, SystemRow
from evo_libra.problem.system_bill import SystemBill
from evo_libra.problem.time_models.loops import WeightedLoop

if TYPE_CHECKING:
    from evo_libra.problem.file.training_spec import ServerSpec

CHANNELS = "I/O channels"
"""Rows that no catalogue and no key has a price or a power of."""

_KEYS = {"price": "price_usd", "watts": "power_W"}


class SystemLoader:
    """Reads the section `system` of a problem file."""

    def __init__(self, file: ProblemFile) -> None:
        self.source, self.spec, self.fail = file.source, file.spec, file.fail

    def bill(self, loops: Sequence[WeightedLoop] = (), kits: Sequence[Kit] = ()) -> SystemBill:
        """Return the rows; none where the file has no such section, no expansion memory and no server of parameters.

        Servers and SSDs are those of workloads, and NICs of servers those of kits. An `InputError` says that there is
        no host of a name, or which figures have no source.
        """
        rows = [row for row in (self._host(), self._storage()) if row is not None]
        if not rows and self.spec.system is not None:
            raise self.fail(("system",), "it is empty; it takes a host, storage, or both")
        rows += [*self._optimizers(loops, kits), *self._expansion(loops)]
        return SystemBill(tuple(rows))

    def lacks(self, bill: SystemBill) -> dict[str, str]:
        """Return the needs of figures which a row lacks, each with the rest of a sentence that begins with a name."""
        found = {}
        for need, figure in ((NPU_PRICE, "price"), (NPU_WATTS, "watts")):
            for row in bill.lacking(figure)[:1]:
                key = row.price_key if figure == "price" else _KEYS[figure]
                found[need] = (
                    f"needs a figure of the {row.name}, which no source and no key gives; leave this objective out"
                    if row.name == CHANNELS else
                    f"needs `{row.key}.{key}` of the {row.name}, and no source gives it; a figure of your own with its "
                    "source can"
                )  # fmt: skip
        return found

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
        return Hosts(
            name=name, unit="host", price=price, watts=host.power_W, key="system.host", source=_sources(host),
            npus=host.npus,
        )  # fmt: skip

    def _storage(self) -> SystemRow | None:
        given = self.spec.system.storage if self.spec.system else None
        if given is None:
            return None
        self._check_sources(("system", "storage"), given)
        price = price_range(given.price_usd)
        return Fixed(
            name="storage", unit="TB", price=price, watts=given.power_W, key="system.storage", source=_sources(given),
            count=given.capacity_TB,
        )  # fmt: skip

    def _optimizers(self, loops: Sequence[WeightedLoop], kits: Sequence[Kit]) -> Iterator[SystemRow]:
        """Yield the needs of places of optimizers besides hosts; each workload has servers of its own."""
        for index, (spec, loop) in enumerate(zip(self.spec.workloads, loops, strict=False)):
            table, plans = loop.open_place, loop.workload.every_plan
            if spec.training is None or plans is None:
                continue
            from evo_libra.problem.file.offload import hosted  # noqa: PLC0415 - tables of layers do not need it
            from evo_libra.workload.plans.plans import IO, NETWORK, NVME  # noqa: PLC0415 - the same

            place = np.broadcast_to(plans.optimizer, len(plans))
            host = hosted(self.spec.system)
            if (place == NVME).any() and host is not None and host.ssds is not None:
                price, source = price_range(host.ssd_price_usd), host.source_of("ssd_price_usd")
                yield SsdsOfPlans(
                    name="SSDs of hosts", unit="SSD", price=price, watts=0.0, key="system.host", source=source,
                    count=host.ssds, needed=place == NVME, table=table, host_npus=host.npus,
                )  # fmt: skip
            server = spec.training.optimizer.server
            if server is not None and (place == IO).any():
                key = f"workloads[{index}].training.optimizer.server"
                yield OfPlans(
                    name=CHANNELS, unit="channel", price=None, watts=None, key=key, source="",
                    count=server.count, needed=place == IO, table=table,
                )  # fmt: skip
            if server is not None and server.host is not None and (place == NETWORK).any():
                yield from self._servers(index, server, server.host, needed=place == NETWORK, table=table, kits=kits)

    def _expansion(self, loops: Sequence[WeightedLoop]) -> Iterator[SystemRow]:
        """Yield the expansion memory of NPUs."""
        spec, each = self.spec.memory.expansion, list[tuple[FloatArray, int | None]]()
        if spec is None:
            return
        from evo_libra.problem.file.offload import expansions_of_file  # noqa: PLC0415 - few problems have any

        self._check_sources(("memory", "expansion"), spec)
        choices = np.array([one.capacity for one in expansions_of_file(spec)]) / GIGA
        for loop in loops:
            if (plans := loop.workload.every_plan) is not None:
                each.append((np.broadcast_to(choices[plans.expansion], len(plans)), loop.open_place))
        price, key = price_range(spec.price_usd), "memory.expansion"
        yield MemoryOfPlans(
            name="expansion memory", unit="GB", price=price, watts=spec.power_W, key=key, source=_sources(spec),
            each=tuple(each),
        )  # fmt: skip

    def _servers(
        self, index: int, server: ServerSpec, given: str | HostSpec, *, needed: BoolArray, table: int | None,
        kits: Sequence[Kit],
    ) -> Iterator[SystemRow]:  # fmt: skip
        path: KeyPath = ("workloads", index, "training", "optimizer", "server", "host")
        host, key = host_of(given), format_key(path)
        self._check_sources(path, given if isinstance(given, HostSpec) else host)
        name = " ".join(filter(None, ("servers", given if isinstance(given, str) else given.base)))
        price = price_range(host.price_usd)
        yield OfPlans(
            name=name, unit="server", price=price, watts=host.power_W, key=key, source=_sources(host),
            count=server.count, needed=needed, table=table,
        )  # fmt: skip
        if host.ssds is not None:
            price, source = price_range(host.ssd_price_usd), host.source_of("ssd_price_usd")
            yield SsdsOfPlans(
                name="SSDs of servers", unit="SSD", price=price, watts=0.0, key=key, source=source,
                count=server.count * host.ssds, needed=needed, table=table,
            )  # fmt: skip
        for nic in dict.fromkeys(kit.nic for kit in kits if kit.nic is not None):
            mine = tuple(t for t, kit in enumerate(kits) if kit.nic == nic)
            yield OfPlans(
                name=f"{nic.name} of servers", unit="NIC", price=nic.price, watts=nic.power, key=key, source=nic.source,
                count=server.count, needed=needed, table=table, outermost=mine,
            )  # fmt: skip

    def _check_sources(self, path: KeyPath, spec: SourcedSpec) -> None:
        wrong = [self.source.mistake((*path, *key.split(".")), text) for key, text in spec.mistakes()]
        if wrong:
            raise InputError(wrong)


def _sources(spec: SourcedSpec) -> str:
    """Return where price and power come from."""
    return "; ".join(dict.fromkeys(filter(None, map(spec.source_of, _KEYS.values()))))
