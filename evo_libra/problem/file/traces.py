"""From the traces of a problem file to workloads."""

from __future__ import annotations

from pathlib import Path

from evo_libra.arrays import GIGA, TERA
from evo_libra.chakra.groups import read_groups
from evo_libra.chakra.read import read_traces, trace_files
from evo_libra.chakra.trace import Kind, Node
from evo_libra.errors import InputError
from evo_libra.files.mistakes import KeyPath
from evo_libra.problem.file.mistakes import Gather, ProblemFile, trace_mistakes
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.timing.trace_time import TraceAccelerator, TracedWorkload, TraceFiles, traced_workload


class TraceLoader:
    """Reads the traces of a problem file."""

    def __init__(self, file: ProblemFile) -> None:
        self.file, self.source, self.spec, self.fail = file, file.source, file.spec, file.fail

    def workload(self, path: KeyPath, spec: WorkloadSpec) -> TracedWorkload:
        """Return a workload of traces; an error has every mistake of it that does not depend on another one."""
        assert spec.trace is not None, "the caller has looked"  # noqa: S101 - internal error
        prefix, npus, found = self.file.folder / spec.trace, self.spec.npus, Gather()
        found.mistakes += [self.source.mistake((*path, *key), message) for key, message in trace_mistakes(spec)]
        read = found.attempt(
            lambda: {} if spec.groups is None else read_groups(self.file.readable((*path, "groups"), spec.groups), npus)
        )
        traces = found.attempt(lambda: self._nodes((*path, "trace"), prefix))
        found.check()
        assert read is not None  # noqa: S101 - else there were mistakes
        assert traces is not None  # noqa: S101 - likewise
        peak = None if spec.compute_TFLOPS is None else spec.compute_TFLOPS * TERA
        memory = None if spec.memory_GBps is None else spec.memory_GBps * GIGA
        name = spec.name or prefix.name.removesuffix(".et")
        accelerator = TraceAccelerator(peak, memory, spec.compute_scale or 1.0)
        files = TraceFiles(
            prefix.resolve(), None if spec.groups is None else (self.file.folder / spec.groups).resolve()
        )
        return traced_workload(name, traces, groups=read, npus=npus, accelerator=accelerator, files=files)

    def _nodes(self, path: KeyPath, prefix: Path) -> list[tuple[Node, ...]]:
        try:
            trace_files(prefix)
        except InputError as error:
            raise self.fail(path, str(error)) from None
        traces = [nodes for _, nodes in read_traces(prefix)]
        if len(traces) not in (1, self.spec.npus):
            raise self.fail(path, f"found traces of {len(traces)} NPUs; the problem has {self.spec.npus}")
        if all(node.kind is Kind.METADATA for nodes in traces for node in nodes):
            raise self.fail(path, "the trace has metadata alone; there is nothing to time")
        return traces
