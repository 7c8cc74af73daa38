"""All that this program is compared with, in one table, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from evo_libra.errors import InputError, suggestion
from evo_libra.validation.astra import ASTRA
from evo_libra.validation.comet import COMET
from evo_libra.validation.fabrics import FABRICS
from evo_libra.validation.footprints import FOOTPRINTS
from evo_libra.validation.fred import FRED
from evo_libra.validation.kernels import KERNELS
from evo_libra.validation.libra import LIBRA
from evo_libra.validation.luwu import LUWU
from evo_libra.validation.rail_only import RAIL_ONLY
from evo_libra.validation.reliability import RELIABILITY
from evo_libra.validation.roce.rows import ROCE
from evo_libra.validation.serving import SERVING
from evo_libra.validation.slices import SLICES
from evo_libra.validation.source import PublishedSource
from evo_libra.validation.themis import THEMIS
from evo_libra.validation.training import TRAINING
from evo_libra.validation.training_2026 import TRAINING_2026
from evo_libra.validation.training_memory import TRAINING_MEMORY

NETWORKS = (*THEMIS, *FRED, *RAIL_ONLY, *FABRICS, *LIBRA, *ASTRA, *ROCE)

SOURCES: tuple[PublishedSource, ...] = (
    *TRAINING_2026,
    *TRAINING,
    *SLICES,
    *SERVING,
    *TRAINING_MEMORY,
    *FOOTPRINTS,
    *KERNELS,
    *NETWORKS,
    *RELIABILITY,
    *LUWU,
    *COMET,
)
"""Every source, those of a group one after the other."""

NOT_MODELLED = (
    "Times of stages that differ in their layers: all of them take that of the longest one.",
    "Schedules of pipelines other than 1F1B and interleaved 1F1B, and all-to-alls of experts alongside attention.",
    "Stragglers, unless a file states their share of a step (`jitter`).",
    "Checkpoints that are written, failures and restarts, but for the rows on failures.",
    "Loading of data.",
    "Contention between groups that share a link.",
    "Serving: time in queues before a request is taken on, and prompts that share a prefix.",
    "Power caps, except as far as they are in the fitted factor of products.",
)
"""Effects that no figure here contains, one sentence each."""


def groups_of(sources: Sequence[PublishedSource]) -> tuple[str, ...]:
    """Return the groups in the order of their first source."""
    return tuple(dict.fromkeys(source.group for source in sources))


def chosen(names: Sequence[str], sources: Sequence[PublishedSource] = SOURCES) -> tuple[PublishedSource, ...]:
    """Return the sources that have one of the names or belong to a group of that name; all for no names."""
    allowed = [*groups_of(sources), *(source.name for source in sources)]
    for name in names:
        if name not in allowed:
            raise InputError(
                f"--group: unknown group or source '{name}'; allowed: {', '.join(groups_of(sources))}, or a source "
                f"that `evo-libra validate` lists{suggestion(name, allowed)}"
            )
    return tuple(source for source in sources if not names or {source.name, source.group} & set(names))
