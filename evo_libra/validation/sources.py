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
from evo_libra.validation.layered_fabrics import LAYERED_FABRICS
from evo_libra.validation.libra import LIBRA
from evo_libra.validation.luwu import LUWU
from evo_libra.validation.luwu_baselines import LUWU_BASELINES
from evo_libra.validation.rail_only import RAIL_ONLY
from evo_libra.validation.reliability import RELIABILITY
from evo_libra.validation.roce.rows import ROCE
from evo_libra.validation.serving import SERVING
from evo_libra.validation.serving_2026 import SERVING_2026
from evo_libra.validation.slices import SLICES
from evo_libra.validation.source import PublishedSource
from evo_libra.validation.themis import THEMIS
from evo_libra.validation.themis_training import THEMIS_TRAINING
from evo_libra.validation.training import TRAINING
from evo_libra.validation.training_2026 import TRAINING_2026
from evo_libra.validation.training_memory import TRAINING_MEMORY

NETWORKS = (*THEMIS, *THEMIS_TRAINING, *FRED, *RAIL_ONLY, *FABRICS, *LIBRA, *ASTRA, *ROCE)

SOURCES: tuple[PublishedSource, ...] = (
    *TRAINING_2026,
    *TRAINING,
    *SLICES,
    *SERVING_2026,
    *SERVING,
    *TRAINING_MEMORY,
    *FOOTPRINTS,
    *KERNELS,
    *NETWORKS,
    *LAYERED_FABRICS,
    *RELIABILITY,
    *LUWU,
    *LUWU_BASELINES,
    *COMET,
)
"""Every source, those of a group one after the other."""

NOT_MODELLED = (
    "Kinds of layers that differ between stages: all stages have those of one with the most weights.",
    "Schedules of pipelines that are searched for (ZB-1p, ZB-2p), and those that fold stages (ZB-V, DualPipeV).",
    "Messages of virtual stages that Megatron-LM exposes while it fills and drains (bf16 rows fit better, fp8 worse).",
    "Launches of short virtual stages; no public pair of runs says what they cost.",
    "Context parallel groups of more than two that slow attention, but for those of PyTorch, from 131,072 tokens on.",
    "Kernels that compute while a context parallel group exchanges heads; no public pair of steps has such a group.",
    "Algorithms of collectives one by one (tree, ring, NVLS): constants of a link are of the fastest for each size.",
    "Buckets of gradients one by one: software leaves a fitted share of them exposed.",
    "Launches of kernels one by one: the fitted factors of products and the exposed shares hold what they take.",
    "Processors that collectives of gradients take, unless a file says them.",
    "Groups of experts over several racks, whose all-to-alls no public step has.",
    "Routing of experts that differs in load, or is limited to some servers, and all-to-alls in 8 bits.",
    "Kernels that rotate and round at random in training with NVFP4. Memory of routed models has no measured peak.",
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
