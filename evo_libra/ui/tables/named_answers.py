"""Records of answers with a name or an id before them, which a search makes without the schemas of all answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evo_libra.explain.as_json import INLINE

if TYPE_CHECKING:
    from evo_libra.explain.time_record import Size
    from evo_libra.problem.link_limits import BeyondLinks


@dataclass(frozen=True, kw_only=True)
class NamedSize:
    """A workload of a problem, and how much one iteration of it is."""

    name: str
    size: Size = field(metadata=INLINE)


@dataclass(frozen=True, kw_only=True)
class NamedShares:
    """A design of a front, and in what it is faster than its links carry."""

    id: int
    shares: BeyondLinks = field(metadata=INLINE)
