"""From expansion memory, hosts and servers of a problem file to the memory and the rates that steps have there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from evo_libra.arrays import GIGA
from evo_libra.errors import InputError
from evo_libra.files.mistakes import KeyPath
from evo_libra.network.catalog.hosts import HostSpec, host_of, load_hosts
from evo_libra.problem.file.hardware_spec import ExpansionSpec, SystemSpec
from evo_libra.problem.file.training_spec import OptimizerSpec, ServerSpec, SoftwareSpec, TrainingSpec
from evo_libra.problem.time_models.registry import time_kind
from evo_libra.workload.models.stacks import Stack
from evo_libra.workload.training.expansion import NO_EXPANSION, Expansion
from evo_libra.workload.training.offload import HostUpdate, Offload, OffloadHost, ParameterServer


def expansions_of_file(spec: ExpansionSpec | None) -> tuple[Expansion, ...]:
    """Return the choices of expansion memory, the least first: none is one choice, whatever its bandwidth."""
    if spec is None:
        return ()
    capacities, bandwidths = (
        given if isinstance(given, tuple) else (given,) for given in (spec.capacity_GB, spec.bandwidth_GBps)
    )
    found = {
        Expansion(capacity * GIGA, bandwidth * GIGA / spec.shared_by) if capacity else NO_EXPANSION
        for capacity, bandwidth in product(capacities, bandwidths)
    }
    return tuple(sorted(found, key=lambda one: (one.capacity, one.bandwidth)))


_UPDATE = ("memory_GBps", "GFLOPS")
_SSDS = ("ssds", "ssd_GBps")
NEEDED = {
    "host": ("link_GBps", "memory_GB", *_UPDATE),
    "nvme": ("link_GBps", "memory_GB", *_UPDATE, *_SSDS),
    "network": (*_UPDATE, *_SSDS),
}
"""Figures of a host, or of a server, that a place of the optimizer needs."""

_PLAIN = SoftwareSpec.model_validate({})
_KEY: KeyPath = ("training", "optimizer")


def places_of(spec: OptimizerSpec) -> tuple[str, ...]:
    """Return the places that plans may choose from."""
    return (spec.placement,) if isinstance(spec.placement, str) else tuple(dict.fromkeys(spec.placement))


def hosted(system: SystemSpec | None) -> HostSpec | None:
    """Return the host of a system; None where the file names none, or there is none of its name."""
    try:
        return None if system is None or system.host is None else host_of(system.host)
    except InputError:  # the system's own reader says so
        return None


def offloads_layers(spec: TrainingSpec) -> bool:
    """Return whether activations of some layers wait in the memory of hosts in some plan."""
    given = spec.offload_layers
    return any(given) if isinstance(given, tuple) else bool(given)


def named_hosts(spec: TrainingSpec, system: SystemSpec | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the hosts of the catalogue that what is offloaded has its rates from, with their figures."""
    if offload_of(spec.optimizer, None, layers=offloads_layers(spec)) is None:
        return
    for given in (
        None if system is None else system.host,
        None if spec.optimizer.server is None else spec.optimizer.server.host,
    ):
        if isinstance(given, str) and given in load_hosts():
            yield given, load_hosts()[given].model_dump(mode="json", exclude={"source", "sources"}, exclude_none=True)


def offload_mistakes(
    training: TrainingSpec, system: SystemSpec | None, time: str, *, bought: bool = False
) -> Iterator[tuple[KeyPath, str]]:
    """Yield what the places of an optimizer and of activations lack: the key within a workload, and a sentence.

    Systems that are `bought` have no link to the memory of their hosts in the catalogue.
    """
    where = ", which `question: design` has" if bought else ""
    spec, places = training.optimizer, places_of(training.optimizer)
    for key, text in spec.software.mistakes():
        yield (*_KEY, "software", *key.split(".")), text
    if offloads_layers(training):
        yield from _without_host(system, where)
    around = [place for place in places if place in ("host", "nvme")]
    if spec.checkpoints == "host" and not around:
        around = ["host"]
    if around and (system is None or system.host is None):
        needed = f"the key `system.host`{where}, {' or '.join(load_hosts())} or figures"
        key = "placement" if "host" in places or "nvme" in places else "checkpoints"
        yield (*_KEY, key), f"the optimizer in {around[-1]} needs {needed}"
    elif (host := hosted(system)) is not None:
        yield from _lacking("placement", "`system.host`", host, around)
    yield from _server_mistakes(spec, places)
    if (away := [place for place in _SERVED if place in places]) and not time_kind(time).servers:
        message = f"the optimizer in {away[0]} is timed under LIBRA's time; `time: {time}` has no networks that add up"
        yield (*_KEY, "placement"), message


_SERVED = {
    "network": "servers that hold weights and states",
    "io": "the I/O channels that weights stream through: `{count: 18, link_GBps: 128}`",
}
"""Places that need the key `server`, with what it is there."""


def _server_mistakes(spec: OptimizerSpec, places: Sequence[str]) -> Iterator[tuple[KeyPath, str]]:
    """Yield what servers or I/O channels lack."""
    server = spec.server
    if server is None:
        yield from (
            ((*_KEY, "server"), f"the optimizer in {place} needs this key, {what}")
            for place, what in _SERVED.items()
            if place in places
        )
    elif "io" in places and "network" not in places and server.host is not None:
        yield (*_KEY, "server", "host"), "I/O channels have no host; leave this key out"
    elif "network" in places and server.host is None:
        yield (*_KEY, "server", "host"), "the optimizer in network needs this key, what each server is"
    elif "network" in places and server.host is not None:
        try:
            yield from _lacking("server", "its host", host_of(server.host), ["network"])
        except InputError as error:
            yield (*_KEY, "server", "host"), str(error)


def _without_host(system: SystemSpec | None, where: str) -> Iterator[tuple[KeyPath, str]]:
    """Yield what a host lacks for the activations of layers."""
    key, host = ("training", "offload_layers"), hosted(system)
    if system is None or system.host is None:
        yield key, f"layers wait in a host: the key `system.host` is needed{where}, with {', '.join(NEEDED['host'])}"
    elif host is not None and (lacking := [one for one in NEEDED["host"] if getattr(host, one) is None]):
        yield key, f"layers wait in a host, and `system.host` has no {', '.join(lacking)}"


def _lacking(key: str, what: str, host: HostSpec, places: Sequence[str]) -> Iterator[tuple[KeyPath, str]]:
    needed = dict.fromkeys(figure for place in places for figure in NEEDED[place])
    if lacking := [figure for figure in needed if getattr(host, figure) is None]:
        yield (*_KEY, key), f"{what} has no {', '.join(lacking)}, which the optimizer in {' and '.join(places)} needs"


def offload_of(spec: OptimizerSpec, host: HostSpec | None, *, layers: bool = False) -> Offload | None:
    """Return what plans may move the optimizer and activations to; None where they stay on the NPUs.

    There are no mistakes.

    Parameters
    ----------
    layers : whether the activations of some layers wait in hosts.
    """
    if places_of(spec) == ("npu",) and spec.checkpoints == "npu" and not layers:
        return None
    server = spec.server if _SERVED.keys() & set(places_of(spec)) else None
    return Offload(_host(host, spec.software), None if server is None else _server(server), spec.checkpoints == "host")


def software_of(stack: Stack, spec: SoftwareSpec) -> Stack:
    """Return training software with what a file says of its data parallel traffic."""
    return replace(
        stack,
        data_rate=stack.data_rate if spec.beside_products is None else spec.beside_products,
        data_processors=stack.data_processors if spec.processors is None else spec.processors,
        exposes_data=stack.exposes_data if spec.exposed is None else spec.exposed,
    )


def _host(spec: HostSpec | None, software: SoftwareSpec = _PLAIN) -> OffloadHost | None:
    if spec is None or None in (spec.link_GBps, spec.memory_GB, spec.memory_GBps, spec.GFLOPS):
        return None
    npus = spec.npus or 1
    ssd = None if spec.ssd_rate is None else spec.ssd_rate * GIGA / npus
    link, capacity, memory, flop = (
        GIGA * (value or 0.0) for value in (spec.link_GBps, spec.memory_GB, spec.memory_GBps, spec.GFLOPS)
    )
    rate = math.inf if software.adam_Gweights is None else software.adam_Gweights * GIGA / npus
    update = HostUpdate(rate, software.ssd_update == "serial", float(software.ssd_gradient_bytes or 0))
    return OffloadHost(link, capacity / npus, memory / npus, flop / npus, ssd_rate=ssd, update=update)


def _server(spec: ServerSpec) -> ParameterServer:
    if spec.host is None:
        return ParameterServer(spec.count * GIGA * spec.link_GBps, *([math.inf] * 3))
    host = host_of(spec.host)
    rates = (spec.link_GBps, host.memory_GBps, host.GFLOPS, host.ssd_rate)
    return ParameterServer(*(spec.count * GIGA * (rate or 0.0) for rate in rates))
