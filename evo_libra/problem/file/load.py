"""From a problem file to a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.arrays import GIGA
from evo_libra.errors import ConflictError, InputError
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source
from evo_libra.network.bill import parts_of
from evo_libra.network.blocks import Kit
from evo_libra.network.catalog.collective_latency import kinds_of
from evo_libra.network.catalog.technologies import Catalog, Technology, beyond_domains, domain_limit
from evo_libra.problem.constraint_parser import parse_constraint
from evo_libra.problem.constraints import Constraint
from evo_libra.problem.designs import SHARES_OF_PARTS
from evo_libra.problem.evaluator import FigureSources
from evo_libra.problem.figures import TotalCostOfOwnership, TrainingFigures
from evo_libra.problem.file.fabric import FabricLoader, technologies_of
from evo_libra.problem.file.faults import FaultsLoader
from evo_libra.problem.file.mistakes import ProblemFile, Stages
from evo_libra.problem.file.spec import MAX_DIMENSIONS, PinSpec, asks_for_order
from evo_libra.problem.file.time import (
    check_keys,
    check_shares,
    has_whole_bandwidth,
    identity_of_time,
    reader_of,
    time_spec,
)
from evo_libra.problem.file.uncertainty import UncertaintyLoader
from evo_libra.problem.file.workloads import WorkloadLoader
from evo_libra.problem.needs import NO_TCO, NPU_PRICE, NPU_WATTS, ORDER, TCO, TOKENS, TRAINING, USERS, WATTS, refusal
from evo_libra.problem.npu_choice import NpuChoice
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.pricing.catalog import built_of, kits_of, port_constraints, pricing_of
from evo_libra.problem.pricing.pricing import DimensionChoice
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchSettings
from evo_libra.problem.space import MAX_INDEX, MAX_STRUCTURES, CountedStructures, DimensionRule, Space
from evo_libra.problem.system_bill import NOTHING_AROUND, SystemBill
from evo_libra.problem.time_models.registry import Network, time_kind
from evo_libra.problem.time_models.time_model import TimeModel
from evo_libra.timing.quirks import Quirk
from evo_libra.workload.layers.iteration_time import Merging

if TYPE_CHECKING:
    from evo_libra.network.catalog.accelerator import Accelerator
    from evo_libra.network.orders.order import Order
    from evo_libra.problem.bands import BandSource
    from evo_libra.problem.file.orders import OrderLoader
    from evo_libra.problem.time_models.loops import WeightedLoop

_RARE = ("npu", "transport")
_OF_MODE = ("bandwidth", "objectives", "time", "workloads")
_PARTS = "needs a catalogue of parts: others have no watts"


def problem_of(source: Source, folder: Path, *, open_box: bool = False) -> Problem:
    """Build a problem from the data of a problem file; paths in it are relative to its folder.

    With `open_box` bandwidths are solved for, and bounds that the file leaves out are 0 and infinity.

    Raises
    ------
    InputError : with all mistakes of the file, including those of later stages that do not depend on others.
    """
    try:
        return _Loader(_file_of(source, folder, {}), open_box=open_box).load()
    except ConflictError:
        raise
    except InputError as error:
        from evo_libra.problem.file.questions import refuse_other_question  # noqa: PLC0415 - most files have none

        refuse_other_question(source)
        if asks_for_order(source.data):
            raise
        raise _with_all_mistakes(error, source, folder, open_box=open_box) from None


def _with_accelerators(source: Source, folder: Path, instead: Mapping[str, Accelerator]) -> Problem:
    """Return the problem of a file with some accelerators in place of those of the same name."""
    return _Loader(_file_of(source, folder, instead), open_box=False).load()


def _of_one_order(orders: OrderLoader, order: Order) -> Problem:
    """Return the problem of a file with one order in place of its own; an `InputError` says that no plan fits."""
    return _Loader(orders.alone(order), open_box=False).load()


def _file_of(source: Source, folder: Path, instead: Mapping[str, Accelerator]) -> ProblemFile:
    """Return the file of some data, of either question."""
    if not asks_for_order(source.data):
        return replace(ProblemFile.of(source, folder), instead=instead)
    from evo_libra.problem.file.orders import order_file  # noqa: PLC0415 - files of designs do not need it

    return order_file(source, folder, instead)


def _with_all_mistakes(first: InputError, source: Source, folder: Path, *, open_box: bool) -> InputError:
    """Return the error with the mistakes of all stages, where the first stage that found any has raised one."""
    try:
        stages = Stages(source)
    except InputError:
        return first
    file = ProblemFile(source, folder, stages.spec)
    loader = _Loader(file, open_box=open_box)
    fabric, workloads = loader.fabric, loader.workloads
    catalog = stages.attempt(lambda: technologies_of(file), "fabric.catalog", "npu")
    tco = stages.attempt(loader.tco, "objectives", "tco")
    stages.attempt(loader.system, "system")
    for index, spec in enumerate(file.spec.workloads):
        needed = ("npus", "npu") if spec.training is not None or spec.serving is not None else ("npus",)
        stages.attempt(partial(workloads.workload, index), *needed, f"workloads[{index}]")
    trained = ("npu",) if workloads.accelerators.trains else ()
    stages.attempt(lambda: workloads.loops(Merging.PATTERN), "npus", *trained, "workloads", "time")
    pins = stages.attempt(fabric.pins, "fabric.shape", "fabric.pin", "npus")
    stages.attempt(fabric.check_bandwidth, "bandwidth")
    stages.attempt(lambda: workloads.accelerators.npus, "npu")
    stages.attempt(workloads.accelerators.check_memory, "npu", "memory")
    stages.attempt(lambda: check_keys(time_spec(file.spec), source), "time")
    stages.attempt(lambda: check_shares(file.spec, source), "time", "workloads")
    built = ("fabric.technologies", "fabric.blocks")
    limits = ("fabric.min_dimensions", "fabric.max_dimensions")
    depth = None if pins is None else stages.attempt(lambda: fabric.max_dimensions(pins), *limits)
    if catalog is not None:
        # A dimension that may be there is no mistake.
        dimensions = MAX_DIMENSIONS if depth is None else depth
        stages.attempt(lambda: loader.constraints(dimensions, catalog, tco), "constraints", "tco", built[0])
        if pins is not None:
            stages.attempt(lambda: fabric.choices(catalog, pins), "bandwidth", "fabric")
        stages.attempt(lambda: fabric.check_blocks(catalog), *built)
        stages.attempt(lambda: loader.check_mode(parts=bool(kits_of(catalog))), *_OF_MODE)
        stages.attempt(lambda: reader_of(time_spec(file.spec), catalog, source), "time", *built)
    return stages.error(first)


def _figures(technology: Technology) -> dict[str, Any]:
    """Return the figures of a technology; most have no accelerator to choose, and no transport."""
    return {key: value for key, value in asdict(technology).items() if key not in _RARE or value is not None}


class _Loader:
    """Puts one problem together from the parts of its file."""

    def __init__(self, file: ProblemFile, *, open_box: bool) -> None:
        self.file, self.spec, self.fail = file, file.spec, file.fail
        self.fabric, self.workloads = FabricLoader(file, open_box=open_box), WorkloadLoader(file)

    def load(self) -> Problem:
        return self.load_design() if self.file.orders is None else self.load_order(self.file.orders)

    def load_order(self, orders: OrderLoader) -> Problem:
        """Return the problem of a file that asks for an order."""
        from evo_libra.problem.orders import pools_of  # noqa: PLC0415 - files of designs do not need it
        from evo_libra.problem.other_orders import OtherOrders  # noqa: PLC0415 - the same

        self.workloads = orders.with_plans(self.workloads, len(self.spec.workloads))
        book, accelerators = orders.book, self.workloads.accelerators
        catalog, npu = book.catalog, pools_of(book, accelerators.capacities)
        reached = accelerators.efficiency(catalog)
        efficiency = book.efficiency if reached is None else book.efficiency * reached
        kits, owner = built_of(catalog, whole_bandwidth=False), npu.owner if npu.several else None
        built = Network(kits, efficiency, owner, beyond_domains(catalog), kinds_of(catalog))
        time = reader_of(time_spec(self.spec), catalog, self.file.source)(self.workloads.loops, built)
        training, tco = self.workloads.training.figures(time.loops) if accelerators.trains else None, self.tco()
        system = SystemBill((*book.rest(), *self.system(time.loops, kits_of(catalog)).rows))
        constraints = self.constraints(len(book.choices), catalog, tco)
        constraints += self.limits(training, npu, constraints, len(book.choices))
        asked = self.asked(constraints)
        scenarios = UncertaintyLoader(self.file, asked).scenarios(kits_of(catalog), npu, time.loops, system, book)
        return Problem(
            name=self.spec.name, npus=self.spec.npus, catalog=catalog, structures=book.structures, choices=book.choices,
            time=time, objectives=tuple(MEASURES[name].objective for name in dict.fromkeys(self.spec.objectives)),
            constraints=constraints, settings=orders.settings(),
            spec=self._identity(catalog) | orders.identity(), grown=None, optimal=False,
            sources=FigureSources(tco=tco, training=training, npu=npu, system=system, scenarios=scenarios),
            notes=(*self._notes(catalog), *orders.notes()), band_sources=self._band_sources(), book=book,
            others=OtherOrders(orders.spec, partial(_of_one_order, orders)),
        )  # fmt: skip

    def load_design(self) -> Problem:
        """Return the problem of a file that asks for a design."""
        npus = self.workloads.accelerators.npus
        catalog = technologies_of(self.file, npus)
        npu = self.workloads.accelerators.choice(catalog)
        if self.workloads.accelerators.trains:
            self.workloads.training.domains = {one.name: domain_limit(catalog, one.name) for one in npus}
        self.fabric.check_blocks(catalog)
        pins = self.fabric.pins()
        choices = self.fabric.choices(catalog, pins)
        make_time = reader_of(time_spec(self.spec), catalog, self.file.source)
        self.check_mode(parts=bool(kits_of(catalog)))
        check_shares(self.spec, self.file.source)
        self.workloads.accelerators.check_memory()
        efficiency = self.workloads.accelerators.efficiency(catalog)
        owner = npu.owner if npu.several else None
        built = built_of(catalog, whole_bandwidth=has_whole_bandwidth(self.spec))
        network = Network(built, efficiency, owner, beyond_domains(catalog), kinds_of(catalog))
        time = make_time(self.workloads.loops, network)
        training = self.workloads.training.figures(time.loops) if self.workloads.accelerators.trains else None
        tco, system = self.tco(), self.system(time.loops, kits_of(catalog))
        constraints = self.constraints(len(choices), catalog, tco) + port_constraints(catalog, len(choices))
        constraints += self.limits(training, npu, constraints, len(choices))
        self.check_system(system, constraints)
        counted, asked, kits = self._count(catalog, choices, pins), self.asked(constraints), kits_of(catalog)
        return Problem(
            name=self.spec.name, npus=self.spec.npus, catalog=catalog,
            structures=self._space(counted, catalog, time, choices, constraints), choices=choices, time=time,
            objectives=tuple(MEASURES[name].objective for name in dict.fromkeys(self.spec.objectives)),
            constraints=constraints, settings=SearchSettings(**self.spec.search.model_dump()),
            spec=self._identity(catalog), grown=counted, optimal=self.fabric.bandwidth().mode == "optimal",
            sources=FigureSources(
                tco=tco, training=training, npu=npu, system=system,
                scenarios=UncertaintyLoader(self.file, asked).scenarios(kits, npu, time.loops, system),
                faults=FaultsLoader(self.file, asked).faults(kits),
            ),
            notes=self._notes(catalog), band_sources=self._band_sources(),
        )  # fmt: skip

    def _notes(self, catalog: Catalog) -> tuple[Quirk, ...]:
        """Return what the file, or the file of a model, says and is not computed."""
        ignored = (SHARES_OF_PARTS,) if kits_of(catalog) and has_whole_bandwidth(self.spec) else ()
        if not self.workloads.accelerators.trains:
            return ignored
        from evo_libra.problem.file.kernel_defaults import default_kernels  # noqa: PLC0415 - of whole models alone

        files = (Quirk("model-file", note) for note in self.workloads.training.notes())
        return (*files, *ignored, *default_kernels(self._chips(), self.spec.workloads))

    def _band_sources(self) -> tuple[BandSource, ...]:
        """Return the reasons for which figures may be off; the files of the ends of a band have none of their own."""
        if not self.workloads.accelerators.trains or self.file.instead:
            return ()
        from evo_libra.problem.class_bands import ClassBands  # noqa: PLC0415 - of whole models alone
        from evo_libra.problem.file.kernel_defaults import KernelBands  # noqa: PLC0415 - the same
        from evo_libra.problem.file.kernel_spread import assumed_kernels  # noqa: PLC0415 - the same

        kinds = assumed_kernels(self._chips(), self.spec.workloads)
        npus = {npu.name: npu for npu in self._chips() if npu.name in kinds}
        source, folder = self.file.source, self.file.folder
        kernels = (KernelBands(source, folder, npus, kinds=kinds, load=_with_accelerators),) if kinds else ()
        return (ClassBands(), *kernels)

    def _chips(self) -> tuple[Accelerator, ...]:
        """Return the accelerators under their own names, which pools of systems do not have."""
        return self.workloads.accelerators.npus if self.file.orders is None else self.file.orders.chips

    def system(self, loops: Sequence[WeightedLoop] = (), kits: Sequence[Kit] = ()) -> SystemBill:
        """Return the bill of everything besides network and accelerators; see `SystemLoader.bill`."""
        if self.spec.system is None and self.spec.memory.expansion is None and not self.workloads.accelerators.trains:
            return NOTHING_AROUND
        from evo_libra.problem.file.system import SystemLoader  # noqa: PLC0415 - tables of layers do not need it

        return SystemLoader(self.file).bill(loops, kits)

    def check_system(self, system: SystemBill, constraints: Sequence[Constraint]) -> None:
        """Refuse objectives and constraints that need a figure which a row of the bill lacks."""
        if not system.rows:
            return
        from evo_libra.problem.file.system import SystemLoader  # noqa: PLC0415 - tables of layers do not need it

        self.check_needs(self.asked(constraints), SystemLoader(self.file).lacks(system))

    def check_needs(self, asked: Sequence[tuple[str, str]], lacks: Mapping[str, str]) -> None:
        """Refuse the first objective or constraint, by its key, that needs what is lacking; see `refusal`."""
        found = refusal(((name, MEASURES[name].needs) for _, name in asked), lacks)
        if found is not None:
            raise self.fail((asked[found[0]][0],), found[1])

    def asked(self, constraints: Sequence[Constraint]) -> list[tuple[str, str]]:
        """Return the names of objectives, and of those that constraints limit, with the keys that name them."""
        found = [("objectives", name) for name in self.spec.objectives]
        return found + [("constraints", one.quantity) for one in constraints if one.quantity in MEASURES]

    def limits(
        self,
        training: TrainingFigures | None,
        npu: NpuChoice,
        constraints: Sequence[Constraint],
        dimensions: int,
    ) -> tuple[Constraint, ...]:
        """Return the constraint that the memory of an NPU is; refuse what workloads or NPU have no figures for."""
        self.check_needs(self.asked(constraints), self._lacks(training, npu))
        if training is None or not npu.names:
            return ()
        found = parse_constraint(f"memory <= {npu.capacity.max() / GIGA:.10g} GB", dimensions, ())
        text = "memory <= the NPU's memory" if npu.several else found[0].text
        return tuple(replace(one, own_memory=True, text=text) for one in found)

    def _lacks(self, training: TrainingFigures | None, npu: NpuChoice) -> dict[str, str]:
        """Return what workloads and NPUs do not say, by the needs of objectives."""
        found, workloads = dict[str, str](), self.spec.workloads
        if self.file.orders is None:
            found[ORDER] = "is of an order; `question: order` with `systems` asks for one"
        if all(one.training is not None or one.serving is not None for one in workloads):
            untrained = "is of training and serving language models: a recommendation model has no tokens"
        else:
            untrained = "is of training steps and serving: every workload needs the key 'training' or 'serving'"
        if training is None:
            found[TRAINING] = untrained
        elif training.tokens is None:
            found[TOKENS] = untrained
        if not any(workload.serving for workload in workloads):
            found[USERS] = "is of serving: some workload needs the key 'serving'"
        if npu.watts is None:
            found[NPU_WATTS] = f"needs the power of an NPU, and {npu.why_unknown('power_W', 'power')}"
        if npu.price is None:
            found[NPU_PRICE] = f"needs the price of an NPU, and {npu.why_unknown('price_usd', 'price')}"
        return found

    def _identity(self, catalog: Catalog) -> dict[str, Any]:
        """Return the problem file with the figures of its catalogue and its files, which make it another problem.

        Every order that means something is that of a list: the technologies, the innermost first, are one. Shares are
        named where they are not what every file meant before it could name them, which is LIBRA's of prices.
        """
        more: dict[str, Any] = {"files": self.workloads.files(), "models": self.workloads.models()}
        more |= self.workloads.accelerators.identity()
        if self.workloads.accelerators.trains:
            more |= self.workloads.training.identity()
        if self.spec.faults is not None:
            more["failures"] = self._failures(kits_of(catalog))
        if not kits_of(catalog) and not has_whole_bandwidth(self.spec):
            more["shares"] = "physical"
        return {
            **self.spec.model_dump(mode="json"),
            "time": identity_of_time(self.spec),
            "technologies": [_figures(technology) for technology in catalog.technologies],
            **{key: found for key, found in more.items() if found},
        }

    def _failures(self, kits: Sequence[Kit]) -> dict[str, Any]:
        """Return the failures of all that a problem has."""
        from evo_libra.network.catalog.failures import HOST, NPU, SOFTWARE  # noqa: PLC0415 - few problems have failures

        assert self.spec.faults is not None, "the caller has looked"  # noqa: S101 - internal error
        known = self.spec.faults.failures
        kinds = {kind: known.named(kind) for kind in (NPU, HOST, SOFTWARE)}
        found = kinds | {name: known.of(part) for name, part in parts_of(kits).items()}
        return {name: asdict(one) for name, one in found.items()}

    def check_mode(self, *, parts: bool) -> None:
        """Refuse a way to choose bandwidths, or an objective, that the catalogue or the time does not allow."""
        mode, model = self.fabric.bandwidth().mode, time_spec(self.spec).model
        if mode == "optimal" and not time_kind(model).solves:
            raise self.fail(
                ("bandwidth",),
                f"bandwidths are solved for under LIBRA's time; with `time: {model}` they are searched, or a front of "
                "LIBRA's time is rescored",
            )
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
        robust = [name for name in self.spec.objectives if MEASURES[name].statistic is not None]
        if mode == "optimal" and robust:
            raise self.fail(
                ("objectives",),
                f"bandwidths are solved for at stated prices and weights, and {robust[0]} is over scenarios; with "
                f"`bandwidth: {'ports' if parts else 'search'}` they are searched",
            )
        seen = [name for name in self.spec.objectives if USERS in MEASURES[name].needs]
        if mode == "optimal" and seen:
            raise self.fail(
                ("objectives",),
                f"bandwidths are solved for the least time of whole requests, and {seen[0]} is of a part of them; with "
                f"`bandwidth: {'ports' if parts else 'search'}` they are searched",
            )
        self.check_needs(self.asked(()), {} if parts else {WATTS: _PARTS})

    def tco(self) -> TotalCostOfOwnership | None:
        """Return the figures of the total cost of ownership, if the file has some."""
        if self.spec.tco is None:
            self.check_needs(self.asked(()), {TCO: NO_TCO})
        return self.spec.tco

    def _count(
        self, catalog: Catalog, choices: Sequence[DimensionChoice], pins: dict[int, PinSpec]
    ) -> CountedStructures:
        built = (tuple(t for t, blocks in enumerate(choice.blocks) if blocks) for choice in choices)
        rules = [DimensionRule(pins[d].npus if d in pins else None, mine) for d, mine in enumerate(built)]
        found = CountedStructures(
            self.spec.npus,
            catalog.technologies,
            tuple(rules),
            self.fabric.min_dimensions(pins),
            self.spec.fabric.one_dimension_per_technology,
        )
        if found.total >= MAX_INDEX:
            raise self.fail(
                ("fabric",),
                f"the space has {found.total:.3g} topologies, more than {MAX_INDEX:.3g}; fewer dimensions or "
                "technologies, or a largest dimension in the catalogue, make it smaller",
            )
        return found

    def _space(
        self,
        counted: CountedStructures,
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
            place: KeyPath = ("fabric", "shape") if self.spec.fabric.shape is not None else ("npus",)
            raise self.fail(
                place, f"{self.spec.npus} NPUs cannot be built: {self.fabric.why_no_shape(catalog, len(choices))}"
            )
        structures = structures.select(time.fits(structures.npus))
        if not len(structures):
            raise self.fail(("workloads",), "no shape of the space can hold the process groups of every workload")
        if time.keeps_inside and not time.tables:
            structures = structures.select(time.fits(structures.npus, technology=structures.technology))
            if not len(structures):
                raise self.fail(("workloads",), f"no network of the space {time.must_hold}")
        pricing = pricing_of(catalog, choices, self.spec.npus, structures, fractional=False)
        try:
            return pricing.feasible(structures, constraints)
        except ConflictError as error:
            raise ConflictError(self.file.source.mistake(("constraints",), str(error)), error.conflict) from None

    def constraints(
        self, dimensions: int, catalog: Catalog, tco: TotalCostOfOwnership | None
    ) -> tuple[Constraint, ...]:
        """Return the constraints of the file."""
        found: list[Constraint] = []
        mistakes = []
        for index, text in enumerate(self.spec.constraints):
            try:
                these = parse_constraint(text, dimensions, catalog.families, tco)
                found += these
                limited = [(c.quantity, c.measure.needs) for c in these if c.measure is not None]
                refused = refusal(limited, {} if kits_of(catalog) else {WATTS: _PARTS})
                if refused is not None:
                    raise InputError(f"'{text}': {refused[1]}")  # noqa: TRY301 - has its place
            except InputError as error:
                mistakes.append(self.file.source.mistake(("constraints", index), str(error)))
        if mistakes:
            raise InputError(mistakes)
        return tuple(found)
