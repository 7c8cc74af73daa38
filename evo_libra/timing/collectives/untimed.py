"""What ASTRA-sim runs but no exact time is known of: it is refused, not estimated."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import BoolArray
from evo_libra.timing.collectives.phase import Algorithm, Implementation
from evo_libra.timing.collectives.system import Chunks, Part, System

SEVERAL_IN_A_TREE = (
    f"{Algorithm.DOUBLE_BINARY_TREE.value} with several chunks: these take turns on two trees, of which no exact time"
    " is known; preferred-dataset-splits has to be 1"
)


def refuse_untimed(chunks: Chunks, part: Part, system: System) -> None:
    """Raise an error for designs of which no exact time is known, whatever the sizes of their phases.

    Raises
    ------
    ValueError : several chunks go over a double binary tree; or messages share links, and there are several dimensions
        or several chunks at a time. What a single phase cannot run, `.phase.phase_time` refuses.
    """
    if any(link.shared for link in part.links):
        depth = part.used.sum(axis=0)
        under_way = np.minimum(chunks.count, system.queues * system.slots) * (depth > 0)
        _refuse(part, depth > 1, f"{_SHARED} {depth.max()} dimensions")
        _refuse(part, under_way > 1, f"{_SHARED} several chunks at a time")
    for d, row in enumerate(part.implementations[: len(part.links)]):
        options = (row,) if isinstance(row, Implementation) else row.options
        for index, option in enumerate(options):
            if option.algorithm is Algorithm.DOUBLE_BINARY_TREE:
                having = True if isinstance(row, Implementation) else row.index == index
                _refuse(part, part.used[d] & having & (chunks.count > 1), SEVERAL_IN_A_TREE, d)


_SHARED = "links that messages share: no exact time is known of"


def _refuse(part: Part, wrong: BoolArray, reason: str, dimension: int | None = None) -> None:
    if wrong.any():
        n = int(wrong.argmax())
        where = "" if dimension is None else f"dimension {part.dimensions[dimension, n]} of "
        raise ValueError(f"{where}design {part.designs[n]}: {reason}")
