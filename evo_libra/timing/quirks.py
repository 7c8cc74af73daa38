"""Differences of ASTRA-sim from a prediction of its time: one table, from which warnings and the docs are made.

The page `docs/reference/astra-sim.md` has a section for each entry, with its sentence; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NotRequired, TypedDict

from evo_libra.errors import counted


class Handling(Enum):
    """Treatment of a quirk; the name of a chapter of the docs page."""

    WARNED = "Predictions with a warning"
    REFUSED = "Refused here"
    NOTED = "Good to know"


@dataclass(frozen=True)
class Quirk:
    """Something that ASTRA-sim does, and what a prediction has instead; the name is in warnings and on the page.

    Attributes
    ----------
    each : what a note on several accelerators says of each of them alone, by its name.
    """

    name: str
    sentence: str
    handling: Handling = Handling.WARNED
    each: tuple[tuple[str, Quirk], ...] = ()


class WarnedKeys(TypedDict):
    """The keys of a warning in JSON."""

    quirk: str
    warning: str
    designs: int
    nodes: NotRequired[list[str]]


@dataclass(frozen=True)
class Warned:
    """A quirk of some designs, the number of all designs, and the nodes of traces that have it, if any."""

    quirk: Quirk
    designs: int
    of: int
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        some = "" if self.designs == self.of else f" for {self.designs:,} of {counted(self.of, 'design')}"
        more = f", and {len(self.nodes) - 1:,} more" if len(self.nodes) > 1 else ""
        where = f" Here: {self.nodes[0]}{more}." if self.nodes else ""
        return f"warning{some}: {self.quirk.sentence}{where} [{self.quirk.name}]"

    def json(self) -> WarnedKeys:
        """Return it for programs."""
        found: WarnedKeys = {"quirk": self.quirk.name, "warning": self.quirk.sentence, "designs": self.designs}
        return {**found, "nodes": list(self.nodes)} if self.nodes else found


SCHEDULER_KEYS = Quirk(
    "scheduler-keys",
    "No released ASTRA-sim 2 reads inter-dimension-scheduling and intra-dimension-scheduling: it runs baseline and "
    "FIFO, where the prediction has the scheduler and the policy that were asked for.",
)
PAPER_SCHEDULER = Quirk(
    "paper-scheduler",
    "ASTRA-sim has neither the schedulers themis-paper and ideal nor their way of counting latency: exported files "
    "name no scheduler, and chunks take the dimensions in order.",
)
ROUND_ROBIN_COUNTER = Quirk(
    "round-robin-counter",
    "ASTRA-sim goes on with its round robin from one collective to the next, where the prediction begins each with "
    "dimension 0: measured iterations differ by up to 4 %.",
)
STALE_LOADS = Quirk(
    "stale-loads",
    "ASTRA-sim keeps the loads of its greedy scheduler from one collective to the next unless NPU 0 is the first to "
    "schedule, where the prediction begins each without any: a measured iteration differs by 2.4 %.",
)
QUEUE_ORDER_DEADLOCK = Quirk(
    "queue-order-deadlock",
    "With a greedy scheduler and the policy alternate or fewest-phases-first, NPUs of ASTRA-sim may queue chunks in "
    "different orders and wait for each other for ever: 3 of 252 measured runs did.",
)
GROUPS_AS_RINGS = Quirk(
    "groups-as-rings",
    "A process group that holds a part of a dimension is one flat ring over its members in ASTRA-sim, where the "
    "prediction runs it dimension by dimension.",
)
ONE_DIMENSION_GROUPS = Quirk(
    "one-dimension-groups",
    "On a network of one dimension ASTRA-sim may crash at the end of a run with process groups that hold a part of it, "
    "and the last lines `finished` may be lost.",
)
ONE_COLLECTIVE_AT_A_TIME = Quirk(
    "one-collective-at-a-time",
    "An NPU of ASTRA-sim runs one collective at a time, where the prediction overlaps those of the input and the "
    "weight gradient of a layer.",
)
INSTANT_COMPUTATION = Quirk(
    "instant-computation",
    "With roofline-enabled, ASTRA-sim aborts at a computation of less than 1 ns, where the prediction lets it take no "
    "time.",
)
GROUP_ENDPOINT_DELAY = Quirk(
    "group-endpoint-delay",
    "Groups smaller than the world wait 10 ns before each message in ASTRA-sim, whatever endpoint-delay is.",
    Handling.NOTED,
)

_REFUSED = {
    "powers-of-two": (
        "ASTRA-sim never ends a halving-doubling among a number of NPUs that is no power of two, and crashes on such a "
        "double binary tree."
    ),
    "all-to-all-halving-doubling": "ASTRA-sim has no all-to-all by halving-doubling or by a double binary tree.",
    "double-binary-tree": "No formula gives ASTRA-sim's time of a double binary tree with several chunks or on a ring.",
    "empty-chunks": (
        "ASTRA-sim never ends an all-gather of fewer bytes than preferred-dataset-splits, and takes all memory."
    ),
    "required-keys": (
        "ASTRA-sim hangs without collective-optimization and fails without preferred-dataset-splits in system.json."
    ),
    "computation-of-nothing": (
        "With roofline-enabled, ASTRA-sim stops without a word behind a computation whose tensor_size is 0."
    ),
}
_NOTED = {
    "exit-code": (
        "The exit code of ASTRA-sim is 0 even where NPUs wait for each other for ever: count the lines `finished`."
    ),
    "links-are-not-shared": (
        "In ASTRA-sim's congestion-unaware backend messages never share a link: each has all of its bandwidth."
    ),
    "first-dimension-only": "A message between NPUs that differ in several dimensions is charged the first one alone.",
    "reduced-at-half-size": "Halving-doubling reduces what it receives in a step with the size of the step after it.",
    "gathered-twice-half": (
        "Halving-doubling halves once too often in an all-reduce: of shares with an odd number of bytes it gathers a "
        "byte less."
    ),
    "lists-reduce-twice": (
        "On a network of one dimension, more than two listed members with a direct algorithm reduce both halves of an "
        "all-reduce."
    ),
    "open-files": (
        "ASTRA-sim keeps about as many files open as there are NPUs. If fewer are allowed, it ends without a message."
    ),
    "collective-at-time-zero": (
        "With an endpoint-delay of 0, ASTRA-sim stops on an assertion where a trace begins with a collective."
    ),
    "local-memory-tracking": ("With track-local-mem, no NPU finishes the example traces that come with ASTRA-sim."),
    "whole-chunks": (
        "Bytes that are left over when a collective is cut make one more whole chunk, but under a greedy scheduler."
    ),
    "four-dimensions": "A collective without involved_dim uses the first four dimensions alone.",
    "schedules-of-steps": (
        "The time of a training step is a formula, where ASTRA-sim runs the schedule that is exported: the README of "
        "the exported files has both times and their relative difference."
    ),
    "two-queue-deadlock": (
        "Users of ASTRA-sim report all-reduces over several dimensions that never end where latencies differ and fewer "
        "chunks are active than there are."
    ),
}

WARNED = (
    SCHEDULER_KEYS, PAPER_SCHEDULER, ROUND_ROBIN_COUNTER, STALE_LOADS, QUEUE_ORDER_DEADLOCK, GROUPS_AS_RINGS,
    ONE_DIMENSION_GROUPS, ONE_COLLECTIVE_AT_A_TIME, INSTANT_COMPUTATION,
)  # fmt: skip
"""Quirks that a prediction warns of, in this order."""

AT_ZERO, TRACKING = "collective-at-time-zero", "local-memory-tracking"
"""Names of quirks that exports and notices of files tell, too."""

OF_SCHEDULERS = WARNED[:5]
"""Those that lie in the scheduler and the policy."""

QUIRKS = (
    *WARNED,
    *(Quirk(name, sentence, Handling.REFUSED) for name, sentence in _REFUSED.items()),
    *(Quirk(name, sentence, Handling.NOTED) for name, sentence in _NOTED.items()),
    GROUP_ENDPOINT_DELAY,
)
"""All that are known."""


def sentence_of(name: str) -> str:
    """Return the sentence of a quirk."""
    return next(quirk.sentence for quirk in QUIRKS if quirk.name == name)


def named(name: str) -> tuple[str, str]:
    """Return the name of a quirk and its sentence."""
    return name, sentence_of(name)
