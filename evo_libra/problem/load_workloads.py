"""From the workloads of a problem file to compiled training loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.model.arrays import GIGA, TERA
from evo_libra.model.catalog import MODELS_FILE, load_models
from evo_libra.model.catalog.models import DlrmSpec, MoeSpec, TableSpec, TransformerSpec
from evo_libra.model.chakra.groups import read_groups
from evo_libra.model.chakra.read import read_traces, trace_files
from evo_libra.model.chakra.trace import Kind
from evo_libra.model.fidelity import Fidelity
from evo_libra.model.generators.dlrm import dlrm
from evo_libra.model.generators.moe import Mixture, moe
from evo_libra.model.generators.transformer import transformer
from evo_libra.model.parallelism import ALL, complete_degrees, parts_of
from evo_libra.model.readers.astra_sim_text import read_astra_sim_text
from evo_libra.model.source import KeyPath, Source, file_digest, files_digest, validate
from evo_libra.model.trace_time import Accelerator, TracedWorkload, traced_workload
from evo_libra.model.training import Merging
from evo_libra.model.workload import IterationSize, Workload, scale_compute
from evo_libra.problem.evaluator import WeightedLoop, weighted_loop, weighted_traces
from evo_libra.problem.load_time import check_chunks, time_spec
from evo_libra.problem.spec import ProblemSpec, WorkloadSpec


class WorkloadLoader:
    """Reads the workloads of one problem file; knows the place of every key.

    Parameters
    ----------
    source : the data, with the place of every key.
    folder : what paths in the file are relative to.
    spec : what the file says; the data by its schema when left out.

    Raises
    ------
    InputError : the data does not follow the schema.
    """

    def __init__(self, source: Source, folder: Path, spec: ProblemSpec | None = None) -> None:
        self.source, self.folder = source, folder
        self.spec = validate(ProblemSpec, source) if spec is None else spec

    def fail(self, path: KeyPath, message: str) -> InputError:
        """Return the error for a key of the file."""
        return InputError(self.source.mistake(path, message))

    def loops(self, fidelity: Fidelity | None, merging: Merging) -> list[WeightedLoop]:
        """Return the compiled workloads of the file."""
        time = time_spec(self.spec)
        parts = self._workloads()
        weights = [spec.weight for spec in self.spec.workloads]
        if time.weights == "normalised":
            for index, (workload, _) in enumerate(parts):
                if not workload.compute:
                    raise self.fail(("workloads", index), "normalised weights need a compute time above 0")
            mean = sum(w * part[0].compute for w, part in zip(weights, parts, strict=True)) / sum(weights)
            weights = [w * mean / part[0].compute for w, part in zip(weights, parts, strict=True)]
        for index, (workload, _) in enumerate(parts):
            try:
                check_chunks(fidelity, workload)
            except InputError as error:
                raise self.fail(("workloads", index), str(error)) from None
        return [
            weighted_traces(workload, weight, self.spec.npus, merging=merging)
            if isinstance(workload, TracedWorkload)
            else weighted_loop(workload, degrees, weight, time.overlap, self.spec.npus, merging=merging)
            for (workload, degrees), weight in zip(parts, weights, strict=True)
        ]

    def files(self) -> dict[str, str]:
        """Return the SHA-256 of the files that workloads are read from, by their names in the problem file."""
        return {name: files_digest(paths) for name, paths in self._files()}

    def models(self) -> dict[str, Any]:
        """Return what the catalogue has for each of its models that a workload is."""
        known = load_models()
        found = {}
        for name in dict.fromkeys(spec.model for spec in self.spec.workloads if spec.model is not None):
            figures = known[name].model_dump(mode="json", exclude={"source"})
            table = [file_digest(path) for path in self._tables(name)]
            found[name] = figures | ({"digest": table[0]} if table else {})
        return found

    def paths(self) -> list[Path]:
        """Return every file that workloads are read from; what is not there or not named well is left out."""
        named = dict.fromkeys(spec.model for spec in self.spec.workloads if spec.model in load_models())
        tables = [path for name in named for path in self._tables(str(name))]
        return [MODELS_FILE, *tables, *(path for _, paths in self._files(found=_there) for path in paths)]

    def _files(self, found: Callable[[Path], tuple[Path, ...]] = trace_files) -> Iterator[tuple[str, tuple[Path, ...]]]:
        """Give what the problem file calls files of workloads, and the files; `found` gives those of a trace."""
        for spec in self.spec.workloads:
            if spec.trace is not None:
                yield spec.trace, found(self.folder / spec.trace)
            table = spec.generator.file if isinstance(spec.generator, TableSpec) else None
            for name in (spec.file, spec.groups, table):
                if name is not None:
                    yield name, (self.folder / name,)

    def _tables(self, model: str) -> list[Path]:
        """Return the file of a model of the catalogue that is kept as one."""
        spec = load_models()[model]
        return [MODELS_FILE.parent / spec.file] if isinstance(spec, TableSpec) else []

    def _workloads(self) -> list[tuple[Workload | TracedWorkload, dict[str, int]]]:
        """Return each workload with its degrees; the mistakes of all are raised together."""
        parts, mistakes = [], list[Mistake]()
        for index, spec in enumerate(self.spec.workloads):
            try:
                parts.append(self._workload(index, spec))
            except InputError as error:
                mistakes += error.mistakes
        if mistakes:
            raise InputError(mistakes)
        return parts

    def _workload(self, index: int, spec: WorkloadSpec) -> tuple[Workload | TracedWorkload, dict[str, int]]:
        path: KeyPath = ("workloads", index)
        given = [key for key in ("model", "file", "trace", "generator") if getattr(spec, key) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise self.fail(path, f"one of model, file, trace and generator is needed, found {found}")
        if spec.trace is not None:
            return self._traces(path, spec, self.folder / spec.trace), {}
        for key in ("groups", "memory_GBps"):
            if getattr(spec, key) is not None:
                raise self.fail((*path, key), "this key belongs to a trace")
        degrees: dict[str, int] = {str(name): degree for name, degree in dict(spec.parallelism).items()}
        try:
            complete = complete_degrees(degrees, self.spec.npus)
        except InputError as error:
            raise self.fail((*path, "parallelism"), str(error)) from None
        workload = self._layers(path, spec, complete)
        for group in dict.fromkeys(part for joined in workload.groups for part in parts_of(joined)):
            if group != ALL and group not in complete:
                raise self.fail(
                    (*path, "parallelism"), f"the workload runs collectives on {group}; its degree is required"
                )
        return workload, complete

    def _traces(self, path: KeyPath, spec: WorkloadSpec, prefix: Path) -> TracedWorkload:
        if spec.parallelism:
            raise self.fail((*path, "parallelism"), "a trace has its own groups; they are given as a file, by 'groups'")
        if (spec.compute_TFLOPS is None) != (spec.memory_GBps is None):
            raise self.fail(path, "a roofline needs both compute_TFLOPS and memory_GBps; recorded times need neither")
        if spec.compute_TFLOPS is not None and spec.compute_scale is not None:
            raise self.fail(
                (*path, "compute_scale"), "a roofline has compute_TFLOPS; compute_scale is for recorded times"
            )
        npus = self.spec.npus
        peak = None if spec.compute_TFLOPS is None else spec.compute_TFLOPS * TERA
        memory = None if spec.memory_GBps is None else spec.memory_GBps * GIGA
        groups = {} if spec.groups is None else read_groups(self.folder / spec.groups, npus)
        traces = [nodes for _, nodes in read_traces(prefix)]
        if len(traces) not in (1, npus):
            raise self.fail((*path, "trace"), f"found traces of {len(traces)} NPUs; the problem has {npus}")
        if all(node.kind is Kind.METADATA for nodes in traces for node in nodes):
            raise self.fail((*path, "trace"), "the trace has metadata alone; there is nothing to time")
        name = spec.name or prefix.name.removesuffix(".et")
        return traced_workload(name, traces, groups, npus, Accelerator(peak, memory, spec.compute_scale or 1.0))

    def _layers(self, path: KeyPath, spec: WorkloadSpec, degrees: dict[str, int]) -> Workload:
        if spec.file is not None:
            return self._table(path, spec, self.folder / spec.file, spec.name)
        models = load_models()
        if spec.model is not None and spec.model not in models:
            raise self.fail((*path, "model"), unknown("model", spec.model, models))
        model = spec.generator or models[str(spec.model)]
        name = spec.name or spec.model or model.kind
        if isinstance(model, TableSpec):
            return self._table(path, spec, (MODELS_FILE.parent if spec.model else self.folder) / model.file, name)
        if spec.compute_TFLOPS is None:
            raise self.fail(
                path, "the key 'compute_TFLOPS' is required, the compute rate of one NPU in TFLOP/s; 234 is usual"
            )
        if spec.compute_scale is not None:
            raise self.fail((*path, "compute_scale"), "a generated workload has compute_TFLOPS, not compute_scale")
        return self._generated(path, model, name, spec.compute_TFLOPS * TERA, degrees)

    def _generated(
        self,
        path: KeyPath,
        model: TransformerSpec | MoeSpec | DlrmSpec,
        name: str,
        rate: float,
        degrees: dict[str, int],
    ) -> Workload:
        if isinstance(model, DlrmSpec):
            fields = model.model_dump(exclude={"kind", "source"})
            found = dlrm(name, rate=rate, **fields)
            return replace(found, size=IterationSize(len(found.layers), None, model.batch, self.spec.npus))
        if "tp" not in degrees:
            raise self.fail(
                (*path, "parallelism"), "the key 'tp' is required, the NPUs of a tensor-parallel group; 1 for none"
            )
        fields = model.model_dump(exclude={"kind", "source"})
        size = IterationSize(model.layers, model.sequence, model.batch, self.spec.npus // degrees["tp"])
        if isinstance(model, TransformerSpec):
            return replace(transformer(name, tensor_parallel=degrees["tp"], rate=rate, **fields), size=size)
        expert_parallel = degrees.get("ep", 1)
        if model.experts % expert_parallel:
            raise self.fail(
                (*path, "parallelism", "ep"), f"found {expert_parallel}; it must divide the {model.experts} experts"
            )
        if model.top_k > model.experts:
            raise self.fail((*path, "generator", "top_k"), f"found {model.top_k}; there are {model.experts} experts")
        found = moe(name, Mixture(**fields), tensor_parallel=degrees["tp"], expert_parallel=expert_parallel, rate=rate)
        return replace(found, size=size)

    def _table(self, path: KeyPath, spec: WorkloadSpec, file: Path, name: str | None) -> Workload:
        if spec.compute_TFLOPS is not None:
            raise self.fail(
                (*path, "compute_TFLOPS"), "a table has its own compute times; compute_scale multiplies them"
            )
        found = scale_compute(read_astra_sim_text(file, name), spec.compute_scale or 1.0)
        return replace(found, size=IterationSize(len(found.layers)))


def _there(prefix: Path) -> tuple[Path, ...]:
    try:
        return trace_files(prefix)
    except InputError:
        return ()
