"""A design with its workloads as files that ASTRA-sim runs, and the time that it will take there."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from evo_libra import __version__
from evo_libra.arrays import GIGA, IntArray, Population
from evo_libra.astra_sim.cluster import Cluster, ExportedGroup, Grouping, cluster_of, group
from evo_libra.astra_sim.readme import CollectiveTime, Exported, ExportedWorkload, readme_text
from evo_libra.astra_sim.times import Case, Prediction, kinds_of, modelled_seconds, of_workload, predict
from evo_libra.chakra.decode import decode_metadata, decode_node
from evo_libra.chakra.framing import read_messages
from evo_libra.chakra.groups import read_groups, write_groups
from evo_libra.chakra.schema import TODAY
from evo_libra.chakra.trace import Kind, Metadata, Node
from evo_libra.chakra.write import encode_metadata, encode_node, framed
from evo_libra.errors import InputError, unusable
from evo_libra.files.source import read_source
from evo_libra.problem.problem import Problem
from evo_libra.problem.quirks import warnings_of
from evo_libra.problem.time_models.loops import WeightedLoop
from evo_libra.timing.input_files.network_file import memory_text, network_text, parse_network
from evo_libra.timing.input_files.system_file import parse_system, read_machine, system_text
from evo_libra.timing.machine import Machine, RemoteMemory
from evo_libra.timing.quirks import OF_SCHEDULERS
from evo_libra.units import roofline_ns
from evo_libra.workload.step.training_step import TrainingStep
from evo_libra.workload.training_trace import DimensionGroup, in_group, training_nodes
from evo_libra.workload.workload import Workload

MAX_NPUS = 65_536
"""There is a trace of each."""

README, NETWORK, SYSTEM, MEMORY, GROUPS, TRACES = (
    "README.md", "network.yml", "system.json", "memory.json", "groups.json", "traces",
)  # fmt: skip


def export_design(problem: Problem, design: str, folder: Path, searched: Problem | None = None) -> Exported:
    """Write a design with the workloads of a problem for ASTRA-sim to a new or empty folder; the README comes last.

    Returns what was written, with the times that are predicted from the files. `searched` is the problem that the
    design was found for, where its time is another. Raises `InputError` if the problem's time is LIBRA's, a workload is
    no training loop, the network is too large, the design is none of the problem, or the folder is not empty or cannot
    be written.
    """
    fidelity = problem.time.fidelity
    if fidelity is None:
        raise InputError(
            f"the time of '{problem.name}' is LIBRA's, which has neither latency nor chunks; ASTRA-sim needs both"
        )
    if problem.npus > MAX_NPUS:
        raise InputError(f"'{problem.name}' has {problem.npus} NPUs; there is a trace of each, at most {MAX_NPUS}")
    population = problem.read(design)
    with _new_folder(folder):
        export = _Export(problem, population, folder)
        export.write()
        origin = searched or problem
        before = origin.time.workload_times(origin.read(design) if searched else population)
        exported = export.exported((_model(origin), _model(problem)), [float(time[0]) for time in before])
        (folder / README).write_text(readme_text(exported), encoding="utf-8")
    return exported


def _model(problem: Problem) -> str:
    time = problem.spec["time"]
    return time if isinstance(time, str) else str(time["model"])


def _overlap(problem: Problem) -> str:
    time = problem.spec["time"]
    return "none" if isinstance(time, str) else str(time["overlap"])


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

    def __init__(self, problem: Problem, design: Population, folder: Path) -> None:
        assert problem.time.fidelity is not None  # noqa: S101 - the caller has looked
        self.problem, self.design, self.folder, self.fidelity = problem, design, folder, problem.time.fidelity
        self.cluster: Cluster = cluster_of(self.fidelity, problem.time.reaching(design))
        self.workloads = [(_loop_of(loop), loop.degrees) for loop in problem.time.loops]
        self.grouping: Grouping = group(self.cluster.network.npus, self.workloads)
        self.names = _file_names([workload.name for workload, _ in self.workloads])
        self.traces: list[IntArray] = []

    def write(self) -> None:
        (self.folder / NETWORK).write_text(network_text(self.cluster.network), encoding="utf-8")
        (self.folder / SYSTEM).write_text(system_text(self.cluster.system), encoding="utf-8")
        (self.folder / MEMORY).write_text(memory_text(RemoteMemory()), encoding="utf-8")
        write_groups(self.folder / GROUPS, self.grouping.members)
        (self.folder / TRACES).mkdir()
        for (workload, _), placed, name in zip(self.workloads, self.grouping.of_workload, self.names, strict=True):
            places = {group_: where.place for group_, where in placed.items()}
            nodes = training_nodes(workload, _overlap(self.problem), places)
            self._check(workload, nodes)
            self.traces.append(_write_traces(self.folder / TRACES / name, nodes, placed, self.problem.npus))

    def _check(self, workload: Workload, nodes: Sequence[Node]) -> None:
        if not nodes:
            raise InputError(f"the workload '{workload.name}' has nothing to run on this network")
        memory, peak = self.cluster.system.system.overheads.memory, self.cluster.system.compute.peak
        for node in nodes:
            if node.kind is Kind.COMP:
                operations = int(str(node.attributes["num_ops"].value))
                if roofline_ns(operations, 1, peak, memory * GIGA) != operations // 1000:
                    raise InputError(
                        f"local_memory_GBps: found {memory:g}, with which ASTRA-sim takes longer than the "
                        f"{operations // 1000} ns of the computation {node.name} in '{workload.name}'"
                    )

    def exported(self, models: tuple[str, str], searched: Sequence[float]) -> Exported:
        """Return what was written, from the files."""
        network = parse_network(read_source(self.folder / NETWORK))
        system = parse_system(read_source(self.folder / SYSTEM), network)
        machine, _ = read_machine(self.folder / NETWORK, self.folder / SYSTEM, self.folder / MEMORY)
        groups = read_groups(self.folder / GROUPS, self.problem.npus)
        scheduled = (
            None if system.scheduled == system.system else Machine(machine.links, system.scheduled, machine.compute)
        )
        warnings = [warned.quirk for warned in warnings_of(self.problem, self.design)]
        differences = [*_other_time(models), *(quirk.sentence for quirk in warnings if quirk in OF_SCHEDULERS)]
        modelled = self.problem.time.workload_times(self.design)
        workloads = []
        for at, before in enumerate(searched):
            traces = self._read(at)
            prediction = predict(traces, groups, machine)
            later = None if scheduled is None else predict(traces, groups, scheduled)
            workload, case = self._workload(at, before, float(modelled[at][0]), prediction, later)
            workloads.append(workload)
            differences += [sentence for sentence in of_workload(case, self.cluster) if sentence not in differences]
        text = str(self.problem.fabrics(self.design)[0])
        return Exported(
            text, self.problem.npus, models, __version__, bool(groups), tuple(workloads), tuple(differences)
        )

    def _read(self, at: int) -> list[tuple[Node, ...]]:
        prefix, first = self.folder / TRACES / self.names[at], self.traces[at]
        known: dict[bytes, Node] = {}
        read = {npu: _nodes_of(Path(f"{prefix}.{npu}.et"), known) for npu in np.unique(first).tolist()}
        return [read[npu] for npu in first.tolist()]

    def _workload(
        self, at: int, searched: float, modelled: float, prediction: Prediction, scheduled: Prediction | None
    ) -> tuple[ExportedWorkload, Case]:
        workload, placed = self.workloads[at][0], self.grouping.of_workload[at]
        kinds = kinds_of(workload, placed)
        seconds = modelled_seconds(kinds, self.problem.time.loops[at], self.problem.time, self.design)
        rows = tuple(
            CollectiveTime(kind, _where(placed[kind[0]]), count, seconds[kind], prediction.collectives[kind])
            for kind, count in kinds.items()
        )
        different = len(np.unique(self.traces[at]))
        return ExportedWorkload(
            workload.name, f"{TRACES}/{self.names[at]}", different, searched, modelled, prediction, scheduled, rows
        ), Case(workload, _overlap(self.problem), placed, seconds, prediction)


def _loop_of(loop: WeightedLoop) -> Workload:
    if not isinstance(loop.workload, Workload):
        what = "a training step under a plan" if isinstance(loop.workload, TrainingStep) else "a trace already"
        raise InputError(f"the workload '{loop.workload.name}' is {what}; what is exported are training loops")
    return loop.workload


def _other_time(models: tuple[str, str]) -> Iterator[str]:
    if models[0] == "libra" != models[1]:
        yield (
            "The design was searched under LIBRA's time, which has neither latency nor chunks nor delays of endpoints; "
            f"the files have those of the time {models[1]}."
        )


def _where(placed: ExportedGroup) -> str:
    if isinstance(placed.place, DimensionGroup):
        used = [str(d) for d, involved in enumerate(placed.place.involved) if involved]
        return f"over dimension{'s' if len(used) > 1 else ''} {', '.join(used)}"
    return f"over a list of {placed.npus} NPUs"


def _file_names(names: Sequence[str]) -> list[str]:
    """Return names of files, each once."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-") or "workload"
        tries = (plain if number == 1 else f"{plain}-{number}" for number in range(1, len(names) + 2))
        found.append(next(each for each in tries if each not in found))
    return found


def _write_traces(prefix: Path, nodes: Sequence[Node], placed: Mapping[str, ExportedGroup], npus: int) -> IntArray:
    """Write the trace of each NPU; return (N,) the first NPU that has the same trace."""
    lists = {name: where.lists for name, where in placed.items() if len(where.lists)}
    row = np.array([*lists.values()], dtype=np.int64).reshape(len(lists), npus)
    _, first, same = np.unique(row, axis=1, return_index=True, return_inverse=True)
    owner = first[same.reshape(-1)]
    head, plain = framed(encode_metadata(Metadata())), dict[tuple[int, str], bytes]()
    link = _Linker()
    for npu in range(npus):
        path = Path(f"{prefix}.{npu}.et")
        if owner[npu] != npu:
            link(Path(f"{prefix}.{owner[npu]}.et"), path)
            continue
        parts = [head]
        for node in nodes:
            name = str(node.attributes["pg_name"].value) if "pg_name" in node.attributes else ""
            key = node.id, str(lists[name][npu]) if name else ""
            if key not in plain:
                plain[key] = framed(encode_node(in_group(node, key[1]) if name else node))
            parts.append(plain[key])
        path.write_bytes(b"".join(parts))
    return np.asarray(owner, dtype=np.int64)


def _nodes_of(path: Path, known: dict[bytes, Node]) -> tuple[Node, ...]:
    """Return the nodes of a trace; those that are the same in several traces are the same object."""
    messages = read_messages(path)
    decode_metadata(next(messages).data, TODAY)  # which refuses what is none
    nodes = []
    for message in messages:
        if message.data not in known:
            known[message.data] = decode_node(message.data, TODAY)
        nodes.append(known[message.data])
    return tuple(nodes)


class _Linker:
    """Gives files a second name, or a copy where the file system has no more names for them."""

    def __init__(self) -> None:
        self.known: dict[Path, Path] = {}

    def __call__(self, source: Path, path: Path) -> None:
        try:
            os.link(self.known.get(source, source), path)
        except OSError:
            shutil.copyfile(source, path)
            self.known[source] = path
