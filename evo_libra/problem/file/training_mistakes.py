"""What cannot be in a training step of a problem file, beside what its plan does not divide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evo_libra.files.mistakes import KeyPath
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.problem.file.training_spec import TrainingSpec

_LAYER_KEYS = ("compute_TFLOPS", "memory_GBps", "compute_scale", "groups")
"""Keys of tables of layers, which a training step does without."""

_RECOMMENDER_KEYS = {"global_batch", "precision", "gradients", "overlap"}
"""Keys of `training` that a recommendation model uses."""


def recommender_mistakes(training: TrainingSpec, degrees: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys that a recommendation model has no use for."""
    for key in sorted(training.model_fields_set - _RECOMMENDER_KEYS):
        yield ("training", key), "this key is of language models; a recommendation model has no use for it"
    for key, value in (("precision", training.precision), ("overlap.dp", training.overlap.dp)):
        if isinstance(value, tuple):
            yield ("training", *key.split(".")), "a recommendation model has one plan; a single value is needed"
    for key in ("tp", "pp"):
        if key in training.overlap.model_fields_set and getattr(training.overlap, key):
            yield ("training", "overlap", key), "a recommendation model sends nothing of this kind; leave this key out"
    for group, degree in degrees.items():
        if group != "dp" and degree != 1:
            yield ("parallelism", group), f"found {degree}; all NPUs share a recommendation model's tables and batch"


def place_of(key: str) -> KeyPath:
    """Return where the option of a plan stands in a workload."""
    return ("training", key) if key in TrainingSpec.model_fields else ("parallelism", key)


def layer_key_mistakes(spec: WorkloadSpec, what: str = "a training step") -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys of a workload that a training step, or serving, has no use for."""
    if spec.trace is not None:
        yield ("trace",), f"a trace has its own times; {what} has one of model, file and generator in its place"
    for key in _LAYER_KEYS:
        if getattr(spec, key) is not None:
            yield (key,), f"{what} computes its times from the problem's `npu`; leave this key out"


def kernel_mistakes(npu: Accelerator, training: TrainingSpec, precision: str) -> Iterator[tuple[KeyPath, str]]:
    """Yield what the accelerator does not have for a training step."""
    if precision not in npu.gemm:
        known = ", ".join(npu.gemm) or "none"
        message = f"found {precision}; {npu.name} has kernel constants for {known}"
        yield ("training", "precision"), message
    elif "bf16" not in npu.gemm:
        yield ("training", "precision"), f"{npu.name} has no kernel constants for bf16, which attention needs"
    if training.attention == "fused" and npu.attention is None:
        message = (
            f"{npu.name} has no kernel constants for fused attention, as no source gives them; unfused does without"
        )
        yield ("training", "attention"), message
