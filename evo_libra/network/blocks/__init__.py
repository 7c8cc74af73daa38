"""Building blocks: how the NPUs of a dimension are connected, what a process group gets of it, what it is built of."""

from __future__ import annotations

from evo_libra.network.blocks.block import ITEMS, Counts, Hops, Physics
from evo_libra.network.blocks.kit import KINDS, Kit, Part, Range

__all__ = ["ITEMS", "KINDS", "PHYSICS", "Counts", "Hops", "Kit", "Part", "Physics", "Range"]

PHYSICS: tuple[Physics, ...]


def __getattr__(name: str) -> tuple[Physics, ...]:
    """Give ``PHYSICS``, which is collected when it is first asked for: the blocks of others import this package."""
    if name != "PHYSICS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from evo_libra.network.blocks import registry  # noqa: PLC0415 - late, as said

    return registry.PHYSICS
