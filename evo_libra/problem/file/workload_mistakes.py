"""What cannot be in a workload of a problem file that is a table of layers, a generated one, or a trace."""

from __future__ import annotations

from collections.abc import Iterator

from evo_libra.files.mistakes import KeyPath
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.workload.layers.language_models import DlrmSpec, MoeSpec, TableSpec, TransformerSpec

Model = TransformerSpec | MoeSpec | DlrmSpec | TableSpec


def trace_mistakes(spec: WorkloadSpec) -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys of a workload with a trace that are not right, and why."""
    if spec.parallelism:
        yield ("parallelism",), "a trace has its own groups; they are given as a file, by 'groups'"
    if (spec.compute_TFLOPS is None) != (spec.memory_GBps is None):
        yield (), "a roofline needs both compute_TFLOPS and memory_GBps; recorded times need neither"
    if spec.compute_TFLOPS is not None and spec.compute_scale is not None:
        yield ("compute_scale",), "a roofline has compute_TFLOPS; compute_scale is for recorded times"


def layer_mistakes(spec: WorkloadSpec, model: Model | None, degrees: dict[str, int]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys of a workload without a trace that are not right, and why."""
    yield from _mistakes_of_groups(spec)
    for key in ("groups", "memory_GBps") if spec.trace is None else ():
        if getattr(spec, key) is not None:
            yield (key,), "this key belongs to a trace"
    if isinstance(model, TableSpec):
        if spec.compute_TFLOPS is not None:
            yield ("compute_TFLOPS",), "a table has its own compute times; compute_scale multiplies them"
    elif model is not None:
        if spec.compute_TFLOPS is None:
            yield (), "the key 'compute_TFLOPS' is required, the compute rate of one NPU in TFLOP/s; 234 is usual"
        if spec.compute_scale is not None:
            yield ("compute_scale",), "a generated workload has compute_TFLOPS, not compute_scale"
    yield from _mistakes_of_degrees(model, degrees)


def _mistakes_of_groups(spec: WorkloadSpec) -> Iterator[tuple[KeyPath, str]]:
    """Yield the process groups that only training steps have."""
    for group, degree in dict(spec.parallelism).items():
        if group in ("cp", "pp", "vp"):
            yield ("parallelism", group), "this group belongs to training steps: the key 'training' is needed"
        elif not isinstance(degree, int):
            yield ("parallelism", group), "only training steps leave degrees open: the key 'training' is needed"


def _mistakes_of_degrees(model: Model | None, degrees: dict[str, int]) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(model, TransformerSpec | MoeSpec) and "tp" not in degrees:
        yield ("parallelism",), "the key 'tp' is required, the NPUs of a tensor-parallel group; 1 for none"
    if isinstance(model, MoeSpec):
        if model.experts % degrees.get("ep", 1):
            yield ("parallelism", "ep"), f"found {degrees['ep']}; it must divide the {model.experts} experts"
        if model.top_k > model.experts:
            yield ("generator", "top_k"), f"found {model.top_k}; there are {model.experts} experts"
