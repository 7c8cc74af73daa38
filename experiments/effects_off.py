"""Problems of parts with one effect switched off at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from designs import design_file

from evo_libra import Problem, load_problem
from evo_libra.arrays import IntArray
from evo_libra.network.catalog.parts import load_parts_spec
from evo_libra.problem.pricing.hardware import Hardware
from evo_libra.problem.pricing.parts import BillOfMaterials
from evo_libra.problem.pricing.pricing import Pricing
from evo_libra.problem.time_models.astra import AstraTime

BOX = 8
"""NPUs of a box of NVLink without switches between boxes."""
_DIRECT = "fully-connected"
_FREE = ("transceiver", "nic")


def load(name: str, assignments: Sequence[str] = ()) -> Problem:
    """Return a problem of the studies or the package, with domains of any size, as the studies have them."""
    found = load_problem(design_file(name), ["fabric.domains=any", *assignments])
    assert isinstance(found, Problem)  # noqa: S101 - these are
    return found


def load_direct(name: str, assignments: Sequence[str] = ()) -> Problem:
    """Return the same with NVLink of any wiring; files leave it out, as the boxes that are sold have switches."""
    problem = load(name, assignments)
    blocks = problem.spec["fabric"]["blocks"]
    if _DIRECT in blocks or not any(one.name.startswith("nvlink") for one in problem.catalog.technologies):
        return problem
    return load(name, [*assignments, f"fabric.blocks={json.dumps([*blocks, _DIRECT])}"])


class _Fractions(BillOfMaterials):
    """Prices of ports and of parts that come in any fraction."""

    def hardware_of(self, npus: IntArray, technology: IntArray) -> Hardware:
        """Return the hardware with what is bought by the step bought by the port."""
        found = super().hardware_of(npus, technology)
        stepped = (found.per_step * found.slope).sum(axis=1)
        return replace(found, per_port=found.per_port + stepped, per_step=np.zeros_like(found.per_step))


class _FractionalProblem(Problem):
    """A problem in which a switch with half of its ports in use costs half."""

    @cached_property
    def pricing(self) -> Pricing:
        """The prices with parts in any fraction."""
        known = super().pricing
        assert isinstance(known, BillOfMaterials)  # noqa: S101 - only parts come in fractions
        return _Fractions(**_fields(known))


def _fields(record: Problem | Pricing) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def without_shares(problem: Problem) -> Problem:
    """Return the problem in which every group has all the bandwidth of its NPUs, and only NPUs reduce: LIBRA's."""
    time = replace(problem.time, kits=())
    return replace(
        problem, time=replace(time, libra=replace(time.libra, kits=())) if isinstance(time, AstraTime) else time
    )


def edited(problem: str, folder: Path, edit: Callable[[dict[str, Any]], None]) -> Problem:
    """Return a problem with an edited copy of its catalogue."""
    named = str(load_direct(problem).spec["fabric"]["catalog"])
    catalog: Any = load_parts_spec(named).model_dump(mode="json", exclude_unset=True)
    edit(catalog)
    path = folder / f"{problem}-edited.yaml"
    path.write_text(json.dumps(catalog))
    return load_direct(problem, [f"fabric.catalog={path}"])


def without_domain_sizes(catalog: dict[str, Any]) -> None:
    """Take away the most NPUs of a domain."""
    for technology in catalog["technologies"].values():
        technology.pop("domain_size", None)
        technology.pop("domains", None)


def in_boxes(catalog: dict[str, Any]) -> None:
    """End NVLink at boxes of 8 NPUs."""
    for name, technology in catalog["technologies"].items():
        if name.startswith("nvlink"):
            technology["domain_size"] = BOX
            technology.pop("domains", None)


def with_free_optics(catalog: dict[str, Any]) -> None:
    """Take away the prices of transceivers and NICs."""
    for part in catalog["parts"].values():
        if part["kind"] in _FREE:
            part["price_usd"] = 0


def variants(name: str, folder: Path) -> dict[str, Problem]:
    """Return the problem with one effect off at a time."""
    problem = load_direct(name)
    found = {"shares": without_shares(problem), "whole parts": _FractionalProblem(**_fields(problem))}
    if problem.time.predicts_astra_sim:
        found["latency and chunks"] = load_direct(name, ["time=libra"])
    found["domain sizes"] = edited(name, folder, without_domain_sizes)
    names = {technology.name for technology in problem.catalog.technologies}
    if any(one.startswith("optics") for one in names):
        found["prices of optics and NICs"] = edited(name, folder, with_free_optics)
    if any(one.startswith("nvlink") for one in names):
        found["NVLink beyond boxes of 8"] = edited(name, folder, in_boxes)
    return found
