"""DeepSpeed's JSON configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from evo_libra.exchange.formats import (
    Chosen,
    Draft,
    Reader,
    TrainedPlan,
    Writer,
    Written,
    trained_plan,
    unwritten_memory,
    without_none,
)
from evo_libra.exchange.key_lists import judge
from evo_libra.exchange.keys import Keys
from evo_libra.exchange.samples import DEEPSPEED_AUTO
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source
from evo_libra.workload.plans.plans import HOST, NVME, PLACEMENTS
from evo_libra.workload.plans.recomputation import NONE, recompute_text

_OFFLOAD = ("offload_optimizer", "offload_param")
_KEYS = ("zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu")
BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
_STAGES = 3
_WITHOUT_EFFECT = {
    (): (
        "comms_logger", "csv_monitor", "dump_state", "flops_profiler", "gradient_clipping", "memory_breakdown",
        "prescale_gradients", "scheduler", "steps_per_print", "tensorboard", "wall_clock_breakdown", "wandb",
        "zero_allow_untested_optimizer",
    ),
    ("fp16",): (
        "auto_cast", "hysteresis", "initial_scale_power", "loss_scale", "loss_scale_window", "min_loss_scale",
    ),
    ("optimizer",): ("params",),
    ("zero_optimization",): (
        "allgather_bucket_size", "allgather_partitions", "contiguous_gradients", "ignore_unused_parameters",
        "reduce_bucket_size", "reduce_scatter", "round_robin_gradients", "stage3_gather_16bit_weights_on_model_save",
        "stage3_max_live_parameters", "stage3_max_reuse_distance", "stage3_param_persistence_threshold",
        "stage3_prefetch_bucket_size", "sub_group_size",
    ),
    ("zero_optimization", "offload_optimizer"): ("pin_memory",),
    ("zero_optimization", "offload_param"): ("pin_memory",),
}  # fmt: skip
"""Keys that change neither time nor memory nor cost here, by where they are."""

_USUAL: dict[KeyPath, tuple[Any, ...]] = {("optimizer", "type"): ("Adam", "AdamW", "FusedAdam", "DeepSpeedCPUAdam")}
"""Keys whose values here change nothing, while others do."""

_SAMPLE = """{
 "train_batch_size": 512, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4,
 "bf16": {"enabled": true}, "gradient_clipping": 1.0,
 "zero_optimization": {"stage": 2, "overlap_comm": true, "offload_optimizer": {"device": "cpu"}}
}"""


def _automatic(keys: Keys, path: KeyPath) -> bool:
    """Return whether a value is `auto`, which leaves it to another program."""
    if keys.raw(*path) != "auto":
        return False
    keys.unsupported(path, "is `auto`, which another program fills in")
    return True


def _size(keys: Keys, name: str) -> int | None:
    return None if _automatic(keys, (name,)) else keys.size(name)


def _read(source: Source) -> Draft:
    keys = Keys(source)
    batch, micro, steps = (_size(keys, name) for name in BATCH)
    stage = keys.size("zero_optimization", "stage", least=0)
    if stage is not None and stage > _STAGES:
        keys.wrong(("zero_optimization", "stage"), f"found {stage}; a stage from 0 to {_STAGES} is needed")
    if keys.raw("activation_checkpointing", "cpu_checkpointing"):
        why = "is not carried over; `training.optimizer.checkpoints` says it, with hosts in `system`"
        keys.unsupported(("activation_checkpointing", "cpu_checkpointing"), why)
    for name in _OFFLOAD:
        if keys.raw("zero_optimization", name, "device") not in (None, "none"):
            why = "is not carried over; `training.optimizer.placement` says it, with hosts in `system`"
            keys.unsupported(("zero_optimization", name, "device"), why)
    keys.expect(_USUAL)
    keys.pass_over(*((*above, name) for above, names in _WITHOUT_EFFECT.items() for name in names))
    half = [_automatic(keys, (name, "enabled")) or keys.flag(name, "enabled") for name in ("bf16", "fp16")]
    replicas = None
    if batch and micro and steps:
        if batch % (micro * steps):
            keys.wrong((BATCH[0],), f"found {batch}; {micro} sequences x {steps} steps have to divide it")
        else:
            replicas = batch // (micro * steps)
    degrees = without_none({"tp": keys.size("tensor_parallel", "autotp_size", least=0) or None,
                            "cp": keys.size("sequence_parallel_size")})  # fmt: skip
    shard = keys.raw("zero_optimization", "mics_shard_size")
    shard = None if shard in (None, -1) else keys.size("zero_optimization", "mics_shard_size")
    if keys.raw("zero_optimization", "zero_hpz_partition_size") != 1:
        keys.taken.discard(("zero_optimization", "zero_hpz_partition_size"))
    overlap = keys.flag("zero_optimization", "overlap_comm")
    gradients = keys.choice({"fp32": "fp32", "bf16": "bf16", "fp16": "bf16"}, "data_types", "grad_accum_dtype")
    judge(keys, "deepspeed")
    keys.check()
    training = without_none({
        "global_batch": batch, "micro_batch": micro, "zero": stage or 0, "precision": "bf16" if any(half) else None,
        "gradients": gradients,
        "overlap": None if overlap is None else {"dp": overlap},
    })  # fmt: skip
    parallelism = degrees | ({} if replicas is None else {"dp": replicas})
    return Draft(
        training=training, parallelism=parallelism, left=tuple(keys.left()), shard=shard,
        accumulation=steps if batch is None else None,
    )  # fmt: skip


READERS = (
    Reader("deepspeed", "a JSON configuration of DeepSpeed, together with a model",
           lambda source: isinstance(source.data, dict) and any(key in source.data for key in _KEYS), _read,
           (_SAMPLE, DEEPSPEED_AUTO)),
)  # fmt: skip


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
        yield f"recompute {recompute_text(of.value('recompute'))}: the training script sets it"
    if of.setup.precision != "bf16":
        yield f"{of.setup.precision} in linear layers: the training script sets it"
    if of.value("optimizer") not in (0, *_DEVICES):
        yield f"the optimizer in {PLACEMENTS[of.value('optimizer')]}: DeepSpeed has it on NPUs, hosts or SSDs"
    yield from unwritten_memory(of)
    if of.value("optimizer") == NVME:
        yield "nvme_path of both offloads: the folder of the SSDs"
    if of.setup.expansions and of.setup.expansions[of.value("expansion")].text:
        yield "expansion memory, which is hardware"


def _write(chosen: Chosen) -> Written:
    of = trained_plan(chosen)
    return Written(json.dumps(_config(of), indent=2) + "\n", tuple(_left(of)))


WRITERS = (Writer("deepspeed", "the plan of a workload as DeepSpeed's JSON, next to a training script", _write),)
