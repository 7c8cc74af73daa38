"""A plan as launch arguments of Megatron-LM, with the options that `evo_libra.exchange.megatron` reads."""

from __future__ import annotations

from collections.abc import Iterator

from evo_libra.errors import printable
from evo_libra.exchange.formats import Chosen, TrainedPlan, Writer, Written, trained_plan, unwritten_memory
from evo_libra.exchange.megatron import (
    APART,
    BACKEND,
    BACKENDS,
    DATA_OUTERMOST,
    DISPATCHER,
    DROPOUT,
    EXCHANGES,
    EXPERT_TENSOR,
    FLAGS,
    FP4,
    FP4_RECIPE,
    FP8,
    HEADS,
    LAYERS,
    MODULES_AGAIN,
    MXFP8,
    NVFP4,
    OFFLOAD,
    OFFLOAD_PART,
    OPTIONS,
    RECIPE,
    SHARDING,
    STRATEGY,
    USUAL,
)
from evo_libra.workload.models.layers.kept import ACTIVATION, ATTENTION
from evo_libra.workload.plans.placement import ORDER
from evo_libra.workload.plans.plans import HOST, NPU, PLACEMENTS
from evo_libra.workload.plans.recomputation import FULL, OPERATIONS, SELECTIVE, modules_of, recompute_text

_SHARDED = 2
"""ZeRO's stage from which Megatron-LM needs its FSDP."""

_CONNECTIONS = "FSDP needs CUDA_DEVICE_MAX_CONNECTIONS to be unset or more than 1."

Words = tuple[str, ...]


def _size(name: str, value: int | None) -> Iterator[Words]:
    if value is not None:
        yield f"--{OPTIONS[name][0]}", str(value)


def _flags(**given: bool) -> Iterator[Words]:
    for name, on in given.items():
        if on:
            yield (f"--{FLAGS[name][0]}",)


def _model(of: TrainedPlan) -> Iterator[Words]:
    model, sequence = of.setup.decoder, of.setup.sequence
    for name in ("layers", "hidden", "heads", "feed_forward", "vocabulary"):
        yield from _size(name, getattr(model, name))
    yield from _size("sequence", sequence)
    yield "--max-position-embeddings", str(sequence)
    if model.kv_heads != model.heads and model.latent is None:
        yield from _flags(grouped=True)
        yield from _size("kv_heads", model.kv_heads)
    if model.head_width * model.heads != model.hidden and model.latent is None:
        yield from _size("head_width", model.head_width)
    yield from _flags(swiglu=model.gated, untied=not model.tied)
    if model.gated:
        yield "--normalization", "RMSNorm"
    if not model.has_biases:
        yield "--position-embedding-type", "rope"
        yield ("--disable-bias-linear",)
    if model.latent is not None:
        yield from _flags(latent=True)
        for name, value in vars(model.latent).items():
            yield from _size(name, value)
    yield from _experts(of)


def _experts(of: TrainedPlan) -> Iterator[Words]:
    experts = of.setup.decoder.experts
    if experts is None:
        return
    yield from _size("experts", experts.count)
    yield from _size("per_token", experts.per_token)
    yield from _size("expert_width", experts.feed_forward)
    yield from _size("shared_width", experts.shared_feed_forward or None)
    if experts.dense_layers:
        dense, routed = experts.dense_layers, of.setup.decoder.layers - experts.dense_layers
        yield f"--{LAYERS[0]}", f'"([0]*{dense}+[1]*{routed})"'
    yield from _size("ep", of.value("ep"))
    yield f"--{EXPERT_TENSOR[0]}", "1"
    yield f"--{DISPATCHER[0]}", USUAL[DISPATCHER[0],][0]


def _plan(of: TrainedPlan) -> Iterator[Words]:
    for name in ("tp", "pp", "cp"):
        yield from _size(name, of.value(name))
    if of.value("ulysses"):
        yield f"--{HEADS[0]}", next(name for name, exchanges in EXCHANGES.items() if exchanges)
    interleaved = of.value("vp") > 1
    yield from _size("vp", of.value("vp") if interleaved else None)
    yield from _size("micro_batch", of.value("micro_batch"))
    yield from _size("global_batch", of.setup.global_batch)
    zero, (first, last) = of.value("zero"), of.setup.ends
    yield from _flags(
        sequence_parallel=bool(of.value("sequence_parallel")), distributed_optimizer=zero > 0,
        overlap_tp=bool(of.value("overlap_tp")), overlap_dp=bool(of.value("overlap_dp")),
        embedding_counted=bool(first), head_counted=bool(last), overlap_ep=bool(of.value("overlap_ep")),
        pipeline_outside=of.order != ORDER and of.order == DATA_OUTERMOST,
    )  # fmt: skip
    if zero and of.value("overlap_dp"):
        yield ("--overlap-param-gather",)
    if zero >= _SHARDED:
        yield ("--use-megatron-fsdp",)
        yield "--ckpt-format", "fsdp_dtensor"
        yield f"--{STRATEGY[0]}", next(name for name, stage in SHARDING.items() if stage == zero)
    if interleaved and not of.value("overlap_pp"):
        yield (f"--{APART[0]}",)


def _precision(of: TrainedPlan) -> Iterator[Words]:
    precise = of.setup.gradient_bytes > 2  # noqa: PLR2004 - bytes of bf16
    yield from _flags(bf16=True, fp32_gradients=precise, bf16_gradients=not precise,
                      activation_fp8=of.setup.activation_input == "fp8")  # fmt: skip
    if of.setup.precision == "fp8":
        yield f"--{FP8}", "hybrid"
    if of.setup.precision == MXFP8:
        yield f"--{FP8}", "e4m3"
        yield f"--{RECIPE}", MXFP8
    if of.setup.precision == NVFP4:
        yield f"--{FP4}", "e2m1"
        yield f"--{FP4_RECIPE}", NVFP4
    if any(of.setup.wide_layers):
        yield from _flags(bf16_ends=True)
        for name, count in zip(("bf16_start", "bf16_end"), of.setup.wide_layers, strict=True):
            yield from _size(name, count)
    recompute = of.value("recompute")
    if modules := _modules(recompute):
        yield "--recompute-granularity", "selective"
        if modules != (ATTENTION,):
            yield f"--{MODULES_AGAIN}", *modules
    if recompute == FULL:
        yield "--recompute-granularity", "full"
        yield "--recompute-method", "uniform"
        yield "--recompute-num-layers", "1"
    kernels = "fused" if of.setup.fused_attention else "unfused"
    yield f"--{BACKEND[0]}", next(name for name, kind in BACKENDS.items() if kind == kernels)
    part = "0.1" if of.setup.dropout else "0.0"
    yield "--attention-dropout", part
    yield f"--{DROPOUT[0]}", part
    if of.value("optimizer") == HOST:
        yield (f"--{OFFLOAD}",)
        yield f"--{OFFLOAD_PART}", "1.0"


def _modules(recompute: int) -> Words:
    """Return the modules of Megatron-LM that run again; core attention alone is what it does by itself."""
    core = (ATTENTION,) if recompute & SELECTIVE and recompute != OPERATIONS else ()
    return *core, *(module for module in modules_of([recompute]) if module != ACTIVATION)


def _left(of: TrainedPlan) -> Iterator[str]:
    if of.order not in (ORDER, DATA_OUTERMOST):
        ours, allowed = "-".join(of.order), " and ".join("-".join(order) for order in (ORDER, DATA_OUTERMOST))
        yield f"the order {ours} of the process groups: Megatron-LM has {allowed}"
    if of.setup.decoder.mixed is not None:
        yield "layers of several kinds: the arguments describe a model of equal layers"
    if of.setup.decoder.predictors:
        yield f"{of.setup.decoder.predictors} layers that predict further tokens, --mtp-num-layers of Megatron-LM"
    if of.setup.uneven and of.setup.decoder.layers % of.value("pp"):
        yield "stages of different lengths: --pipeline-model-parallel-layout of Megatron-LM lists the layers of each"
    if of.value("recompute") == OPERATIONS or ACTIVATION in modules_of([of.value("recompute")]):
        yield f"recompute {recompute_text(of.value('recompute'))}: Megatron-LM has modules, and mlp_act is none of them"
    yield from unwritten_memory(of)
    if of.setup.offload is not None and of.setup.offload.checkpoints:
        yield "inputs of layers in the memory of hosts, which recomputation keeps"
    if of.value("optimizer") not in (NPU, HOST):
        yield f"the optimizer in {PLACEMENTS[of.value('optimizer')]}: Megatron-LM has it on NPUs or hosts"
    if of.setup.expansions and of.setup.expansions[of.value("expansion")].text:
        yield "expansion memory, which is hardware"


def _write(chosen: Chosen) -> Written:
    of = trained_plan(chosen)
    left = tuple(_left(of))
    comments = (
        f"{of.name}: {chosen.notation}",
        f"{of.npus} processes; data parallel groups of {of.value('dp')}.",
        'In a launch script: torchrun ... pretrain_gpt.py "${MEGATRON_ARGS[@]}"',
        *([_CONNECTIONS] if of.value("zero") >= _SHARDED else []),
        *(f"Left out: {sentence}." for sentence in left),
    )
    # A shell runs what follows a line break in a name.
    head = (*(f"# {printable(comment)}" for comment in comments), "MEGATRON_ARGS=(")
    words = (*_model(of), *_plan(of), *_precision(of))
    return Written("\n".join([*head, *("    " + " ".join(each) for each in words), ")", ""]), left)


WRITERS = (Writer("megatron-arguments", "the plan of a workload as launch arguments of Megatron-LM", _write),)
