"""Tables of schedulers, policies and algorithms of collectives, and the largest sizes of inputs.

The rows of a table are the members of an enumeration. A member's value is ASTRA-sim's name, its key the name in problem
files; from these tables come the schemas, what is read from and written to ASTRA-sim's files, and the messages.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

MOST_CHUNKS = 2**16
"""Chunks of a collective. The queue model keeps each of their phases, and a problem file or a system file that asks for
more asks for more than anybody runs: ASTRA-sim itself takes seconds for 64."""

LONGEST_ENDPOINT_NS = 10**9
"""ns before a message: a second."""


class _Named(Enum):
    """A row of a table, with its name in problem files, empty where they cannot ask for it, and a sentence about it."""

    key: str
    description: str

    def __new__(cls, value: str, key: str, description: str) -> Self:
        member = object.__new__(cls)
        member._value_, member.key, member.description = value, key, description
        return member

    @classmethod
    def of(cls, name: str) -> Self:
        """Return the row with one of ASTRA-sim's names."""
        return next(member for member in cls if member.value == name)


class Policy(_Named):
    """Policy of the next chunk of a dimension; the last one is that of Themis' paper, and ASTRA-sim does not have it.

    Among equals, ASTRA-sim's policies take the last to come first, that of the paper the first to come.
    """

    FIFO = "FIFO", "first-come", "Chunks run in the order in which they come."
    ALTERNATING = "RG", "alternate", "Chunks that scatter and chunks that gather take turns."
    SMALLEST_FIRST = "smallestFirst", "smallest-first", "The chunk with the fewest bytes in its phase runs first."
    FEWEST_PHASES_FIRST = (
        "lessRemainingPhaseFirst", "fewest-phases-first", "The chunk with the fewest phases left runs first.",
    )  # fmt: skip
    SMALLEST_CHUNK_FIRST = "smallestChunkFirst", "", "As smallest-first, in the way of Themis' paper."


class Scheduler(_Named):
    """In which order each chunk takes the dimensions; the last two are Themis' paper's, and ASTRA-sim lacks them."""

    BASELINE = "baseline", "baseline", "Every chunk takes the dimensions in order, the innermost first."
    ROUND_ROBIN = "roundRobin", "round-robin", "Each chunk begins one dimension further out than the chunk before it."
    OFFLINE_GREEDY = (
        "offlineGreedy", "offline-greedy",
        "Each chunk goes from the least loaded dimension to the most loaded one, as ASTRA-sim implements Themis.",
    )  # fmt: skip
    OFFLINE_GREEDY_FLEX = (
        "offlineGreedyFlex", "offline-greedy-flex", "As offline-greedy, with chunks as large as the loads differ.",
    )  # fmt: skip
    THEMIS_PAPER = (
        "themisPaper", "themis-paper",
        "As offline-greedy, with loads that are times and begin at the fixed latency, as in Themis' paper.",
    )  # fmt: skip
    IDEAL = (
        "ideal", "ideal",
        "No order: the bytes over all bandwidth of the group's dimensions, without latency, which no order can beat.",
    )  # fmt: skip

    @property
    def greedy(self) -> bool:
        """Whether it is one of ASTRA-sim's in which loads decide."""
        return self in {Scheduler.OFFLINE_GREEDY, Scheduler.OFFLINE_GREEDY_FLEX}

    @property
    def of_paper(self) -> bool:
        """Whether it is one of Themis' paper, whose latency only delays a chunk."""
        return self in {Scheduler.THEMIS_PAPER, Scheduler.IDEAL}

    @property
    def policies(self) -> tuple[Policy, ...]:
        """Policies that problem files may combine it with."""
        return PAPER_POLICIES if self.of_paper else tuple(POLICIES.values())

    @property
    def default_policy(self) -> Policy:
        """The policy that goes with it unless a problem says otherwise."""
        in_order = self in {Scheduler.BASELINE, Scheduler.ROUND_ROBIN, Scheduler.IDEAL}
        return Policy.FIFO if in_order else Policy.SMALLEST_FIRST


class CollectiveAlgorithm(_Named):
    """Algorithm of a collective among the NPUs of one dimension.

    `DIRECT` may have a window, which ASTRA-sim's files write behind its name: ``direct3`` has three messages under way
    at a time.
    """

    RING = "ring", "ring", "Each NPU sends to its neighbour, step after step."
    DIRECT = "direct", "direct", "Each NPU sends to all others at once."
    HALVING_DOUBLING = "halvingDoubling", "halving-doubling", "Pairs at doubling distances exchange halves."
    DOUBLE_BINARY_TREE = "doubleBinaryTree", "", "Messages go up and down two binary trees."


SCHEDULERS = tuple(scheduler.key for scheduler in Scheduler)
ALGORITHMS = tuple(algorithm.key for algorithm in CollectiveAlgorithm if algorithm.key)
POLICIES = {policy.key: policy for policy in Policy if policy.key}
ASTRA_SCHEDULERS = tuple(scheduler for scheduler in Scheduler if not scheduler.of_paper)
"""Those that ASTRA-sim has."""
PAPER_POLICIES = (Policy.FIFO, Policy.SMALLEST_FIRST)
"""Those of Themis' paper."""
ASTRA_POLICIES = tuple(POLICIES.values())
"""Those that ASTRA-sim has."""
