"""From the hosts and servers of a training step to the rates that an optimizer has there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evo_libra.arrays import GIGA
from evo_libra.errors import unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.network.catalog.hosts import HostSpec, load_hosts
from evo_libra.problem.file.training_spec import OptimizerSpec, ServerSpec
from evo_libra.workload.step.offload import Machine, Offload, OffloadHost, ParameterServer
from evo_libra.workload.step.plans import NETWORK, NVME, PLACEMENTS

_UPDATE = ("memory_GBps", "GFLOPS")
_SSDS = ("ssds", "ssd_GBps")
NEEDED = {
    "host": ("link_GBps", "memory_GB", *_UPDATE),
    "nvme": ("link_GBps", "memory_GB", *_UPDATE, *_SSDS),
    "network": (*_UPDATE, *_SSDS),
}
"""Figures of a host, or of a server, that a place of the optimizer needs."""

_KEY: KeyPath = ("training", "optimizer")


def places_of(spec: OptimizerSpec) -> tuple[str, ...]:
    """Return the places that plans may choose from."""
    return (spec.placement,) if isinstance(spec.placement, str) else tuple(dict.fromkeys(spec.placement))


def chosen_host(given: str | HostSpec) -> HostSpec | None:
    """Return a host by its name or its figures; None where there is none of that name."""
    return load_hosts().get(given) if isinstance(given, str) else given


def named_hosts(spec: OptimizerSpec) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the hosts of the catalogue that a file names, with their figures."""
    for given in (spec.host, None if spec.server is None else spec.server.host):
        if isinstance(given, str) and (found := chosen_host(given)) is not None:
            yield given, found.model_dump(mode="json", exclude={"source"})


def offload_mistakes(spec: OptimizerSpec, time: str) -> Iterator[tuple[KeyPath, str]]:
    """Yield what the places of an optimizer lack: the key within a workload, and a sentence."""
    places = places_of(spec)
    around = [place for place in places if place in ("host", "nvme")]
    if spec.checkpoints == "host" and not around:
        around = ["host"]
    for key, given, asked in (
        (("host",), spec.host, around),
        (("server", "host"), None if spec.server is None else spec.server.host, [p for p in places if p == "network"]),
    ):
        yield from _host_mistakes(key, given, asked)
    if "network" in places and time != "libra":
        message = f"servers of the network are timed under LIBRA's time; `time: {time}` has no switches that add up"
        yield (*_KEY, "placement"), message


def _host_mistakes(key: KeyPath, given: str | HostSpec | None, asked: Sequence[str]) -> Iterator[tuple[KeyPath, str]]:
    if given is None:
        if asked:
            yield (
                (*_KEY, key[0]),
                f"the optimizer in {asked[-1]} needs this key, {' or '.join(load_hosts())} or figures",
            )
        return
    found = chosen_host(given)
    if found is None:
        yield (*_KEY, *key), unknown("host", str(given), load_hosts())
        return
    needed = dict.fromkeys(figure for place in asked for figure in NEEDED[place])
    if lacking := [figure for figure in needed if getattr(found, figure) is None]:
        what = f"{given} has" if isinstance(given, str) else "these figures have"
        yield (*_KEY, *key), f"{what} no {', '.join(lacking)}, which the optimizer in {' and '.join(asked)} needs"


def offload_of(spec: OptimizerSpec, npus: int) -> Offload | None:
    """Return what plans of so many NPUs may move the optimizer to; None where it stays there. There are no mistakes."""
    if places_of(spec) == ("npu",) and spec.checkpoints == "npu":
        return None
    host = None if spec.host is None else chosen_host(spec.host)
    server = spec.server if "network" in places_of(spec) else None
    machines = [*_hosts(spec, npus), *_servers(server)]
    return Offload(
        _host(host), None if server is None else _server(server), spec.checkpoints == "host", tuple(machines)
    )


def _hosts(spec: OptimizerSpec, npus: int) -> Iterator[Machine]:
    """Yield the hosts, which all plans have, and their SSDs."""
    host = None if spec.host is None else chosen_host(spec.host)
    if host is not None:
        count = -(-npus // host.npus)
        yield Machine(f"host {_named(spec.host)}", tuple(range(len(PLACEMENTS))), count, host.price_usd)
        if host.ssds and "nvme" in places_of(spec):
            yield Machine("SSD of hosts", (NVME,), count * host.ssds, host.ssd_price_usd)


def _servers(server: ServerSpec | None) -> Iterator[Machine]:
    """Yield the servers of the network, their NICs and their SSDs."""
    host = None if server is None else chosen_host(server.host)
    if server is not None and host is not None:
        yield Machine(f"server {_named(server.host)}", (NETWORK,), server.count, host.price_usd)
        yield Machine("NIC of servers", (NETWORK,), server.count, network=True)
        if host.ssds:
            yield Machine("SSD of servers", (NETWORK,), server.count * host.ssds, host.ssd_price_usd)


def _named(given: str | HostSpec | None) -> str:
    return given if isinstance(given, str) else "of the file"


def _host(spec: HostSpec | None) -> OffloadHost | None:
    if spec is None or None in (spec.link_GBps, spec.memory_GB, spec.memory_GBps, spec.GFLOPS):
        return None
    ssd = None if spec.ssd_rate is None else spec.ssd_rate * GIGA / spec.npus
    link, capacity, memory, flop = (
        GIGA * (value or 0.0) for value in (spec.link_GBps, spec.memory_GB, spec.memory_GBps, spec.GFLOPS)
    )
    return OffloadHost(link, capacity / spec.npus, memory / spec.npus, flop / spec.npus, ssd)


def _server(spec: ServerSpec) -> ParameterServer:
    host = chosen_host(spec.host)
    assert host is not None, "the caller has looked"  # noqa: S101 - our mistake
    rates = (spec.link_GBps, host.memory_GBps, host.GFLOPS, host.ssd_rate)
    return ParameterServer(*(spec.count * GIGA * (rate or 0.0) for rate in rates))
