"""Measured memory of training steps of 2024 to 2026: peaks that MLPerf logs and torchtitan prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.validation.source import PublishedRow, PublishedSource
from evo_libra.validation.training_2026 import MeasuredStep, class_of, measured_steps, year_of
from evo_libra.workload.training.memory import memory


def allocated(step: MeasuredStep) -> float:
    """Return the bytes that a framework allocates on the fullest accelerator: all but buffers of communication."""
    used = memory(step.setup, step.plan)
    return float(np.ravel(sum(bytes_ for kind, bytes_ in used.items() if kind != "buffers"))[0])


def rows_of(*starts: str) -> Sequence[MeasuredStep]:
    """Return the steps whose names start so and whose memory was measured."""
    return [step for step in measured_steps() if step.id.startswith(starts) and step.memory is not None]


def _rows(*starts: str) -> Iterator[PublishedRow]:
    for step in rows_of(*starts):
        measured, computed = (step.memory or 0.0) / GIGA, allocated(step) / GIGA
        of, year = class_of(step), year_of(step)
        # Activations depend on the length of sequences: each length is as good as a model of its own.
        model = f"{step.setup.decoder.name}, {step.setup.sequence} tokens"
        yield PublishedRow(step.id, measured, computed, "GB", step=of, year=year, model=model)


TRAINING_MEMORY = (
    PublishedSource(
        name="training-memory-megatron",
        group="measured memory",
        title="MLPerf 5.0, 2025: allocated peak of a pipeline of 405B",
        rows=lambda: _rows("mlperf"),
        note="taken as GiB; of the fullest stage, the second one, where the first one has 63.6 GB",
    ),
    PublishedSource(
        name="training-memory-torch",
        group="measured memory",
        title="torchtitan, 2024: reserved peak of 8B with FSDP",
        rows=lambda: _rows("titan"),
        note="reserved memory is more than what is allocated",
    ),
)
