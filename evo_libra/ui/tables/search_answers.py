"""Answers of searches: how they ended, and what programs read of their fronts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evo_libra.explain.references import References, add_references
from evo_libra.ui.tables.named_answers import NamedShares, NamedSize

if TYPE_CHECKING:
    # The schemas of answers need the records of all of them, which a search would take longer to import than to do.
    from evo_libra.explain.advice import Advice
    from evo_libra.explain.system_views import SystemViews
    from evo_libra.explain.time_record import Size
    from evo_libra.front.front import Front
    from evo_libra.ui.tables.answers import Search


def add_ending(answer: Search, end: Mapping[str, Any], choice: str) -> None:
    """Add how a search ended, what that claims, and why `auto` chose the engine."""
    if "ended" in end:
        answer["ended"] = end["ended"]
    if "restarts" in end:
        answer["restarts"] = end["restarts"]
    if end.get("claim"):
        answer["claim"] = end["claim"]
    if choice:
        answer["engine_choice"] = choice


def add_front(
    answer: Search, front: Front, workloads: Sequence[tuple[str, Size]], *, advices: Sequence[Advice],
    views: SystemViews | None, references: References,
) -> None:  # fmt: skip
    """Add what programs read of a front besides its rows."""
    if workloads:
        answer["workloads"] = [NamedSize(name=name, size=size) for name, size in workloads]
    add_references(answer, references, front)
    if views is not None:
        answer["systems"], answer["absent"] = views.systems, views.absent
    if advices:
        answer["recommended"] = [one.recommended for one in advices]
    if beyond := [(one.recommended.id, one.shares) for one in advices if one.shares is not None]:
        answer["shares"] = [NamedShares(id=place, shares=shares) for place, shares in beyond]
