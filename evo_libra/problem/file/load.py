"""From a problem file to a problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.errors import ConflictError, InputError, unknown
from evo_libra.files.source import KeyPath, Source
from evo_libra.network.blocks import Kit
from evo_libra.network.catalog import Catalog, Technology
from evo_libra.network.fabric import BLOCK_NAMES, BLOCKS, parse_fabric
from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.file.catalog import CatalogLoader
from evo_libra.problem.file.mistakes import Stages
from evo_libra.problem.file.spec import MOST_DIMENSIONS, BandwidthSpec, FabricSpec, PinSpec, ProblemSpec
from evo_libra.problem.file.time import check_keys, fidelity_of, time_model, time_spec
from evo_libra.problem.objectives import MEASURES, TotalCostOfOwnership
from evo_libra.problem.pricing.kits import KitTechnology, kits_of, port_constraints
from evo_libra.problem.pricing.pricing import DimensionChoice
from evo_libra.problem.pricing.registry import pricing_of
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchSettings
from evo_libra.problem.space import MAX_STRUCTURES, DimensionRule, Space, enumerate_structures
from evo_libra.problem.space_size import CountedStructures, count_structures
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.workload.training import Merging

_LEAST, _MOST = 0.1 * GIGA, 1000 * GIGA
_OF_MODE = ("bandwidth", "objectives", "time", "workloads")
_PARTS = "a catalogue of parts: others have no watts"


def problem_of(source: Source, folder: Path, *, open_box: bool = False) -> Problem:
    """Build a problem from the data of a problem file.

    Parameters
    ----------
    source : the data, with the place of every key.
    folder : what paths in the file are relative to.
    open_box : solve for bandwidths; bounds that the file leaves out are 0 and infinity instead of the schema's.

    Raises
    ------
    InputError : with all mistakes of the file, those of later stages included that do not depend on others.
    """
    try:
        return _Loader(source, folder, open_box=open_box).load()
    except ConflictError:
        raise
    except InputError as error:
        raise _with_all_mistakes(error, source, folder, open_box=open_box) from None


def _with_all_mistakes(first: InputError, source: Source, folder: Path, *, open_box: bool) -> InputError:
    """Return the error with the mistakes of all stages, where the first stage that found any has raised one."""
    try:
        stages = Stages(source)
    except InputError:
        return first
    loader = _Loader(source, folder, open_box=open_box, spec=stages.spec)
    catalog = stages.attempt(loader.catalog, "fabric.catalog")
    tco = stages.attempt(loader.tco, "objectives", "tco")
    for index in range(len(loader.spec.workloads)):
        stages.attempt(partial(loader.workload, index), "npus", f"workloads[{index}]")
    stages.attempt(lambda: loader.loops(None, Merging.PATTERN), "npus", "workloads", "time")
    pins = stages.attempt(loader.pins, "fabric.shape", "fabric.pin", "npus")
    stages.attempt(loader.check_bandwidth, "bandwidth")
    stages.attempt(lambda: check_keys(time_spec(loader.spec), source), "time")
    built = ("fabric.technologies", "fabric.blocks")
    limits = ("fabric.min_dimensions", "fabric.max_dimensions")
    most = None if pins is None else stages.attempt(lambda: loader.most(pins), *limits)
    if catalog is not None:
        # A dimension that may be there is no mistake.
        dimensions = MOST_DIMENSIONS if most is None else most
        stages.attempt(lambda: loader.constraints(dimensions, catalog, tco), "constraints", "tco", built[0])
        if pins is not None:
            stages.attempt(lambda: loader.choices(catalog, pins), "bandwidth", "fabric")
        stages.attempt(lambda: loader.check_blocks(catalog), *built)
        stages.attempt(lambda: loader.check_mode(parts=bool(kits_of(catalog))), *_OF_MODE)
        stages.attempt(lambda: fidelity_of(time_spec(loader.spec), catalog, source), "time", *built)
    return stages.error(first)


def files_of(source: Source, folder: Path) -> list[Path]:
    """Return every file that a problem is read from beside its own; the parameters are those of `problem_of`.

    Raises
    ------
    InputError : the data does not follow the schema.
    """
    return CatalogLoader(source, folder).paths()


class _Loader(CatalogLoader):
    """Collects mistakes while it builds the parts of one problem."""

    def __init__(self, source: Source, folder: Path, *, open_box: bool, spec: ProblemSpec | None = None) -> None:
        super().__init__(source, folder, spec)
        self.open_box = open_box

    def load(self) -> Problem:
        catalog = self.catalog()
        self.check_blocks(catalog)
        pins = self.pins()
        choices = self.choices(catalog, pins)
        fidelity = fidelity_of(time_spec(self.spec), catalog, self.source)
        self.check_mode(parts=bool(kits_of(catalog)))
        time = time_model(self.loops, fidelity, kits_of(catalog))
        tco = self.tco()
        constraints = self.constraints(len(choices), catalog, tco) + port_constraints(catalog, len(choices))
        counted = self._count(catalog, choices, pins)
        return Problem(
            self.spec.name,
            self.spec.npus,
            catalog,
            self._space(counted, catalog, time, choices, constraints),
            choices,
            time,
            tuple(MEASURES[name].objective for name in dict.fromkeys(self.spec.objectives)),
            constraints,
            SearchSettings(**self.spec.search.model_dump()),
            self.identity(catalog),
            counted,
            self._bandwidth().mode == "optimal",
            tco,
        )

    def check_mode(self, *, parts: bool) -> None:
        """Refuse a way to choose bandwidths, or an objective, that the catalogue or the time does not allow."""
        mode = self._bandwidth().mode
        if mode == "optimal" and time_spec(self.spec).model != "libra":
            raise self.fail(("bandwidth",), f"bandwidths are solved for under LIBRA's time; {self._rescoring()}")
        traces = [index for index, workload in enumerate(self.spec.workloads) if workload.trace is not None]
        if mode == "optimal" and traces:
            raise self.fail(
                ("workloads", traces[0], "trace"),
                "bandwidths can be solved for only where all workloads are training loops; with `bandwidth: "
                f"{'ports' if parts else 'search'}` a problem with a trace can be searched",
            )
        if parts and mode == "search":
            raise self.fail(("bandwidth",), "bandwidths of parts come in ports; use `bandwidth: ports`")
        if not parts and mode == "ports":
            raise self.fail(
                ("bandwidth",), "the catalogue has prices per bandwidth, but no ports; use search or optimal"
            )
        watts = [name for name in self.spec.objectives if MEASURES[name].power]
        if watts and not parts:
            raise self.fail(("objectives",), f"{' and '.join(watts)} {'needs' if len(watts) == 1 else 'need'} {_PARTS}")

    def tco(self) -> TotalCostOfOwnership | None:
        """Return what it costs to run a network, if the file says it."""
        given, asked = self.spec.tco, [name for name in self.spec.objectives if MEASURES[name].owned]
        if asked and given is None:
            raise self.fail((), f"the objective {asked[0]} needs the key 'tco': years, usd_per_kWh and pue")
        return None if given is None else TotalCostOfOwnership(given.years, given.usd_per_kWh, given.pue)

    def _rescoring(self) -> str:
        return f"with `time: {time_spec(self.spec).model}` they are searched, or a front of LIBRA's time is rescored"

    def _count(
        self, catalog: Catalog, choices: Sequence[DimensionChoice], pins: dict[int, PinSpec]
    ) -> CountedStructures:
        built = (tuple(t for t, blocks in enumerate(choice.blocks) if blocks) for choice in choices)
        rules = [DimensionRule(pins[d].npus if d in pins else None, mine) for d, mine in enumerate(built)]
        one_each = self.spec.fabric.one_dimension_per_technology
        try:
            return count_structures(self.spec.npus, catalog.technologies, rules, self._fewest(pins), one_each=one_each)
        except InputError as error:
            raise self.fail(("fabric",), str(error)) from None

    def _space(
        self,
        counted: CountedStructures,
        catalog: Catalog,
        time: TimeModel,
        choices: tuple[DimensionChoice, ...],
        constraints: tuple[Constraint, ...],
    ) -> Space:
        """Return the structures of the space: a table where it is small enough, else what counts them."""
        if counted.total > MAX_STRUCTURES:
            return counted
        structures = enumerate_structures(
            counted.npus, counted.technologies, counted.rules, counted.fewest, one_each=counted.one_each
        )
        if not len(structures):
            place: KeyPath = ("fabric", "shape") if self.spec.fabric.shape is not None else ("npus",)
            raise self.fail(
                place, f"{self.spec.npus} NPUs cannot be built: {self._why_no_shape(catalog, len(choices))}"
            )
        structures = structures.select(time.fits(structures.npus))
        if not len(structures):
            raise self.fail(("workloads",), "no shape of the space can hold the process groups of every workload")
        pricing = pricing_of(catalog, choices, self.spec.npus, structures, fractional=False)
        try:
            return pricing.feasible(structures, constraints)
        except ConflictError as error:
            raise ConflictError(self.source.mistake(("constraints",), str(error)), error.conflict) from None

    def pins(self) -> dict[int, PinSpec]:
        """Return what is fixed of dimensions."""
        fabric = self.spec.fabric
        pins = {pin.dimension: pin for pin in fabric.pin}
        if fabric.shape is None:
            return pins
        if pins:
            raise self.fail(("fabric", "pin"), "the shape pins every dimension already; give one of the two")
        try:
            shape = parse_fabric(fabric.shape)
        except InputError as error:
            raise self.fail(("fabric", "shape"), str(error)) from None
        if len(shape.dimensions) > MOST_DIMENSIONS:
            raise self.fail(
                ("fabric", "shape"),
                f"the shape has {len(shape.dimensions)} dimensions; at most {MOST_DIMENSIONS} are allowed",
            )
        if shape.npus != self.spec.npus:
            raise self.fail(("fabric", "shape"), f"the shape has {shape.npus} NPUs, the problem has {self.spec.npus}")
        return {
            d: PinSpec.model_validate(
                {
                    "dimension": d,
                    "npus": dimension.npus,
                    "block": BLOCKS[dimension.block].name,
                    "technology": dimension.technology,
                    "bandwidth_GBps": None if dimension.bandwidth is None else dimension.bandwidth / GIGA,
                }
            )
            for d, dimension in enumerate(shape.dimensions)
        }

    def most(self, pins: dict[int, PinSpec]) -> int:
        """Return the most dimensions of a design."""
        fabric = self.spec.fabric
        if fabric.shape is not None:
            return len(pins)
        if fabric.min_dimensions > fabric.max_dimensions:
            raise self.fail(
                ("fabric", "min_dimensions"),
                f"found {fabric.min_dimensions}; max_dimensions is {fabric.max_dimensions}",
            )
        for index, pin in enumerate(fabric.pin):
            if pin.dimension >= fabric.max_dimensions:
                raise self.fail(
                    ("fabric", "pin", index, "dimension"),
                    f"found {pin.dimension}; dimensions count from 0 to {fabric.max_dimensions - 1}",
                )
        return fabric.max_dimensions

    def _fewest(self, pins: dict[int, PinSpec]) -> int:
        return max([self.spec.fabric.min_dimensions, *(d + 1 for d in pins)])

    def check_blocks(self, catalog: Catalog) -> None:
        """Refuse blocks that are asked for and that no technology builds."""
        built = dict.fromkeys(block for technology in catalog.technologies for block in technology.blocks)
        mistakes = [
            self.source.mistake(("fabric", "blocks", index), f"no technology that is chosen can build {block}")
            for index, block in enumerate(self.spec.fabric.blocks or ())
            if block not in built
        ]
        if mistakes:
            raise InputError(mistakes)

    def choices(self, catalog: Catalog, pins: dict[int, PinSpec]) -> tuple[DimensionChoice, ...]:
        """Return what each dimension may be built of."""
        self.check_bandwidth()
        bandwidth = self._bandwidth()
        return tuple(self._choice(d, catalog, pins.get(d), bandwidth) for d in range(self.most(pins)))

    def check_bandwidth(self) -> None:
        """Refuse bounds that leave no bandwidth."""
        bandwidth = self._bandwidth()
        if bandwidth.mode == "search" and bandwidth.min_GBps == 0:
            raise self.fail(("bandwidth", "min_GBps"), "found 0; a bandwidth that is searched must be above 0")
        least, most = _range(bandwidth, None)
        if least > most:
            raise self.fail(("bandwidth", "min_GBps"), f"found {least / GIGA:g}; max_GBps is {most / GIGA:g}")

    def _bandwidth(self) -> BandwidthSpec:
        given = self.spec.bandwidth
        spec = given if isinstance(given, BandwidthSpec) else BandwidthSpec(mode=given)
        if not self.open_box:
            return spec
        least = 0.0 if spec.min_GBps is None else spec.min_GBps
        most = math.inf if spec.max_GBps is None else spec.max_GBps
        return spec.model_copy(update={"mode": "optimal", "min_GBps": least, "max_GBps": most})

    def _choice(self, d: int, catalog: Catalog, pin: PinSpec | None, bandwidth: BandwidthSpec) -> DimensionChoice:
        fabric: FabricSpec = self.spec.fabric
        place: KeyPath = ("fabric", "shape" if fabric.shape is not None else "pin")
        if pin and pin.technology is not None and pin.technology not in catalog.names:
            raise self.fail(place, unknown("technology", pin.technology, catalog.names))
        blocks, low, high = [], [], []
        for technology in catalog.technologies:
            allowed = [
                name
                for name in technology.blocks
                if (fabric.blocks is None or name in fabric.blocks)
                and (pin is None or pin.block in (None, name))
                and (pin is None or pin.technology in (None, technology.name))
            ]
            cap, kit = technology.bandwidth_cap or np.inf, getattr(technology, "kit", None)
            pinned = None if pin is None or pin.bandwidth_GBps is None else pin.bandwidth_GBps * GIGA
            least, most = _range(bandwidth, kit) if pinned is None else (pinned, pinned)
            if pinned is None:
                most = min(most, cap)
                least = min(least, most)
            if pinned is not None and pinned > cap:
                allowed = []
            blocks.append(tuple(BLOCK_NAMES.index(name) for name in allowed))
            low.append(least)
            high.append(most)
        if not any(blocks):
            where = place if pin else ("fabric", "blocks")
            raise self.fail(
                where, f"nothing can be built in dimension {d}: no technology of the catalogue allows what is asked"
            )
        return DimensionChoice(tuple(blocks), np.array(low), np.array(high))

    def _why_no_shape(self, catalog: Catalog, dimensions: int) -> str:
        limits = ", ".join(dict.fromkeys(f"{t.name} {_largest(t)}" for t in catalog.technologies))
        return (
            f"no product of up to {dimensions} dimensions within the largest sizes ({limits}) and the pins gives it; "
            "another number of NPUs, more dimensions or a technology with a larger dimension is needed"
        )

    def constraints(
        self, dimensions: int, catalog: Catalog, tco: TotalCostOfOwnership | None
    ) -> tuple[Constraint, ...]:
        """Return the constraints of the file."""
        found: list[Constraint] = []
        mistakes = []
        for index, text in enumerate(self.spec.constraints):
            try:
                these = parse_constraint(text, dimensions, catalog.names, tco)
                found += these
                if not kits_of(catalog) and any(c.quantity in MEASURES and MEASURES[c.quantity].power for c in these):
                    raise InputError(f"'{text}': {these[0].quantity} needs {_PARTS}")  # noqa: TRY301 - has its place
            except InputError as error:
                mistakes.append(self.source.mistake(("constraints", index), str(error)))
        if mistakes:
            raise InputError(mistakes)
        return tuple(found)


def _range(bandwidth: BandwidthSpec, kit: Kit | None) -> tuple[float, float]:
    """Return the least and the most B/s of a dimension, those that are left out included; a cap is not."""
    usual = (_LEAST, _MOST) if kit is None else (kit.port_rate, math.inf)
    stated = (bandwidth.min_GBps, bandwidth.max_GBps)
    least, most = (one if GBps is None else GBps * GIGA for GBps, one in zip(stated, usual, strict=True))
    return least, most


def _largest(technology: Technology) -> str:
    """Return how many NPUs a technology connects at most: in a dimension, of parts in a domain."""
    kit = technology.kit if isinstance(technology, KitTechnology) else None
    if kit is not None and kit.domain_size is not None:
        return f"{kit.domain_size} with all inside it"
    return str(technology.largest_dimension or "any")
