"""Kinds of sublayers by the names that files use: those of this package, and those of users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from evo_libra.errors import InputError, unknown
from evo_libra.installed import entry_points_of
from evo_libra.workload.models.layers.attention import GroupedAttention, MultiheadLatentAttention, SparseLatentAttention
from evo_libra.workload.models.layers.feed_forward import FeedForward, RoutedFeedForward
from evo_libra.workload.models.layers.recurrent import GatedDelta, SelectiveScan, StateSpace
from evo_libra.workload.models.layers.sublayer import Sublayer

ENTRY_POINTS = "evo_libra.sublayers"

KINDS: Mapping[str, type[Sublayer]] = {
    "grouped-attention": GroupedAttention,
    "latent-attention": MultiheadLatentAttention,
    "sparse-latent-attention": SparseLatentAttention,
    "state-space": StateSpace,
    "selective-scan": SelectiveScan,
    "gated-delta": GatedDelta,
    "feed-forward": FeedForward,
    "experts": RoutedFeedForward,
}
"""Kinds of this package; the fields of a class are the keys of a file."""


def sublayer_kinds() -> dict[str, type[Sublayer]]:
    """Return every kind by name: those of this package, then those of installed packages."""
    return {**KINDS, **{point.name: point.load() for point in entry_points_of(ENTRY_POINTS) if point.name not in KINDS}}


def part_text(part: Sublayer) -> str:
    """Return the kind of a sublayer, with its window if it has one.

    >>> part_text(GroupedAttention(64, 8, 2, 16, window=1024))
    'grouped-attention of 1,024 tokens'
    """
    name = next((name for name, kind in sublayer_kinds().items() if type(part) is kind), type(part).__name__)
    window = getattr(part, "window", None)
    return name if window is None else f"{name} of {window:,} tokens"


def sublayer_of(values: Mapping[str, Any], hidden: int) -> Sublayer:
    """Return the sublayer that a mapping describes, in a model of some width.

    Raises
    ------
    InputError : there is no such kind.
    ValidationError : a key is missing or wrong; it is pydantic's.
    """
    kinds, kind = sublayer_kinds(), str(values.get("kind"))
    if kind not in kinds:
        raise InputError(unknown("kind", kind, kinds))
    given = {key: value for key, value in values.items() if key != "kind"}
    found: Sublayer = TypeAdapter(kinds[kind]).validate_python({"hidden": hidden, **given})
    return found
