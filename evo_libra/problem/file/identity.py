"""The identity of a problem: the keys of its file, and the figures of the catalogues and files that it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evo_libra.network.bill import parts_of
from evo_libra.network.blocks import Kit
from evo_libra.network.catalog.technologies import Catalog, Technology
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.file.time import has_whole_bandwidth, identity_of_time
from evo_libra.problem.file.workloads import WorkloadLoader
from evo_libra.problem.pricing.catalog import kits_of

if TYPE_CHECKING:
    from evo_libra.problem.faults import Faults

_RARE = ("npu", "transport")


def identity_of(file: ProblemFile, workloads: WorkloadLoader, catalog: Catalog) -> dict[str, Any]:
    """Return the problem file with the figures of its catalogue and its files, which make it another problem.

    Every order that means something is that of a list: the technologies, the innermost first, are one. Shares are
    named where they are not what every file meant before it could name them, which is LIBRA's of prices.
    """
    more: dict[str, Any] = {"files": workloads.files(), "models": workloads.models()}
    more |= workloads.accelerators.identity()
    if workloads.accelerators.trains:
        more |= workloads.training.identity()
    if file.spec.faults is not None:
        more["failures"] = _failures(file.spec.faults, kits_of(catalog))
    if not kits_of(catalog) and not has_whole_bandwidth(file.spec):
        more["shares"] = "physical"
    return {
        **file.spec.model_dump(mode="json"),
        "time": identity_of_time(file.spec),
        "technologies": [_figures(technology) for technology in catalog.technologies],
        **{key: found for key, found in more.items() if found},
    }


def _failures(faults: Faults, kits: Sequence[Kit]) -> dict[str, Any]:
    """Return the failures of all that a problem has."""
    from evo_libra.network.catalog.failures import HOST, NPU, SOFTWARE  # noqa: PLC0415 - few problems have failures

    known = faults.failures
    kinds = {kind: known.named(kind) for kind in (NPU, HOST, SOFTWARE)}
    found = kinds | {name: known.of(part) for name, part in parts_of(kits).items()}
    return {name: asdict(one) for name, one in found.items()}


def _figures(technology: Technology) -> dict[str, Any]:
    """Return the figures of a technology; most have no accelerator to choose, and no transport."""
    return {key: value for key, value in asdict(technology).items() if key not in _RARE or value is not None}
