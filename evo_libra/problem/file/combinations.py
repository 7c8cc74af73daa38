"""The combinations of shape and technologies that a problem file allows, as a table or as a counter."""

from __future__ import annotations

from collections.abc import Sequence

from evo_libra.errors import ConflictError
from evo_libra.files.mistakes import KeyPath
from evo_libra.network.catalog.technologies import Catalog
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.file.fabric import FabricLoader
from evo_libra.problem.file.mistakes import ProblemFile
from evo_libra.problem.file.spec import PinSpec
from evo_libra.problem.pricing.catalog import pricing_of
from evo_libra.problem.pricing.pricing import DimensionChoice
from evo_libra.problem.space import MAX_INDEX, MAX_STRUCTURES, CountedStructures, DimensionRule, Space
from evo_libra.problem.time_models.time_model import TimeModel


def count_structures(
    file: ProblemFile, fabric: FabricLoader, catalog: Catalog, choices: Sequence[DimensionChoice],
    pins: dict[int, PinSpec],
) -> CountedStructures:  # fmt: skip
    """Return the counter of the topologies of the space; an `InputError` says that they are too many."""
    built = (tuple(t for t, blocks in enumerate(choice.blocks) if blocks) for choice in choices)
    rules = [DimensionRule(pins[d].npus if d in pins else None, mine) for d, mine in enumerate(built)]
    found = CountedStructures(
        file.spec.npus,
        catalog.technologies,
        tuple(rules),
        fabric.min_dimensions(pins),
        file.spec.fabric.one_dimension_per_technology,
    )
    if found.total >= MAX_INDEX:
        raise file.fail(
            ("fabric",),
            f"the space has {found.total:.3g} topologies, more than {MAX_INDEX:.3g}; fewer dimensions or "
            "technologies, or a largest dimension in the catalogue, make it smaller",
        )
    return found


def space_of(
    file: ProblemFile,
    fabric: FabricLoader,
    counted: CountedStructures,
    *,
    catalog: Catalog,
    time: TimeModel,
    choices: tuple[DimensionChoice, ...],
    constraints: tuple[Constraint, ...],
) -> Space:
    """Return the combinations of the space: a table where it is small enough, else a counter."""
    if counted.total > MAX_STRUCTURES:
        return counted
    structures = counted.listed()
    if not len(structures):
        place: KeyPath = ("fabric", "shape") if file.spec.fabric.shape is not None else ("npus",)
        raise file.fail(place, f"{file.spec.npus} NPUs cannot be built: {fabric.why_no_shape(catalog, len(choices))}")
    structures = structures.select(time.fits(structures.npus))
    if not len(structures):
        raise file.fail(("workloads",), "no shape of the space can hold the process groups of every workload")
    if time.keeps_inside and not time.tables:
        structures = structures.select(time.fits(structures.npus, technology=structures.technology))
        if not len(structures):
            raise file.fail(("workloads",), f"no network of the space {time.must_hold}")
    pricing = pricing_of(catalog, choices, file.spec.npus, structures, fractional=False)
    try:
        return pricing.feasible(structures, constraints)
    except ConflictError as error:
        raise ConflictError(file.source.mistake(("constraints",), str(error)), error.conflict) from None
