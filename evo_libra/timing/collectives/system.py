"""Systems that run collectives: implementations, chunks, and the dimensions of the designs of a population."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, FloatArray, IntArray
from evo_libra.collective import Collective
from evo_libra.timing.collectives.block_phase import block_phase_time
from evo_libra.timing.collectives.phase import IMPLEMENTATIONS, Implementation, Link, Overheads
from evo_libra.timing.collectives.phase_compiled import UNTIMED, can_compile, compiled_phases
from evo_libra.timing.names import CollectiveAlgorithm, Policy, Scheduler

SEVERAL_IN_A_TREE = (
    f"{CollectiveAlgorithm.DOUBLE_BINARY_TREE.value} with several chunks: these take turns on two trees, and no "
    "exact time is known; preferred-dataset-splits has to be 1"
)
_NUMBERS = {option: number for number, option in enumerate(IMPLEMENTATIONS)}
_SHARED = "links that messages share: no exact time is known of"


@dataclass(frozen=True)
class Choice:
    """Implementations of a dimension that differ by design: of the options, each has that of its (n,) index."""

    options: tuple[Implementation, ...]
    index: IntArray

    def __post_init__(self) -> None:
        _check_choice(self.index, self.options)


def _check_choice(index: IntArray, options: Sequence[Implementation]) -> None:
    if ((index < 0) | (index >= len(options))).any():
        raise ValueError(f"an index into {len(options)} implementations is out of range")


@dataclass(frozen=True)
class Choices(Sequence[Choice]):
    """Implementations of all dimensions from the same options: (d, n) which of them each dimension has."""

    options: tuple[Implementation, ...]
    chosen: IntArray

    def __post_init__(self) -> None:
        _check_choice(self.chosen, self.options)

    def __len__(self) -> int:
        return len(self.chosen)

    @overload
    def __getitem__(self, dimension: int) -> Choice: ...

    @overload
    def __getitem__(self, dimension: slice) -> Choices: ...

    def __getitem__(self, dimension: int | slice) -> Choice | Choices:
        kind = Choices if isinstance(dimension, slice) else Choice
        return kind(self.options, self.chosen[dimension])


@dataclass(frozen=True)
class System:
    """Settings of collectives in ASTRA-sim's system file.

    Attributes
    ----------
    implementations : of each collective, one a dimension; a `Choice` where designs differ, or `Choices` of all.
    splits : chunks that a collective is cut into (``preferred-dataset-splits``), a number or (n,).
    active : chunks that a dimension runs at a time (``active-chunks-per-dimension``).
    shrinking : whether an all-reduce scatters inwards and gathers back (``localBWAware``) or runs whole in each
        dimension (``baseline``).
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
        """Number of chunks that a queue runs at a time."""
        return -(-self.active // self.queues)


@dataclass(frozen=True)
class Chunks:
    """Chunks of n collectives of `whole` bytes: bytes of a chunk, and chunks; a remainder is one more whole chunk."""

    size: IntArray
    count: IntArray
    whole: IntArray

    def select(self, designs: IntArray) -> Chunks:
        """Return the chunks of some designs."""
        return Chunks(self.size[designs], self.count[designs], self.whole[designs])


def cut(collective: Collective, size: int | IntArray, npus: IntArray, splits: int | IntArray) -> Chunks:
    """Return the chunks of n collectives of some bytes that are to be split; bytes and splits are a number or (n,).

    A chunk has as many bytes as there are (n,) NPUs at least, but an all-gather's: a ValueError refuses empty ones.
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
    found = (chunk, -(-whole // chunk), whole)
    return Chunks(*(each if each.shape == shape else np.broadcast_to(each, shape) for each in found))


@dataclass(frozen=True)
class DesignGroup:
    """Some designs of a population, and what runs one collective in them.

    Attributes
    ----------
    designs : (n,) which designs of the population these are.
    dimensions : (d, n) which dimension of its network each is.
    link : the links of the (d, n) dimensions.
    index : (d, n) which of the options each dimension has; any where it does not take part.
    used : (d, n) whether a dimension takes part.
    compiled : whether compiled functions time phases; the results are the same.
    """

    designs: IntArray
    dimensions: IntArray
    link: Link
    options: tuple[Implementation, ...]
    index: IntArray
    used: BoolArray
    overheads: Overheads
    compiled: bool

    @staticmethod
    def of(
        collective: Collective, links: Sequence[Link] | Link, system: System, involved: Sequence[bool] | None
    ) -> DesignGroup:
        """Return all designs, with the dimensions that a collective uses in each."""
        rows = system.implementations[collective]
        link = links if isinstance(links, Link) else Link.stacked(links)
        used = link.npus > 1
        used[len(rows) :] = False
        if involved is not None:
            used &= np.array([bool(involved[d]) for d in range(len(used))])[:, None]
        dimensions = np.broadcast_to(np.arange(len(used))[:, None], used.shape)
        options, index = _options(rows, used.shape)
        return DesignGroup(
            designs=np.arange(used.shape[1]), dimensions=dimensions, link=link, options=options, index=index, used=used,
            overheads=system.overheads, compiled=can_compile(link),
        )  # fmt: skip

    def select(self, places: IntArray) -> DesignGroup:
        """Return some of these designs."""
        return self._pick(places, np.arange(len(self.used))[:, None])

    def packed(self, kept: BoolArray) -> Iterator[DesignGroup]:
        """Give the designs without the dimensions that are not kept, those with the same numbers of them together.

        In a part all designs use the same of the dimensions that are left.
        """
        if kept.all() and self.used.all():
            yield self
            return
        first = np.argsort(~kept, axis=0, kind="stable")
        depth, used = kept.sum(axis=0), self.used & kept
        key = depth
        if (used != kept).any():
            bits = np.take_along_axis(used, first, axis=0) << np.arange(len(kept))[:, None]
            key = (depth << len(kept)) + bits.sum(axis=0)
        for kind in np.unique(key):
            places = np.flatnonzero(key == kind)
            yield self._pick(places, first[: depth[places[0]], places])

    def _pick(self, places: IntArray, dims: IntArray) -> DesignGroup:
        """Return some designs with some of the (d, n) dimensions of each."""
        at = (dims, places)
        return replace(
            self, designs=self.designs[places], dimensions=self.dimensions[at], used=self.used[at],
            link=self.link.select(at), index=self.index[at],
        )  # fmt: skip

    def time(
        self, dims: IntArray | NDArray[np.int8], kinds: Sequence[Collective], size: FloatArray, taken: BoolArray
    ) -> FloatArray:
        """Return the (p, n) ns of phases, 0 of those that are not taken; errors as of `phase_time`.

        The p phases run some kinds of collectives in (p, n) or (p, 1) dimensions, which (p, n) bytes enter. They are
        taken in (p, n) or (p, 1) designs.
        """
        return self._all(dims, kinds, size, np.broadcast_to(taken, size.shape))

    def chain(
        self, dims: IntArray | NDArray[np.int8], kinds: Sequence[Collective], size: FloatArray, taken: BoolArray
    ) -> FloatArray:
        """Return the (p, n) ns of `time` of phases in a row; (n,) bytes enter the first."""
        return self._all(dims, kinds, size[None], taken)

    def _all(
        self, dims: IntArray | NDArray[np.int8], kinds: Sequence[Collective], size: FloatArray, taken: BoolArray
    ) -> FloatArray:
        if self.compiled:
            known = np.array([_NUMBERS.get(option, -1) for option in self.options])[self.index]
            time, is_left = compiled_phases(
                dims, kinds, size=size, link=self.link, implementation=known, taken=taken, overheads=self.overheads
            )
        else:
            time, is_left = np.zeros(taken.shape), True
            time[taken] = UNTIMED
        if is_left:
            entering = self._entering(dims, kinds, size, taken)
            several, designs = tuple(dict.fromkeys(kinds)), len(self.designs)
            number = np.array([several.index(kind) for kind in kinds], dtype=np.int64)
            mine = np.flatnonzero(time == UNTIMED)
            phase, place = np.divmod(mine, designs)
            at = np.broadcast_to(dims, taken.shape).ravel()[mine].astype(np.int64) * designs + place
            time.reshape(-1)[mine] = self._time(at, several, number[phase], entering.ravel()[mine])
        return time

    def _entering(
        self, dims: IntArray | NDArray[np.int8], kinds: Sequence[Collective], size: FloatArray, taken: BoolArray
    ) -> FloatArray:
        """Return the (p, n) bytes that enter phases, from those of all or of the first one."""
        if len(size) == len(taken):
            return size
        npus = np.where(taken, np.take_along_axis(self.link.npus, dims.astype(np.int64), axis=0), 1)
        sizes = [size[0]]
        for kind, own in zip(kinds[:-1], npus, strict=False):
            sizes.append(left(kind, sizes[-1], own))
        return np.array(sizes)

    def _time(self, at: IntArray, kinds: Sequence[Collective], number: IntArray, size: FloatArray) -> FloatArray:
        """Return the (m,) ns of single phases, all of a kind and an implementation together.

        They run at (m,) places of the flat arrays of (d, n) dimensions, and their kinds have (m,) numbers.
        """
        time, link = np.empty(len(size)), self.link.flat()
        run = number * len(self.options) + self.index.ravel()[at]
        for which in np.flatnonzero(np.bincount(run)).tolist():
            kind, option = divmod(which, len(self.options))
            mine = np.flatnonzero(run == which)
            phase = partial(block_phase_time, self.options[option], kinds[kind], overheads=self.overheads)
            try:
                time[mine] = phase(size=size[mine], link=link.select(at[mine]))
            except ValueError as error:
                wrong = next(place for place in at[mine] if _fails(phase, link.select(np.array([place]))))
                d, n = divmod(int(wrong), len(self.designs))
                raise ValueError(f"dimension {self.dimensions[d, n]} of design {self.designs[n]}: {error}") from None
        return time


def _fails(phase: Callable[..., FloatArray], link: Link) -> bool:
    try:
        phase(size=np.ones(1), link=link)
    except ValueError:
        return True
    return False


def left(kind: Collective, size: FloatArray, npus: FloatArray | IntArray) -> FloatArray:
    """Return the bytes that leave a phase."""
    if kind is Collective.REDUCE_SCATTER:
        return np.asarray(np.floor(size / npus))
    return np.asarray(size * npus) if kind is Collective.ALL_GATHER else size


def _options(
    rows: Sequence[Implementation | Choice], shape: tuple[int, ...]
) -> tuple[tuple[Implementation, ...], IntArray]:
    """Return all implementations, and (d, n) which of them each dimension has; any one where it has none."""
    if isinstance(rows, Choices):
        return rows.options, rows.chosen
    choices = [Choice((row,), np.zeros(1, np.int64)) if isinstance(row, Implementation) else row for row in rows]
    options = tuple(dict.fromkeys(option for choice in choices for option in choice.options))
    index = np.zeros(shape, dtype=np.int64)
    for own, choice in zip(index, choices, strict=False):
        own[:] = np.array([options.index(option) for option in choice.options])[choice.index]
    return options, index


def refuse_untimed(chunks: Chunks, part: DesignGroup, system: System) -> None:
    """Raise a ValueError for designs without a known exact time, whatever the sizes of their phases.

    Several chunks go over a double binary tree; or messages share links, and there are several dimensions or several
    chunks at a time. `phase_time` refuses anything that a single phase cannot run.
    """
    if part.link.shared:
        depth = part.used.sum(axis=0)
        under_way = np.minimum(chunks.count, system.queues * system.slots) * (depth > 0)
        _refuse(part, depth > 1, f"{_SHARED} {depth.max()} dimensions")
        _refuse(part, under_way > 1, f"{_SHARED} several chunks at a time")
    for number, option in enumerate(part.options):
        if option.algorithm is CollectiveAlgorithm.DOUBLE_BINARY_TREE:
            for d, index in enumerate(part.index):
                _refuse(part, part.used[d] & (index == number) & (chunks.count > 1), SEVERAL_IN_A_TREE, d)


def _refuse(part: DesignGroup, wrong: BoolArray, reason: str, dimension: int | None = None) -> None:
    if wrong.any():
        n = int(wrong.argmax())
        where = "" if dimension is None else f"dimension {part.dimensions[dimension, n]} of "
        raise ValueError(f"{where}design {part.designs[n]}: {reason}")
