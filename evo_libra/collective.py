"""Collectives: the bytes that each NPU sends in each dimension (LIBRA, ISPASS 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray, IntArray


class Collective(Enum):
    """A collective operation, by the name that is used in files."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"

    @property
    def called(self) -> str:
        """The name with its article.

        >>> Collective.REDUCE_SCATTER.called
        'a reduce-scatter'
        """
        return f"{'an' if self.value[0] == 'a' else 'a'} {self.value}"


@dataclass(frozen=True, slots=True)
class SizedCollective:
    """A collective and its bytes: the whole message, for an all-gather the shard.

    One that a user's own algorithm runs has its name.
    """

    collective: Collective
    size: int
    algorithm: str = ""

    def __str__(self) -> str:
        own = f" by {self.algorithm}" if self.algorithm else ""
        return f"{self.collective.value} of {self.size} bytes{own}"


@dataclass(frozen=True, slots=True)
class NextStage:
    """A message of every NPU of a process group to the next one, as between the stages of a pipeline.

    Attributes
    ----------
    size : its bytes, or 1 where traffic is counted in bytes.
    """

    size: int = 1


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The all-to-all that takes tokens to their experts, or back.

    A token passes a dimension once for all its experts on the other side.
    """

    experts_per_token: int


@dataclass(frozen=True, slots=True)
class BeyondBytes:
    """Seconds of operations beyond their bytes, in groups whose outermost links are of a kind; of others it is 0.

    Attributes
    ----------
    link : kind of links, of a scale-up domain or between servers.
    doubling : whether they count for each doubling of the servers of the group.
    """

    link: str
    doubling: bool = False


@dataclass(frozen=True, slots=True)
class PushPull:
    """Gradients that switches add up on their way to a server, and weights that they copy on the way back (LuWu).

    Both ways run at the same time, full duplex: a byte of traffic is one that goes either way, or one each way.
    """


@dataclass(frozen=True, slots=True)
class Streamed:
    """Weights that come in at the edge of a network and go to all NPUs, while gradients leave there, summed up (FRED).

    Both ways run at the same time, full duplex, as of `PushPull`.
    """


@dataclass(frozen=True, eq=False)
class SizedByPlan:
    """Collectives of a kind, or messages to the next stage, of as many bytes as a parallelisation plan says.

    Attributes
    ----------
    operation : what runs.
    size : (p,) bytes under each plan: those of the whole message, for an all-gather those of the shard.
    sent : (p,) whether the plan sends any.
    """

    operation: Collective | NextStage
    size: FloatArray
    sent: BoolArray


@dataclass(frozen=True, slots=True)
class BytesAlone:
    """Bytes of a pattern over the bandwidth, whatever the time model, as a measured time counts besides."""

    pattern: Pattern | NextStage | Dispatch | PushPull | Streamed


@dataclass(frozen=True)
class WithoutLatency:
    """Operations whose latencies are no part of their time, as a measured one counts besides."""

    load: SizedCollective | SizedByPlan | NextStage


class Pattern(Enum):
    """Spread of traffic over the dimensions; collectives of one pattern are proportional to each other.

    SHRINKING is a reduce-scatter: the message shrinks by the extent of each dimension it has passed. An all-reduce is
    two of it; an all-gather, which starts from a shard and goes outer to inner, is that of the gathered message.
    """

    SHRINKING = "shrinking"
    ALL_TO_ALL = "all-to-all"


def pattern_of(collective: Collective) -> Pattern:
    """Return the pattern of a collective's traffic."""
    return Pattern.ALL_TO_ALL if collective is Collective.ALL_TO_ALL else Pattern.SHRINKING


def unit_traffic(
    pattern: Pattern | NextStage | Dispatch | PushPull | Streamed, extent: IntArray | FloatArray
) -> FloatArray:
    """Return the (d, n) bytes sent per NPU and dimension, per byte of the pattern; 0 where the extent is 1.

    (d, n) extents say how many NPUs of each dimension belong to one process group; 1 where the group has no part. A
    message to the next stage goes through one dimension: it counts in each that the group lies in, as the slowest of
    them sets the pace of a pipeline. Traffic to a server and back is one message for all NPUs that are inside an NPU
    of a dimension, each of which has a share of it there.
    """
    extent = np.asarray(extent, dtype=np.float64)
    if isinstance(pattern, NextStage):
        return np.asarray(extent > 1, dtype=np.float64) * pattern.size
    if isinstance(pattern, Dispatch):
        return _dispatched(extent, pattern.experts_per_token)
    if isinstance(pattern, PushPull | Streamed):
        return np.asarray((extent > 1) * extent / np.cumprod(extent, axis=0))
    divisor = extent if pattern is Pattern.ALL_TO_ALL else np.cumprod(extent, axis=0)
    return np.asarray((extent - 1.0) / divisor)


def _dispatched(sizes: FloatArray, experts_per_token: int) -> FloatArray:
    """Return the (d, n) bytes that tokens send in each dimension, per byte of all copies of them.

    From the outermost dimension inwards: of ``m`` places at random, k experts reach ``m (1 - (1 - 1/m)^k)``.
    """
    places = np.cumprod(sizes[::-1], axis=0)[::-1]
    reached = places * (1.0 - (1.0 - 1.0 / places) ** experts_per_token)
    return np.asarray(reached * (sizes - 1.0) / sizes / experts_per_token)


def bytes_of_pattern(collective: Collective, size: FloatArray | float, degree: IntArray | float) -> FloatArray:
    """Return how many bytes of its pattern a collective is.

    The size is that of the whole message, but for an all-gather of the shard before gathering; the degree is the number
    of NPUs in the process group.
    """
    factor = {Collective.ALL_REDUCE: 2.0, Collective.ALL_GATHER: degree}.get(collective, 1.0)
    return np.asarray(size, dtype=np.float64) * factor


def traffic(collective: Collective, size: FloatArray | float, extent: IntArray | FloatArray) -> FloatArray:
    """Return the (d, n) bytes that an NPU sends in each dimension for one collective (LIBRA's table).

    The size, a number or (n,), is that of `bytes_of_pattern`, and the extents are those of `unit_traffic`.

    >>> traffic(Collective.ALL_REDUCE, 1000.0, np.array([[4], [2]])).ravel()
    array([1500.,  250.])
    """
    degree = np.prod(np.asarray(extent, dtype=np.float64), axis=0)
    return unit_traffic(pattern_of(collective), extent) * bytes_of_pattern(collective, size, degree)


def time_per_byte(unit: FloatArray, bandwidth: FloatArray) -> FloatArray:
    """Return the (n,) seconds of one byte of a pattern with perfect pipelining: those of its slowest dimension.

    The bandwidths (d, n) in B/s are above 0 wherever there is traffic.
    """
    return np.asarray((unit / bandwidth).max(axis=0))
