"""A plan as DeepSpeed's JSON configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from evo_libra.exchange.writer import FP32_BYTES, Exported, Writer, Written, memory_unsaid
from evo_libra.workload.step.plan_rules import plan_values
from evo_libra.workload.step.plans import HOST, NETWORK, NVME, RECOMPUTE, Plans
from evo_libra.workload.step.training_setup import Setup

_SSD_PATH = "/local_nvme"
_DEGREES = {
    "tp": "tensor parallelism",
    "cp": "context parallelism",
    "pp": "a pipeline",
    "vp": "virtual stages",
    "ep": "expert parallelism",
}
"""What the program that trains sets up, not the configuration."""


def _zero(plan: Plans) -> dict[str, Any]:
    found: dict[str, Any] = {"stage": int(plan.zero[0]), "overlap_comm": bool(plan.overlap_dp[0])}
    place = int(plan.optimizer[0])
    if place == HOST:
        found["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if place == NVME:
        device = {"device": "nvme", "nvme_path": _SSD_PATH, "pin_memory": True}
        found |= {"offload_optimizer": device, "offload_param": device}
    return found


def _unsaid(setup: Setup, plan: Plans, order: tuple[str, ...]) -> Iterator[str]:
    """Yield what DeepSpeed's configuration has no key for."""
    value, place = plan_values(plan), int(plan.optimizer[0])
    recompute, grouped = RECOMPUTE[int(plan.recompute[0])], any(value[name] > 1 for name in _DEGREES)
    yield f"the model {setup.decoder.name} and its sequences of {setup.sequence} tokens, which the program has"
    yield from (f"{what} of {value[name]}, which the program sets up" for name, what in _DEGREES.items()
                if value[name] > 1)  # fmt: skip
    others = (
        (grouped, f"the order {'-'.join(order)} of the groups on the network"),
        (plan.sequence_parallel[0], "sequence parallelism, which the program sets up"),
        (plan.overlap_tp[0] and value["tp"] > 1, "the overlap of tensor parallelism with compute"),
        (plan.overlap_pp[0] and value["vp"] > 1, "the overlap of the pipeline with compute"),
        (recompute != "none", f"{recompute} recomputation, which the program asks for"),
        (setup.precision != "bf16", f"linear layers in {setup.precision}"),
        (not setup.fused_attention, "attention that is not fused"),
        (setup.dropout, "dropout, which the model has"),
        (setup.balanced or setup.uneven, "how layers are shared out among stages"),
        (place == NETWORK, "the optimizer in servers of the network; DeepSpeed keeps it on NPUs, in hosts or on SSDs"),
        (place == NVME, f"where the SSDs are; {_SSD_PATH} stands for it"),
    )
    yield from (sentence for left_out, sentence in others if left_out)
    yield from memory_unsaid(setup)


def _write(design: Exported) -> Written:
    setup, plan = design.plan
    value = plan_values(plan)
    data = {
        "train_batch_size": setup.global_batch,
        "train_micro_batch_size_per_gpu": value["micro_batch"],
        "gradient_accumulation_steps": setup.global_batch // (value["dp"] * value["micro_batch"]),
        "bf16": {"enabled": True},
        "data_types": {"grad_accum_dtype": "fp32" if setup.gradient_bytes == FP32_BYTES else "bf16"},
        "zero_optimization": _zero(plan),
    }
    order = tuple(group for group, _ in design.step.layouts["tp"])
    return Written(json.dumps(data, indent=2) + "\n", tuple(_unsaid(setup, plan, order)))


WRITERS = (Writer("deepspeed-json", "the plan as DeepSpeed's JSON, without the model", _write, reader="deepspeed"),)
