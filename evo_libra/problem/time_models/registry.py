"""The time models by name: those of this package, and those that other packages register."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.errors import InputError, unknown
from evo_libra.installed import entry_points_of
from evo_libra.network.blocks import Kit, PricedBlock
from evo_libra.workload.layers.iteration_time import Merging

if TYPE_CHECKING:
    from evo_libra.files.source import Source
    from evo_libra.network.catalog.technologies import Catalog
    from evo_libra.problem.file.spec import TimeSpec
    from evo_libra.problem.time_models.loops import WeightedLoop
    from evo_libra.problem.time_models.time_model import TimeModel

ENTRY_POINTS = "evo_libra.time_models"
"""Group under which a package registers its time models: objects of `TimeKind` by the names of the models."""


class Network(NamedTuple):
    """Properties of every network that time models know: the fields of that name of a `TimeModel`."""

    kits: tuple[Kit | PricedBlock, ...]
    efficiency: FloatArray | None
    owner: IntArray | None
    beyond: BoolArray | None = None
    links: tuple[str, ...] = ()
    unjoined: BoolArray | None = None


class Loops(Protocol):
    """The compiler of the workloads of a problem.

    `check` may refuse a workload by an `InputError`, whose place in the file is then named.
    """

    def __call__(self, merging: Merging, check: Callable[[WeightedLoop], None] = ...) -> Sequence[WeightedLoop]:
        """Return the compiled workloads; `merging` says which of their traffic is one stream."""


Make = Callable[[Loops, Network], "TimeModel"]
"""The factory of the time model of workloads."""


@dataclass(frozen=True)
class TimeKind:
    """A time model of problem files.

    Attributes
    ----------
    read : returns what makes the model, from the checked keys of `time`; an `InputError` names a wrong one.
    keys : those of `time` that the model reads, besides those of all models.
    lacks : begins the sentence that refuses another key.
    solves : whether the best bandwidths can be solved for.
    servers : whether the model times servers of the network, and switches that add up.
    """

    read: Callable[[TimeSpec, Catalog, Source], Make]
    keys: tuple[str, ...] = ()
    lacks: str = "the time model has other keys"
    solves: bool = False
    servers: bool = False


_HOMES = {"libra": ("libra", "KIND"), "astra": ("astra_file", "ASTRA"), "themis": ("astra_file", "THEMIS")}
"""The module and the name of each kind of this package, which are imported when a problem names the model."""

TIME_MODELS = (*_HOMES, *sorted(entry_points_of(ENTRY_POINTS).names - _HOMES.keys()))
"""The names of all time models; users cannot replace those of this package."""


def time_kind(name: str) -> TimeKind:
    """Return a time model by its name; an `InputError` says that there is none."""
    if name in _HOMES:
        module, attribute = _HOMES[name]
        found = getattr(import_module(f"{__package__}.{module}"), attribute)
    elif name in TIME_MODELS:
        found = entry_points_of(ENTRY_POINTS)[name].load()
    else:
        raise InputError(unknown("time model", name, TIME_MODELS))
    if not isinstance(found, TimeKind):
        raise InputError(f"entry point '{name}' of group {ENTRY_POINTS} is no time model but {found!r:.80}")
    return found
