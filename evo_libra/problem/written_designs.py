"""Designs as people write and read them: whether a network and its plans are those of a problem, and their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evo_libra.arrays import GIGA, IntArray, Population
from evo_libra.errors import InputError, counted, unknown
from evo_libra.network.blocks.registry import BLOCK_NAMES, BLOCKS
from evo_libra.network.catalog.technologies import Technology
from evo_libra.network.fabric import NPU, Fabric
from evo_libra.problem.npu_choice import NpuChoice
from evo_libra.workload.step.plan_table import PlanTable


def check_fabric(fabric: Fabric, npus: int, depth: int, technologies: Sequence[Technology]) -> None:
    """Refuse a network that has other NPUs, more dimensions or other blocks than the designs of a problem."""
    if fabric.npus != npus:
        raise InputError(f"the design '{fabric}' has {fabric.npus} NPUs; the problem has {npus}")
    if len(fabric.dimensions) > depth:
        raise InputError(f"the design '{fabric}' has {len(fabric.dimensions)} dimensions, more than {depth}")
    for dimension in fabric.dimensions:
        block, name = BLOCKS[dimension.block].name, dimension.technology
        allowed = [known for t in technologies if t.name == name for known in t.blocks]
        if allowed and block not in allowed:
            raise InputError(
                f"'{dimension}' in the design '{fabric}': a {block} cannot be built of {name}; "
                f"allowed: {', '.join(allowed)}"
            )


def npus_of(fabrics: Sequence[Fabric], choice: NpuChoice | None) -> list[str | None]:
    """Return the accelerator that each design names, None where there is nothing to choose.

    An `InputError` names one that is missing or unknown.
    """
    names = () if choice is None else choice.names
    for fabric in fabrics:
        if fabric.npu is not None and fabric.npu not in names:
            known = unknown("NPU", fabric.npu, names) if names else f"the problem names no NPU, found {fabric.npu}"
            raise InputError(f"in the design '{fabric}': {known}")
        if fabric.npu is None and len(names) > 1:
            raise InputError(f"the design '{fabric}' has no NPU; write it like '... {NPU}={names[0]}'")
    return [fabric.npu if len(names) > 1 else None for fabric in fabrics]


def plans_of(fabrics: Sequence[Fabric], tables: Sequence[PlanTable], npus: Sequence[str | None]) -> IntArray | None:
    """Return (w, n) the places of the plans of designs on (n,) accelerators.

    An `InputError` names a plan that is missing or unknown.
    """
    if not tables:
        wrong = next((fabric for fabric in fabrics if fabric.plans), None)
        if wrong is not None:
            raise InputError(f"the design '{wrong}' has a plan; the workloads of the problem leave none open")
        return None
    places = np.empty((len(tables), len(fabrics)), dtype=np.int64)
    for n, fabric in enumerate(fabrics):
        if len(fabric.plans) != len(tables):
            example = " | ".join(table.texts[0] for table in tables)
            needed = "a plan is needed" if len(tables) == 1 else f"{len(tables)} are needed"
            raise InputError(
                f"the design '{fabric}' has {counted(len(fabric.plans), 'plan') if fabric.plans else 'no plan'}, and "
                f"{needed}; write it like {replace(fabric, plans=())} | {example}"
            )
        for place, (table, text) in enumerate(zip(tables, fabric.plans, strict=True)):
            name, on = npus[n], "" if npus[n] is None else f" on {npus[n]}"
            npu = 0 if name is None else table.npus.index(name)
            places[place, n] = table.find(text, npu)
            if places[place, n] < 0:
                mine = np.flatnonzero(table.npu == npu)
                known = f"{len(mine):,} plans of {table.name}{on}, such as {table.texts[mine[0]]}"
                raise InputError(f"'{text}' in the design '{fabric}' is none of the {known}")
    return places


def plan_columns(designs: Population, tables: Sequence[PlanTable]) -> dict[str, list[str]]:
    """Return the column of the plans that designs have of each table; none without tables."""
    names = [f"plan[{place}]" for place in range(len(tables))] if len(tables) > 1 else ["plan"][: len(tables)]
    rows = zip(names, tables, designs.plans.tolist(), strict=True)
    return {name: [table.texts[place] for place in plan] for name, table, plan in rows}


def dimension_columns(designs: Population, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the columns of each dimension: NPUs, block, technology by its place in `names`, and bandwidth."""
    columns: dict[str, list[Any]] = {}
    technologies, blocks = np.array([*names, ""]), np.array([*BLOCK_NAMES, ""])
    for d, npus in enumerate(designs.npus):
        columns[f"npus[{d}]"] = npus.tolist()
        columns[f"block[{d}]"] = blocks[np.where(npus > 1, designs.block[d], -1)].tolist()
        columns[f"technology[{d}]"] = technologies[np.where(npus > 1, designs.technology[d], -1)].tolist()
        columns[f"bandwidth[{d}]_GBps"] = (designs.bandwidth[d] / GIGA).tolist()
    return columns
