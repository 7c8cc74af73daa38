"""From a problem file to a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import ConflictError, InputError
from evo_libra.files.source import Source
from evo_libra.network.blocks import Kit
from evo_libra.network.catalog.collective_latency import kinds_of
from evo_libra.network.catalog.technologies import Catalog, beyond_domains, domain_limit
from evo_libra.problem.designs import SHARES_OF_PARTS
from evo_libra.problem.evaluator import FigureSources
from evo_libra.problem.file.combinations import count_structures, space_of
from evo_libra.problem.file.fabric import FabricLoader, technologies_of
from evo_libra.problem.file.faults import FaultsLoader
from evo_libra.problem.file.goals import GoalLoader
from evo_libra.problem.file.identity import identity_of
from evo_libra.problem.file.mistakes import ProblemFile, Stages
from evo_libra.problem.file.spec import MAX_DIMENSIONS, asks_for_order
from evo_libra.problem.file.time import (
    check_keys,
    check_shares,
    has_whole_bandwidth,
    reader_of,
    time_spec,
)
from evo_libra.problem.file.uncertainty import UncertaintyLoader
from evo_libra.problem.file.workloads import WorkloadLoader
from evo_libra.problem.objectives import MEASURES
from evo_libra.problem.pricing.catalog import built_of, kits_of, port_constraints
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchSettings
from evo_libra.problem.system_bill import NOTHING_AROUND, SystemBill
from evo_libra.problem.time_models.registry import Network
from evo_libra.timing.quirks import Quirk
from evo_libra.workload.layers.iteration_time import Merging

if TYPE_CHECKING:
    from evo_libra.network.catalog.accelerator import Accelerator
    from evo_libra.network.orders.order import Order
    from evo_libra.problem.bands import BandSource
    from evo_libra.problem.file.orders import OrderLoader
    from evo_libra.problem.time_models.loops import WeightedLoop

_OF_MODE = ("bandwidth", "objectives", "time", "workloads")


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
    tco = stages.attempt(loader.goals.tco, "objectives", "tco")
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
        stages.attempt(lambda: loader.goals.constraints(dimensions, catalog, tco), "constraints", "tco", built[0])
        if pins is not None:
            stages.attempt(lambda: fabric.choices(catalog, pins), "bandwidth", "fabric")
        stages.attempt(lambda: fabric.check_blocks(catalog), *built)
        stages.attempt(lambda: loader.check_mode(catalog), *_OF_MODE)
        stages.attempt(lambda: reader_of(time_spec(file.spec), catalog, source), "time", *built)
    return stages.error(first)


class _Loader:
    """Puts one problem together from the parts of its file."""

    def __init__(self, file: ProblemFile, *, open_box: bool) -> None:
        self.file, self.spec, self.goals = file, file.spec, GoalLoader(file)
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
        built = Network(
            kits, efficiency, owner, beyond_domains(catalog), links=kinds_of(catalog), unjoined=book.unjoined
        )  # fmt: skip
        time = reader_of(time_spec(self.spec), catalog, self.file.source)(self.workloads.loops, built)
        training, tco = self.workloads.training.figures(time.loops) if accelerators.trains else None, self.goals.tco()
        system = SystemBill((*book.rest(), *self.system(time.loops, kits_of(catalog)).rows))
        constraints = self.goals.constraints(len(book.choices), catalog, tco)
        constraints += self.goals.limits(training, npu, constraints, len(book.choices))
        asked = self.goals.asked(constraints)
        scenarios = UncertaintyLoader(self.file, asked).scenarios(kits_of(catalog), npu, time.loops, system, book)
        return Problem(
            name=self.spec.name, npus=self.spec.npus, catalog=catalog, structures=book.structures, choices=book.choices,
            time=time, objectives=tuple(MEASURES[name].objective for name in dict.fromkeys(self.spec.objectives)),
            constraints=constraints, settings=orders.settings(),
            spec=identity_of(self.file, self.workloads, catalog) | orders.identity(), grown=None, optimal=False,
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
        self.check_mode(catalog)
        check_shares(self.spec, self.file.source)
        self.workloads.accelerators.check_memory()
        efficiency = self.workloads.accelerators.efficiency(catalog)
        owner = npu.owner if npu.several else None
        built = built_of(catalog, whole_bandwidth=has_whole_bandwidth(self.spec))
        network = Network(built, efficiency, owner, beyond_domains(catalog), kinds_of(catalog))
        time = make_time(self.workloads.loops, network)
        training = self.workloads.training.figures(time.loops) if self.workloads.accelerators.trains else None
        tco, system = self.goals.tco(), self.system(time.loops, kits_of(catalog))
        constraints = self.goals.constraints(len(choices), catalog, tco) + port_constraints(catalog, len(choices))
        constraints += self.goals.limits(training, npu, constraints, len(choices))
        self.goals.check_system(system, constraints)
        counted = count_structures(self.file, self.fabric, catalog, choices, pins)
        asked, kits = self.goals.asked(constraints), kits_of(catalog)
        return Problem(
            name=self.spec.name, npus=self.spec.npus, catalog=catalog,
            structures=space_of(
                self.file, self.fabric, counted, catalog=catalog, time=time, choices=choices, constraints=constraints
            ),
            choices=choices, time=time,
            objectives=tuple(MEASURES[name].objective for name in dict.fromkeys(self.spec.objectives)),
            constraints=constraints, settings=SearchSettings(**self.spec.search.model_dump()),
            spec=identity_of(self.file, self.workloads, catalog), grown=counted,
            optimal=self.fabric.bandwidth().mode == "optimal",
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

    def check_mode(self, catalog: Catalog) -> None:
        """Refuse a way to choose bandwidths that the catalogue or the time does not allow."""
        self.goals.check_mode(self.fabric.bandwidth().mode, parts=bool(kits_of(catalog)))
