"""A plan as DeepSpeed's JSON configuration, with the keys that `evo_libra.exchange.deepspeed` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from evo_libra.exchange.deepspeed import BATCH
from evo_libra.exchange.writer import Chosen, TrainedPlan, Writer, Written, trained_plan
from evo_libra.workload.plans.plans import HOST, NONE, NVME, PLACEMENTS, RECOMPUTE

_DEVICES = {HOST: "cpu", NVME: "nvme"}
"""Places of the optimizer -> what DeepSpeed calls them."""


def _config(of: TrainedPlan) -> dict[str, Any]:
    replicas, micro = of.value("dp"), of.value("micro_batch")
    sizes = (of.setup.global_batch, micro, of.setup.global_batch // (replicas * micro))
    zero: dict[str, Any] = {"stage": of.value("zero"), "overlap_comm": bool(of.value("overlap_dp"))}
    place = of.value("optimizer")
    if place in _DEVICES:
        zero["offload_optimizer"] = {"device": _DEVICES[place]}
    if place == NVME:
        zero["offload_param"] = {"device": _DEVICES[place]}
    found: dict[str, Any] = {**dict(zip(BATCH, sizes, strict=True)), "bf16": {"enabled": True}}
    found["data_types"] = {"grad_accum_dtype": "fp32" if of.setup.gradient_bytes > 2 else "bf16"}  # noqa: PLR2004 - bytes of bf16
    found["zero_optimization"] = zero
    if of.setup.offload is not None and of.setup.offload.checkpoints:
        found["activation_checkpointing"] = {"cpu_checkpointing": True}
    return found


def _left(of: TrainedPlan) -> Iterator[str]:
    for name, what in (("tp", "tensor"), ("cp", "context"), ("pp", "pipeline"), ("ep", "expert")):
        if of.value(name) > 1:
            yield f"{what} parallelism of {of.value(name)}: the training script sets it"
    if of.value("vp") > 1:
        yield f"{of.value('vp')} virtual stages of each NPU: DeepSpeed's pipeline has one"
    if of.value("recompute") != NONE:
        yield f"recompute {RECOMPUTE[of.value('recompute')]}: the training script sets it"
    if of.setup.precision == "fp8":
        yield "fp8 in linear layers: the training script sets it"
    if of.value("optimizer") not in (0, *_DEVICES):
        yield f"the optimizer in {PLACEMENTS[of.value('optimizer')]}: DeepSpeed has it on NPUs, hosts or SSDs"
    if of.value("optimizer") == NVME:
        yield "nvme_path of both offloads: the folder of the SSDs"
    if of.setup.expansions and of.setup.expansions[of.value("expansion")].text:
        yield "expansion memory, which is hardware"


def _write(chosen: Chosen) -> Written:
    of = trained_plan(chosen)
    return Written(json.dumps(_config(of), indent=2) + "\n", tuple(_left(of)))


WRITERS = (Writer("deepspeed", "the plan of a workload as DeepSpeed's JSON, beside a training script", _write),)
