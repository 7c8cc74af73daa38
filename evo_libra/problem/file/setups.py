"""The settings of a problem file that all plans of a training step share."""

from __future__ import annotations

from dataclasses import replace

from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.hosts import HostSpec
from evo_libra.problem.file.offload import offload_of, offloads_layers, software_of
from evo_libra.problem.file.training_spec import TrainingSpec
from evo_libra.workload.models.decoder import Decoder
from evo_libra.workload.models.stacks import Stack, stack_of
from evo_libra.workload.training.training_setup import Setup

BYTES = {"fp8": 1, "bf16": 2, "fp32": 4}
"""Bytes of gradients and of moments by their precision."""


def setup_of(model: Decoder, npu: Accelerator, training: TrainingSpec, host: HostSpec | None) -> Setup:
    """Return the settings of all plans of a model on an accelerator; `host` may hold what is offloaded."""
    # Under every time model: a link's latency is a small part of what NCCL takes for a small collective.
    link = max(npu.bus, key=lambda name: npu.bus[name].half_message, default=None)
    return Setup(
        model,
        npu,
        training.sequence or 0,
        training.stated_batch,
        stated_batch=training.stated_batch,
        gradient_bytes=BYTES[training.gradients],
        fused_attention=training.attention == "fused",
        balanced=training.balanced,
        account_for=training.account_for,
        head_precision=training.head_precision,
        activation_input=training.activation_input,
        bf16_layers=training.bf16_layers,
        expert_processors=training.overlap.ep_processors,
        uneven=training.uneven,
        uneven_heads=training.uneven_heads,
        stack=_stack(training, npu),
        tensor_anywhere=training.tp_domain == "any",
        jitter=training.jitter,
        dropout=training.dropout,
        bus=None if link is None else npu.bus[link],
        wire_rate=0.0 if link is None else npu.wire_rate(link),
        moment_bytes=BYTES[training.optimizer.moments],
        offload=offload_of(training.optimizer, host, layers=offloads_layers(training)),
        loss=training.loss,
    )


def _stack(training: TrainingSpec, npu: Accelerator) -> Stack:
    """Return the software, with what the file says of it."""
    found = software_of(stack_of(training.stack, npu.generation), training.optimizer.software)
    taken = training.overlap.tp_processors
    return found if taken is None else replace(found, taken=taken)
