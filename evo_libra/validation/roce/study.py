"""Collectives on the cluster of the RoCE study: 128 NPUs, 8 leaf and 8 spine switches, 2:1, 200 Gb/s.

The topology is that of ASTRA-sim's ns-3 back end (128 nodes, 16 switches), which is likely the study's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.transport import HEADERS, PAYLOAD, TRANSPORTS
from evo_libra.validation.roce.fluid import Controller, Fluid, Law, Network
from evo_libra.validation.roce.laws import LAWS

NPUS, LEAF, SPINES = 128, 16, 8
RATE, NPU_DELAY, SPINE_DELAY = 25e9, 5e-6, 12.5e-6
STEP = 0.25e-6
"""s of a step of time."""

_UP, _SPINE_UP, _SPINE_DOWN, _DOWN, _OWN_UP, _OWN_DOWN = range(6)
_LINKS = (
    np.full(4, RATE), np.array([NPU_DELAY, SPINE_DELAY, SPINE_DELAY, NPU_DELAY]), np.array([-1, 0, 1, 2]),
    np.array([1.0, SPINES, SPINES, LEAF]),
)  # fmt: skip


@dataclass(frozen=True)
class Phase:
    """Flows that start together: on the study's cluster, of one NPU to a number of NPUs in its leaf and outside it.

    Attributes
    ----------
    near, far : flows of an NPU inside its leaf, and to other leaves.
    crossing : of a leaf's NPUs those that send to other leaves.
    size : bytes of a message.
    times : how often it runs, one after the other.
    fresh : whether its connections are new.
    distance : of pairs that send to each other, 0 where that is not known; pairs keep their connection.
    """

    near: int
    far: int
    crossing: int
    size: float
    times: float = 1.0
    fresh: bool = True
    distance: int = 0


def network_of(phase: Phase) -> Network:
    """Return the classes of flows of a phase: routes are spread evenly over the spines, so that all of a class agree.

    In a ring the NPU at the edge of a leaf sends out of it and the others inside: each class has NICs to itself.
    """
    mixed = phase.near > 0 and phase.far > 0 and phase.crossing == LEAF
    uplink = max(phase.far * phase.crossing / SPINES, 1.0)
    capacity, delay, switch, copies = (np.concatenate([one, one[[_UP, _DOWN]]]) for one in _LINKS)
    own_up, own_down = (_UP, _DOWN) if mixed else (_OWN_UP, _OWN_DOWN)
    if not mixed and phase.near and phase.far:
        copies[[_SPINE_UP, _SPINE_DOWN, _DOWN]], copies[_OWN_DOWN] = 1.0, LEAF - 1.0
    path, sharing = list[list[int]](), list[list[float]]()
    if phase.near:
        path.append([own_up, own_down, -1, -1])
        sharing.append([phase.near, phase.near, 0, 0])
    if phase.far:
        path.append([_UP, _SPINE_UP, _SPINE_DOWN, _DOWN])
        sharing.append([phase.far, uplink, uplink, phase.far])
    return Network(
        capacity=capacity, delay=delay, switch=switch, copies=copies, path=np.array(path),
        sharing=np.array(sharing, dtype=np.float64),
    )  # fmt: skip


def phases_seconds(
    scheme: str,
    phases: Sequence[Phase],
    dt: float = STEP,
    law: Law | None = None,
    routes: Callable[[Phase], Network] = network_of,
) -> float:
    """Return the simulated s of some phases under a scheme, on the network that their routes make.

    Phases follow each other when the last byte of all is there. Packets have their headers and telemetry on the wire.
    """
    wire = (PAYLOAD + HEADERS + TRANSPORTS[scheme].telemetry) / PAYLOAD
    law, total, controllers = law or LAWS[scheme], 0.0, dict[int, Controller]()
    for phase in phases:
        network = routes(phase)
        if phase.fresh or phase.distance not in controllers:
            controllers[phase.distance] = law.controller(network, dt)
        sizes = np.full(len(network.path), phase.size * wire)
        total += phase.times * run(network, controllers[phase.distance], sizes, dt)
    return total


def run(network: Network, controller: Controller, sizes: FloatArray, dt: float) -> float:
    """Return the s until (f,) bytes of each flow have arrived."""
    fluid, left = Fluid(network, dt), sizes.copy()
    most = controller.window()
    while (fluid.delivered < sizes * (1.0 - 1e-9)).any():
        rate = controller.update(fluid.signals())
        offered = np.minimum(rate * dt, left)
        if most is not None:
            most = controller.window()
            assert most is not None  # noqa: S101 - a controller keeps its kind
            offered = np.minimum(offered, np.maximum(most - fluid.unacknowledged, 0.0))
        left = left - fluid.step(offered)
    return fluid.now * dt
