"""A design with its workloads as files that ASTRA-sim runs, and the time that it will take there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from evo_libra.arrays import GIGA, FloatArray, IntArray, Population
from evo_libra.astra_sim.cluster import Cluster, ExportedGroup, Grouping, check_blocks, cluster_of, group
from evo_libra.astra_sim.loops import LoopTraces, groups_of, traces_of
from evo_libra.astra_sim.readme import CollectiveTime, Exported, ExportedWorkload, readme_text
from evo_libra.astra_sim.times import Case, Prediction, modelled_seconds, of_workload, predict
from evo_libra.astra_sim.trace_files import file_names, owners_of, read_traces, write_traces
from evo_libra.chakra.groups import read_groups, write_groups
from evo_libra.chakra.trace import Kind
from evo_libra.errors import InputError, unusable
from evo_libra.files.source import read_source
from evo_libra.problem.designs import warnings_of
from evo_libra.problem.problem import Problem
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.timing.input_files.network_file import memory_text, network_text, parse_network
from evo_libra.timing.input_files.system_file import parse_system, read_machine, system_text
from evo_libra.timing.machine import Machine, RemoteMemory
from evo_libra.timing.quirks import AT_ZERO, OF_SCHEDULERS, sentence_of
from evo_libra.units import roofline_ns
from evo_libra.version import __version__
from evo_libra.workload.trace_nodes import DimensionGroup

MAX_NPUS = 65_536
"""There is a trace of each."""

MAX_STEP_NPUS = 1024
"""The traces of a training step are long, and no two NPUs of a pipeline have the same one."""

MAX_STEP_NODES = 20_000_000
"""Nodes of all traces of a training step that differ; they are some GB, and reading them back takes minutes."""

Tell = Callable[[str], None]
"""A callback that gets the next step as text."""

README, NETWORK, SYSTEM, MEMORY, GROUPS, TRACES = (
    "README.md", "network.yml", "system.json", "memory.json", "groups.json", "traces",
)  # fmt: skip


def export_design(
    problem: Problem, design: str, folder: Path, searched: Problem | None = None, tell: Tell = lambda _: None
) -> Exported:
    """Write a design with the workloads of a problem for ASTRA-sim to a new or empty folder; the README comes last.

    Returns what was written, with the times that are predicted from the files. `searched` is the problem that the
    design was found for, where its time is another. `tell` is told what is done next, some words each. Raises
    `InputError` if the problem's time is LIBRA's, a workload is no training loop, the network is too large, the design
    is none of the problem, or the folder is not empty or cannot be written.
    """
    fidelity = problem.time.fidelity_of(problem.name)
    if problem.npus > MAX_NPUS:
        raise InputError(f"'{problem.name}' has {problem.npus} NPUs; there is a trace of each, at most {MAX_NPUS}")
    population = problem.read(design)
    text = str(problem.fabrics(population)[0])
    check_blocks(population, fidelity)
    problem = problem.pinned(population)
    _check_steps(problem)
    with _new_folder(folder):
        export = _Export(problem, population, folder, tell)
        export.write()
        tell("timing the design as the problem does")
        modelled = problem.time.workload_times(population)
        before = modelled if searched is None else searched.time.workload_times(searched.read(design))
        models = _model(searched or problem), _model(problem)
        exported = export.exported(text, models, [float(time[0]) for time in before], modelled)
        (folder / README).write_text(readme_text(exported), encoding="utf-8")
    return exported


def _check_steps(problem: Problem) -> None:
    steps = [loop.workload.name for loop in problem.time.loops if loop.workload.planned is not None]
    if steps and problem.npus > MAX_STEP_NPUS:
        raise InputError(
            f"'{problem.name}' has {problem.npus} NPUs; a training step such as '{steps[0]}' is exported for at most "
            f"{MAX_STEP_NPUS} because each of them has a long trace of its own"
        )


def _model(problem: Problem) -> str:
    time = problem.spec["time"]
    return time if isinstance(time, str) else str(time["model"])


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """Make a folder, and leave nothing in it if what is to fill it fails."""
    try:
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"{folder} is not empty; name a new folder")
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {(error.strerror or str(error)).lower()}") from None
    done = False
    try:
        yield
        done = True
    except OSError as error:
        raise unusable(folder, "written", error) from None
    finally:
        if not done:
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if made:
                folder.rmdir()


class _Export:
    """Writes the files of one design, and reads them back."""

    def __init__(self, problem: Problem, design: Population, folder: Path, tell: Tell) -> None:
        self.problem, self.design, self.folder, self.tell = problem, design, folder, tell
        self.fidelity = problem.time.fidelity_of(problem.name)
        self.cluster: Cluster = cluster_of(self.fidelity, problem.time.reaching(design))
        self.loops = problem.time.loops
        self.grouping: Grouping = group(self.cluster.network.npus, [groups_of(loop) for loop in self.loops])
        self.traces = [
            traces_of(loop, placed, self.cluster.network.npus)
            for loop, placed in zip(self.loops, self.grouping.of_workload, strict=True)
        ]
        self.names = file_names([loop.workload.name for loop in self.loops])
        self.owners = [
            owners_of(traces, placed) for traces, placed in zip(self.traces, self.grouping.of_workload, strict=True)
        ]

    def write(self) -> None:
        (self.folder / NETWORK).write_text(network_text(self.cluster.network), encoding="utf-8")
        (self.folder / SYSTEM).write_text(system_text(self.cluster.system), encoding="utf-8")
        (self.folder / MEMORY).write_text(memory_text(RemoteMemory()), encoding="utf-8")
        write_groups(self.folder / GROUPS, self.grouping.members)
        (self.folder / TRACES).mkdir()
        for at, (loop, name) in enumerate(zip(self.loops, self.names, strict=True)):
            self.tell(f"writing the traces of {loop.workload.name}")
            self._check(loop, self.traces[at], self.owners[at])
            placed = self.grouping.of_workload[at]
            write_traces(self.folder / TRACES / name, self.traces[at], placed, self.owners[at])

    def _check(self, loop: WeightedLoop, traces: LoopTraces, owner: IntArray) -> None:
        nodes, workload = [node for stage in traces.stages for node in stage], loop.workload.name
        if not nodes:
            raise InputError(f"the workload '{workload}' has nothing to run on this network")
        count = len(nodes) * len(np.unique(owner)) // len(traces.stages)
        if loop.workload.planned is not None and count > MAX_STEP_NODES:
            raise InputError(
                f"'{workload}' needs traces of {count:,} nodes in all on this design, and at most {MAX_STEP_NODES:,} "
                "are exported; fewer microbatches, as of a larger micro_batch, need fewer"
            )
        memory, peak = self.cluster.system.system.overheads.memory, self.cluster.system.compute.peak
        for node in nodes:
            if node.kind is Kind.COMP:
                operations = int(str(node.attributes["num_ops"].value))
                if roofline_ns(operations, 1, peak, memory * GIGA) != operations // 1000:
                    raise InputError(
                        f"local_memory_GBps: found {memory:g}, with which ASTRA-sim takes longer than the "
                        f"{operations // 1000} ns of the computation {node.name} in '{workload}'"
                    )

    def exported(
        self, text: str, models: tuple[str, str], searched: Sequence[float], modelled: Sequence[FloatArray]
    ) -> Exported:
        """Return what was written, from the files; times are those of each workload, in s."""
        network = parse_network(read_source(self.folder / NETWORK))
        system = parse_system(read_source(self.folder / SYSTEM), network)
        machine, _ = read_machine(self.folder / NETWORK, self.folder / SYSTEM, self.folder / MEMORY)
        groups = read_groups(self.folder / GROUPS, self.problem.npus)
        scheduled = (
            None if system.scheduled == system.system else Machine(machine.links, system.scheduled, machine.compute)
        )
        warnings = [warned.quirk for warned in warnings_of(self.problem, self.design)]
        differences = [*_other_time(models), *(quirk.sentence for quirk in warnings if quirk in OF_SCHEDULERS)]
        if not self.fidelity.overheads.endpoint and any(traces.begins_with_collective for traces in self.traces):
            differences.append(sentence_of(AT_ZERO))
        workloads = []
        for at, before in enumerate(searched):
            name = self.loops[at].workload.name
            self.tell(f"reading the traces of {name}")
            traces = read_traces(self.folder / TRACES / self.names[at], self.owners[at])
            prediction = predict(traces, groups, machine, self.predicting(name))
            later = None if scheduled is None else predict(traces, groups, scheduled, self.predicting(name))
            workload, case = self._workload(at, before, float(modelled[at][0]), prediction, later)
            workloads.append(workload)
            differences += [sentence for sentence in of_workload(case, self.cluster) if sentence not in differences]
        return Exported(
            design=text, npus=self.problem.npus, models=models, version=__version__, has_groups=bool(groups),
            workloads=tuple(workloads), differences=tuple(differences),
        )  # fmt: skip

    def predicting(self, name: str) -> Tell:
        """Tell for each collective of a workload that its time is predicted, and of how many chunks."""
        chunks = self.cluster.system.system.splits
        return lambda what: self.tell(f"predicting {name}: {what} in {chunks:,} chunks")

    def _workload(
        self, at: int, searched: float, modelled: float, prediction: Prediction, scheduled: Prediction | None
    ) -> tuple[ExportedWorkload, Case]:
        loop, traces, placed = self.loops[at], self.traces[at], self.grouping.of_workload[at]
        counts = traces.communication
        seconds = modelled_seconds(counts, loop, self.problem.time, self.design)
        rows = tuple(
            CollectiveTime(kind, _where(placed.get(kind[0])), count, seconds[kind], prediction.communication[kind])
            for kind, count in counts.items()
        )
        different = len(np.unique(self.owners[at]))
        return ExportedWorkload(
            name=loop.workload.name, prefix=f"{TRACES}/{self.names[at]}", traces=different, searched=searched,
            modelled=modelled, prediction=prediction, scheduled=scheduled, collectives=rows,
        ), Case(loop, placed, seconds, prediction, traces.rounded)  # fmt: skip


def _other_time(models: tuple[str, str]) -> Iterator[str]:
    if models[0] == "libra" != models[1]:
        yield (
            "The design was searched under LIBRA's time, which has neither latency nor chunks nor delays of endpoints; "
            f"the files have those of the time {models[1]}."
        )


def _where(placed: ExportedGroup | None) -> str:
    if placed is None:
        return "to the next stage"
    if isinstance(placed.place, DimensionGroup):
        used = [str(d) for d, involved in enumerate(placed.place.involved) if involved]
        return f"over dimension{'s' if len(used) > 1 else ''} {', '.join(used)}"
    return f"over a list of {placed.npus} NPUs"
