"""A plan as a launch script of Megatron-LM, in its option names of 2025 (megatron/training/arguments.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evo_libra.exchange.megatron import FLAGS, OPTIONS
from evo_libra.exchange.writer import FP32_BYTES, Exported, Writer, Written, memory_unsaid
from evo_libra.problem.system import Hosts
from evo_libra.workload.step.decoder import Decoder
from evo_libra.workload.step.plan_rules import plan_values
from evo_libra.workload.step.plans import HOST, NPU, PLACEMENTS, RECOMPUTE, Plans
from evo_libra.workload.step.training_setup import Setup

Value = int | float | str | bool
"""Value of an option; true for a flag that is set."""

_SHARDING = {2: "optim_grads", 3: "optim_grads_params"}
_ORDERS: Mapping[tuple[str, ...], bool] = {("tp", "cp", "dp", "pp"): False, ("tp", "cp", "pp", "dp"): True}
"""Orders of the groups that Megatron-LM has, and whether they take its option ``--use-tp-pp-dp-mapping``."""


def _option(name: str) -> str:
    """Return Megatron-LM's name of a size or a flag, from the table that the reader has."""
    return (OPTIONS.get(name) or FLAGS[name])[0]


def _model(model: Decoder, sequence: int) -> Iterator[tuple[str, Value]]:
    sizes = {"layers": model.layers, "hidden": model.hidden, "feed_forward": model.feed_forward, "heads": model.heads}
    yield from ((_option(name), size) for name, size in sizes.items())
    if model.latent is None:
        yield _option("head_width"), model.head_width
        if model.kv_heads != model.heads:
            yield _option("grouped"), True
            yield _option("kv_heads"), model.kv_heads
    yield _option("sequence"), sequence
    yield "max-position-embeddings", sequence
    yield _option("vocabulary"), model.vocabulary
    yield _option("swiglu"), model.gated
    yield _option("untied"), not model.tied
    if model.gated:  # Of Llama's kind.
        yield from (("normalization", "RMSNorm"), ("disable-bias-linear", True), ("position-embedding-type", "rope"))
    yield from _experts(model)
    yield from _latent(model)


def _experts(model: Decoder) -> Iterator[tuple[str, Value]]:
    experts = model.experts
    if experts is None:
        return
    yield _option("experts"), experts.count
    yield _option("per_token"), experts.per_token
    yield _option("expert_width"), experts.feed_forward
    if experts.shared_feed_forward:
        yield _option("shared_width"), experts.shared_feed_forward
    if experts.dense_layers:
        yield "moe-layer-freq", f'"([0]*{experts.dense_layers}+[1]*{model.expert_layers})"'
    yield "expert-tensor-parallel-size", 1  # Experts are whole here; Megatron-LM would split them as it does the rest.


def _latent(model: Decoder) -> Iterator[tuple[str, Value]]:
    latent = model.latent
    if latent is None:
        return
    yield "multi-latent-attention", True
    if latent.query_rank is not None:
        yield "q-lora-rank", latent.query_rank
    yield "kv-lora-rank", latent.kv_rank
    yield "qk-head-dim", latent.nope_width
    yield "qk-pos-emb-head-dim", latent.rope_width
    yield "v-head-dim", latent.value_width


def _parallel(plan: Plans, order: tuple[str, ...]) -> Iterator[tuple[str, Value]]:
    value = plan_values(plan)
    yield from ((_option(name), value[name]) for name in ("tp", "cp", "pp", "ep"))
    if value["vp"] > 1:
        yield _option("vp"), value["vp"]
        yield "no-overlap-p2p-communication", not plan.overlap_pp[0]
    yield _option("sequence_parallel"), bool(plan.sequence_parallel[0])
    yield "use-tp-pp-dp-mapping", _ORDERS.get(order, False)
    yield _option("distributed_optimizer"), value["zero"] > 0
    if value["zero"] in _SHARDING:
        yield "use-megatron-fsdp", True
        yield "data-parallel-sharding-strategy", _SHARDING[value["zero"]]
    yield _option("overlap_dp"), bool(plan.overlap_dp[0])
    yield "overlap-param-gather", bool(plan.overlap_dp[0]) and value["zero"] > 0
    yield _option("overlap_tp"), bool(plan.overlap_tp[0])


def _training(setup: Setup, plan: Plans) -> Iterator[tuple[str, Value]]:
    yield _option("micro_batch"), int(plan.micro_batch[0])
    yield _option("global_batch"), setup.global_batch
    yield _option("bf16"), True
    if setup.precision == "fp8":
        yield "fp8-format", "hybrid"
    yield (_option("fp32_gradients") if setup.gradient_bytes == FP32_BYTES else "grad-reduce-in-bf16"), True
    recompute = RECOMPUTE[int(plan.recompute[0])]
    if recompute != "none":
        yield "recompute-granularity", recompute
    if recompute == "full":
        yield from (("recompute-method", "uniform"), ("recompute-num-layers", 1))
    yield "attention-backend", "flash" if setup.fused_attention else "unfused"
    if not setup.dropout:
        yield from (("attention-dropout", 0), ("hidden-dropout", 0))
    if setup.balanced:
        yield from ((f"account-for-{what}-in-pipeline-split", True) for what in ("embedding", "loss"))
    if int(plan.optimizer[0]) == HOST:
        yield from (("optimizer-cpu-offload", True), ("use-precision-aware-optimizer", True))


def _unsaid(setup: Setup, plan: Plans, order: tuple[str, ...]) -> Iterator[str]:
    """Yield what Megatron-LM has no option for."""
    if order not in _ORDERS:
        yield f"the order {'-'.join(order)} of the groups on the network; Megatron-LM lays them tp-cp-dp-pp"
    if int(plan.optimizer[0]) not in (NPU, HOST):
        yield f"the optimizer at {PLACEMENTS[int(plan.optimizer[0])]}; Megatron-LM keeps it on NPUs or in their hosts"
    yield from memory_unsaid(setup)
    stages = int(plan.pp[0])
    if (setup.decoder.layers + 2 * setup.balanced) % stages:
        yield f"that pp {stages} makes some stages longer; --pipeline-model-parallel-layout says them by hand"
    elif (setup.decoder.layers + 2 * setup.balanced) // stages % int(plan.vp[0]):
        yield f"vp {int(plan.vp[0])} where it divides the layers of the first and the last stage alone"


def _node(design: Exported) -> tuple[int, tuple[str, ...]]:
    """Return how many NPUs a node has, and what of it no host says: then it is the innermost dimension of copper."""
    rows = () if design.problem.system is None else design.problem.system.rows
    host = next((row.npus for row in rows if isinstance(row, Hosts)), None)
    if host is not None and design.problem.npus % host == 0:
        return host, ()
    unsaid = "how many NPUs a node has, which no host of `system` says; `torchrun` has {} of them in each"
    sizes = design.population.npus[:, 0]
    first = int((sizes > 1).argmax())
    kits = design.problem.pricing.kits
    kit = kits[int(design.population.technology[first, 0])] if kits else None
    each = int(sizes[first]) if kit is not None and kit.transceiver is None and kit.nic is None else 1
    return each, (unsaid.format(each),)


def _write(design: Exported) -> Written:
    setup, plan = design.plan
    order = tuple(group for group, _ in design.step.layouts["tp"])
    node, unknown = _node(design)
    unsaid = (*_unsaid(setup, plan, order), *unknown)
    groups = _model(setup.decoder, setup.sequence), _parallel(plan, order), _training(setup, plan)
    lines = [" ".join(_words(group)) for group in groups]
    start = f"torchrun --nproc-per-node {node} --nnodes {design.problem.npus // node} pretrain_gpt.py"
    comments = [
        f"{design.step.name} of {design.problem.name}: {design.step.plan}",
        *(f"Not said: {sentence}." for sentence in unsaid),
        "Data, tokenizer, learning rate and checkpoints are yours to add.",
    ]
    head = ["#!/bin/bash", *(f"# {' '.join(line.split())}" for line in comments)]
    return Written("\n".join([*head, " \\\n    ".join([start, *lines]), ""]), unsaid)


def _words(options: Iterator[tuple[str, Value]]) -> Iterator[str]:
    for name, value in options:
        if value is True:
            yield f"--{name}"
        elif value is not False:
            yield f"--{name} {value}"


WRITERS = (Writer("megatron-arguments", "the plan as a launch script of Megatron-LM, with the model", _write,
                  reader="megatron-arguments"),)  # fmt: skip
