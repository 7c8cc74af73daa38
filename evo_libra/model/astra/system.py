"""What runs collectives: implementations, chunks, and the dimensions of the designs of a population."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evo_libra.model.arrays import BoolArray, FloatArray, IntArray
from evo_libra.model.astra.phase import Implementation, Link, Overheads, phase_time
from evo_libra.model.astra.queues import Policy
from evo_libra.model.astra.themis import Scheduler
from evo_libra.model.collective import Collective


@dataclass(frozen=True)
class Choice:
    """Implementations of a dimension that differ by design.

    Attributes
    ----------
    options : what there is.
    index : (n,) which of them each design has.

    Raises
    ------
    ValueError : an index is of none of the options.
    """

    options: tuple[Implementation, ...]
    index: IntArray

    def __post_init__(self) -> None:
        if ((self.index < 0) | (self.index >= len(self.options))).any():
            raise ValueError(f"an index into {len(self.options)} implementations is out of range")


@dataclass(frozen=True)
class System:
    """What ASTRA-sim's system file says of collectives.

    Attributes
    ----------
    implementations : of each collective, one a dimension; a `Choice` where designs differ.
    splits : chunks that a collective is cut into (``preferred-dataset-splits``), a number or (n,).
    active : chunks that a dimension runs at a time (``active-chunks-per-dimension``).
    shrinking : whether an all-reduce scatters inwards and gathers back (``localBWAware``) or runs whole in each
        dimension (``baseline``).
    overheads : of the NPUs.
    queues : of each dimension; the chunks at a time are spread over them.
    scheduler : which dimensions a chunk takes first; `policy` : which chunk a dimension takes first. ASTRA-sim has
        both, though no released version reads them from its files.
    """

    implementations: Mapping[Collective, Sequence[Implementation | Choice]]
    splits: int | IntArray
    active: int
    shrinking: bool
    overheads: Overheads
    queues: int = 1
    scheduler: Scheduler = Scheduler.BASELINE
    policy: Policy = Policy.FIFO

    @property
    def slots(self) -> int:
        """Return how many chunks a queue runs at a time."""
        return -(-self.active // self.queues)


@dataclass(frozen=True)
class Chunks:
    """How collectives are cut.

    Attributes
    ----------
    size : (n,) bytes of a chunk.
    count : (n,) chunks; a remainder is one more whole chunk.
    whole : (n,) bytes of the collective.
    """

    size: IntArray
    count: IntArray
    whole: IntArray

    def select(self, designs: IntArray) -> Chunks:
        """Return the chunks of some designs."""
        return Chunks(self.size[designs], self.count[designs], self.whole[designs])


def cut(collective: Collective, size: int | IntArray, npus: IntArray, splits: int | IntArray) -> Chunks:
    """Return the chunks of n collectives.

    Parameters
    ----------
    collective : what is cut.
    size : bytes, a number or (n,).
    npus : (n,) the least bytes of a chunk, but of an all-gather's.
    splits : chunks wanted, a number or (n,).

    Raises
    ------
    ValueError : there are no chunks, or they are empty.
    """
    shape, least, splits, whole = npus.shape, npus, np.atleast_1d(splits), np.atleast_1d(size)
    if (npus == npus[:1]).all():
        least = npus[:1]  # one division does for designs that are all cut alike
    if (splits < 1).any():
        raise ValueError(f"a collective cannot be cut into {splits.min()} chunks")
    chunk = whole // splits
    if collective is not Collective.ALL_GATHER:
        raised = least > chunk
        chunk, whole = np.where(raised, least, chunk), np.where(raised, splits * least, whole)
    if not chunk.all():
        bytes_, parts = (values[chunk == 0][0] for values in np.broadcast_arrays(whole, splits))
        raise ValueError(f"an all-gather of {bytes_} bytes cannot be cut into {parts} chunks")
    return Chunks(*(np.broadcast_to(found, shape) for found in (chunk, -(-whole // chunk), whole)))


@dataclass(frozen=True)
class Part:
    """Some designs of a population, and what runs one collective in them.

    Attributes
    ----------
    designs : (n,) which designs of the population these are.
    links : of each dimension, n designs each.
    implementations : of each dimension; the dimensions behind are not used.
    used : (d, n) whether a dimension takes part.
    overheads : of the NPUs.
    """

    designs: IntArray
    links: Sequence[Link]
    implementations: Sequence[Implementation | Choice]
    used: BoolArray
    overheads: Overheads

    @staticmethod
    def of(collective: Collective, links: Sequence[Link], system: System, involved: Sequence[bool] | None) -> Part:
        """Return all designs, with the dimensions that a collective uses in each."""
        implementations = system.implementations[collective]
        used = np.array([link.npus > 1 for link in links])
        used[len(implementations) :] = False
        if involved is not None:
            used &= np.array([bool(involved[d]) for d in range(len(links))])[:, None]
        return Part(np.arange(used.shape[1]), links, implementations, used, system.overheads)

    def select(self, places: IntArray) -> Part:
        """Return some of these designs."""
        rows = [
            row if isinstance(row, Implementation) else replace(row, index=row.index[places])
            for row in self.implementations
        ]
        links = [link.select(places) for link in self.links]
        return Part(self.designs[places], links, rows, self.used[:, places], self.overheads)

    def alike(self) -> Iterator[Part]:
        """Give the designs that use the same dimensions, group by group."""
        yield from map(self._group, _groups(self.used))

    def squeezed(self) -> Iterator[Part]:
        """Give the designs whose dimensions of one NPU are the same, group by group and without those dimensions."""
        present = np.array([link.npus > 1 for link in self.links])
        for places in _groups(present):
            group, dims = self._group(places), np.flatnonzero(present[:, places[0]]).tolist()
            rows = [group.implementations[d] for d in dims if d < len(group.implementations)]
            yield Part(group.designs, [group.links[d] for d in dims], rows, group.used[dims], group.overheads)

    def _group(self, places: IntArray) -> Part:
        return self if len(places) == len(self.designs) else self.select(places)

    def time(self, dimension: int, kind: Collective, size: FloatArray) -> FloatArray:
        """Return (n,) ns of a phase in a dimension; 0 in designs that do not use it.

        Raises
        ------
        ValueError : the implementation of a design cannot run it.
        """
        row, used = self.implementations[dimension], self.used[dimension]
        time = np.zeros(len(used))
        if isinstance(row, Implementation):
            having = [(row, used)]
        else:
            having = [(option, used & (row.index == index)) for index, option in enumerate(row.options)]
        for option, taken in having:
            if taken.all():
                return self._time(dimension, option, kind, size, np.arange(len(used)))
            if taken.any():
                places = np.flatnonzero(taken)
                time[places] = self._time(dimension, option, kind, size, places)
        return time

    def _time(
        self, dimension: int, option: Implementation, kind: Collective, size: FloatArray, places: IntArray
    ) -> FloatArray:
        link = self.links[dimension]
        if len(places) < len(self.designs):
            link, size = link.select(places), size[places]
        try:
            return phase_time(option, kind, size, link, self.overheads)
        except ValueError as error:
            first = next(place for place in places if self._fails(option, kind, dimension, place))
            raise ValueError(f"dimension {dimension} of design {self.designs[first]}: {error}") from None

    def _fails(self, option: Implementation, kind: Collective, dimension: int, place: int) -> bool:
        try:
            phase_time(option, kind, np.ones(1), self.links[dimension].select(np.array([place])), self.overheads)
        except ValueError:
            return True
        return False


def _groups(mask: BoolArray) -> list[IntArray]:
    """Return the columns of a (d, n) mask, those that are the same together."""
    key = (mask << np.arange(len(mask))[:, None]).sum(axis=0)
    return [np.flatnonzero(key == kind) for kind in np.unique(key)]
