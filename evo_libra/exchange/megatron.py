"""Launch arguments of Megatron-LM; `evo_libra.exchange.nemo` has the same options under `model`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evo_libra.exchange.formats import Draft, without_none
from evo_libra.exchange.key_lists import judge
from evo_libra.exchange.keys import Keys
from evo_libra.exchange.megatron_layers import frequency, hybrid_parts, layers_of
from evo_libra.exchange.tokenizers import vocabulary_of
from evo_libra.files.mistakes import KeyPath
from evo_libra.workload.models.layers.kept import MODULES
from evo_libra.workload.training.training_setup import COUNTED

_VOCABULARY = 51200
_WIDENED, _ROUNDED, _GATED = 4, 64, 3

OPTIONS = {
    "layers": ("num-layers", "num_layers"),
    "hidden": ("hidden-size", "hidden_size"),
    "heads": ("num-attention-heads", "num_attention_heads"),
    "kv_heads": ("num-query-groups", "num_query_groups"),
    "head_width": ("kv-channels", "kv_channels"),
    "feed_forward": ("ffn-hidden-size", "ffn_hidden_size"),
    "vocabulary": ("vocab-size", "vocab_size"),
    "sequence": ("seq-length", "encoder_seq_length"),
    "experts": ("num-experts", "num_moe_experts"),
    "per_token": ("moe-router-topk", "moe_router_topk"),
    "expert_width": ("moe-ffn-hidden-size", "moe_ffn_hidden_size"),
    "shared_width": ("moe-shared-expert-intermediate-size", "moe_shared_expert_intermediate_size"),
    "tp": ("tensor-model-parallel-size", "tensor_model_parallel_size"),
    "pp": ("pipeline-model-parallel-size", "pipeline_model_parallel_size"),
    "cp": ("context-parallel-size", "context_parallel_size"),
    "ep": ("expert-model-parallel-size", "expert_model_parallel_size"),
    "global_batch": ("global-batch-size", "global_batch_size"),
    "micro_batch": ("micro-batch-size", "micro_batch_size"),
    "vp": ("num-virtual-stages-per-pipeline-rank", "virtual_pipeline_model_parallel_size"),
    "virtual_layers": ("num-layers-per-virtual-pipeline-stage", ""),
    "bf16_start": ("num-layers-at-start-in-bf16", "num_layers_at_start_in_bf16"),
    "bf16_end": ("num-layers-at-end-in-bf16", "num_layers_at_end_in_bf16"),
    "query_rank": ("q-lora-rank", "q_lora_rank"),
    "kv_rank": ("kv-lora-rank", "kv_lora_rank"),
    "nope_width": ("qk-head-dim", "qk_head_dim"),
    "rope_width": ("qk-pos-emb-head-dim", "qk_pos_emb_head_dim"),
    "value_width": ("v-head-dim", "v_head_dim"),
}
"""Sizes: the name here -> that of Megatron-LM's option, and of NeMo's key."""

FLAGS = {
    "grouped": ("group-query-attention", ""),
    "untied": ("untie-embeddings-and-output-weights", ""),
    "sequence_parallel": ("sequence-parallel", "sequence_parallel"),
    "distributed_optimizer": ("use-distributed-optimizer", ""),
    "overlap_dp": ("overlap-grad-reduce", "overlap_grad_reduce"),
    "overlap_tp": ("tp-comm-overlap", "ub_tp_comm_overlap"),
    "recompute_attention": ("recompute-activations", ""),
    "fp32_gradients": ("accumulate-allreduce-grads-in-fp32", ""),
    "swiglu": ("swiglu", ""),
    "bf16": ("bf16", ""),
    "fp16": ("fp16", ""),
    "bf16_gradients": ("grad-reduce-in-bf16", ""),
    "latent": ("multi-latent-attention", "multi_latent_attention"),
    "pipeline_outside": ("use-tp-pp-dp-mapping", "use_tp_pp_dp_mapping"),
    "overlap_ep": ("overlap-moe-expert-parallel-comm", ""),
    "embedding_counted": ("account-for-embedding-in-pipeline-split", "account_for_embedding_in_pipeline_split"),
    "bf16_ends": ("first-last-layers-bf16", "first_last_layers_bf16"),
    "activation_fp8": ("activation-func-fp8-input-store", "activation_func_fp8_input_store"),
    "head_counted": ("account-for-loss-in-pipeline-split", "account_for_loss_in_pipeline_split"),
}
"""Options that are on or off, likewise."""

LATENT = {"query_rank": None, "kv_rank": 512, "nope_width": 128, "rope_width": 64, "value_width": 128}
"""Widths of multi-head latent attention, as `OPTIONS` calls them -> what Megatron-LM takes where none is given."""

SHARDING = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
"""Shards of Megatron-LM's FSDP -> stage of ZeRO."""

LAYERS = ("moe-layer-freq", "moe_layer_freq")
STRATEGY = ("data-parallel-sharding-strategy", "")
HEADS = ("cp-comm-type", "cp_comm_type")
EXCHANGES = {"a2a": True, "p2p": False, "all_gather": False}
"""Ways of context parallelism -> whether groups exchange heads."""

DROPOUT = ("hidden-dropout", "hidden_dropout")
EXPERT_TENSOR = ("expert-tensor-parallel-size", "expert_tensor_parallel_size")
FP8, RECIPE, MXFP8 = "fp8-format", "fp8-recipe", "mxfp8"
FP4, FP4_RECIPE, NVFP4 = "fp4-format", "fp4-recipe", "nvfp4"
OFFLOAD, OFFLOAD_PART = "optimizer-cpu-offload", "optimizer-offload-fraction"
EACH_NODE = ("nproc-per-node", "gpus-per-node", "ntasks-per-node")
NODES = ("nnodes", "nodes")
"""Options of torchrun and of srun that say how many NPUs a node has, and how many nodes there are."""

BACKEND = ("attention-backend", "attention_backend")
BACKENDS = {"flash": "fused", "fused": "fused", "auto": "fused", "unfused": "unfused", "local": "unfused"}
"""Kernels of attention -> whether they write its scores to memory, as problem files say it."""
APART = ("no-overlap-p2p-communication", "")
DATA_OUTERMOST = ("tp", "cp", "pp", "dp")
"""Order of groups with `pipeline_outside`, the innermost first."""

WITHOUT_EFFECT = (
    "adam-beta1", "adam-beta2", "adam-eps", "apply-layernorm-1p", "apply-query-key-layer-scaling", "attention-dropout",
    "attention-softmax-in-fp32", "bias-gelu-fusion", "calculate-per-token-loss", "ckpt-format", "clip-grad",
    "cross-entropy-loss-fusion", "data-cache-path", "data-path", "dataloader-type", "decoupled-lr", "decoupled-min-lr",
    "disable-bias-linear", "distributed-backend", "distributed-timeout-minutes", "eval-interval", "eval-iters",
    "exit-duration-in-mins", "exit-interval", "exit-signal-handler", "finetune", "fp8-amax-compute-algo",
    "fp8-amax-history-len", "fp8-interval", "fp8-margin", "hysteresis", "init-method-std", "initial-loss-scale", "load",
    "log-interval", "log-num-zeros-in-grad", "log-params-norm", "log-throughput", "log-timers-to-tensorboard",
    "loss-scale", "loss-scale-window", "lr", "lr-decay-iters", "lr-decay-samples", "lr-decay-style",
    "lr-warmup-fraction", "lr-warmup-iters", "lr-warmup-samples", "make-vocab-size-divisible-by", "manual-gc",
    "manual-gc-interval", "master-addr", "master-port", "max-position-embeddings", "merge-file", "min-loss-scale",
    "min-lr", "mock-data", "moe-aux-loss-coeff", "moe-grouped-gemm", "moe-router-load-balancing-type",
    "moe-z-loss-coeff", "no-bias-dropout-fusion", "no-bias-gelu-fusion", "no-create-attention-mask-in-dataloader",
    "no-load-optim", "no-load-rng", "no-masked-softmax-fusion", "no-mmap-bin-files", "no-position-embedding",
    "no-query-key-layer-scaling", "no-save-optim", "no-save-rng", "node-rank", "norm-epsilon", "normalization",
    "num-workers", "overlap-param-gather", "position-embedding-type", "profile", "profile-ranks", "profile-step-end",
    "profile-step-start", "qk-layernorm", "rdzv-backend", "rdzv-endpoint", "rdzv-id", "rotary-base", "rotary-percent",
    "save", "save-interval", "seed", "split", "tensorboard-dir", "tensorboard-log-interval", "tiktoken-pattern",
    "timing-log-level", "tokenizer-model", "tokenizer-type", "train-iters", "train-samples", "transformer-impl",
    "use-flash-attn", "use-mcore-models", "use-megatron-fsdp", "use-rotary-position-embeddings", "vocab-file",
    "wandb-exp-name", "wandb-project", "weight-decay",
)  # fmt: skip
"""Options of Megatron-LM that change neither time nor memory nor cost here, or that another option repeats."""

DISPATCHER = ("moe-token-dispatcher-type", "moe_token_dispatcher_type")

USUAL: dict[KeyPath, tuple[Any, ...]] = {
    (DISPATCHER[0],): ("alltoall", "alltoall_seq", "flex"),
    ("optimizer",): ("adam",),
    ("recompute-method",): ("uniform",),
    ("recompute-num-layers",): (1,),
}
"""Options whose values here change nothing, while others do."""

MODULES_AGAIN = "recompute-modules"
"""Option that takes the names of modules, all words up to the next option."""

_GRANULARITY = ("recompute-granularity", "activations_checkpoint_granularity")


@dataclass(frozen=True)
class Names:
    """Place of the options of one of the two formats: a column of the tables, and the path before the names."""

    keys: Keys
    column: int
    above: KeyPath

    def path(self, names: tuple[str, str]) -> KeyPath:
        """Return where an option is."""
        return (*self.above, names[self.column])

    def size(self, name: str, *, least: int = 1) -> int | None:
        """Return a size of `OPTIONS`; None where the format or the file has none."""
        return self.keys.size(*self.path(OPTIONS[name]), least=least) if OPTIONS[name][self.column] else None

    def flag(self, name: str) -> bool:
        """Return whether an option of `FLAGS` is on."""
        return bool(FLAGS[name][self.column] and self.keys.flag(*self.path(FLAGS[name])))

    def needed(self, name: str) -> int:
        """Return a size of `OPTIONS` that has to be there."""
        return self.keys.needed(*self.path(OPTIONS[name])) or 1


def generator_of(
    names: Names, *, gated: bool, tied: bool, narrow: bool = True, pattern: str | None = None
) -> dict[str, Any]:
    """Return the model; `narrow` gated blocks without a width have two thirds of it, `pattern` has a letter a layer."""
    hidden = names.needed("hidden")
    width = names.size("feed_forward")
    if width is None:  # Megatron-LM gives SwiGLU two thirds of four times the width, in whole tiles.
        thirds = int(_WIDENED * hidden * 2 / _GATED / _ROUNDED) * _ROUNDED
        width = thirds if gated and narrow else _WIDENED * hidden
    layers = names.needed("layers") if pattern is None else len(pattern)
    experts, blocks = None, None
    if (count := names.size("experts")) is not None and count > 1:
        blocks = frequency(names.keys, names.path(LAYERS), layers) if pattern is None else None
        dense = _first_dense(blocks or [])
        experts = {
            "count": count, "per_token": names.size("per_token") or 2,
            "feed_forward": names.size("expert_width") or max(width, 1),
            "shared_feed_forward": names.size("shared_width") or 0, "dense_layers": dense,
        }  # fmt: skip
    found = without_none({
        "layers": layers, "hidden": hidden, "heads": names.needed("heads"),
        "kv_heads": names.size("kv_heads"), "head_width": names.size("head_width"), "feed_forward": max(width, 1),
        "gated": gated, "vocabulary": names.size("vocabulary"), "tied": tied,
        "sequence": names.needed("sequence"), "experts": experts, "latent": _latent(names),
    })  # fmt: skip
    if pattern is not None:
        return found | hybrid_parts(names.keys, found, pattern)
    return found | layers_of(names.keys, found, blocks)


def _latent(names: Names) -> dict[str, Any] | None:
    if not names.flag("latent"):
        return None
    return without_none({name: names.size(name) or LATENT[name] for name in LATENT})


def _first_dense(blocks: list[int]) -> int:
    """Return the number of first layers without experts, where all layers after them have some; else none."""
    first = blocks.index(1) if 1 in blocks else 0
    return first if all(blocks[first:]) else 0


def parallelism_of(names: Names, layers: int) -> dict[str, int]:
    """Return the degrees of the plan that the file states."""
    found = without_none({name: names.size(name) for name in ("tp", "cp", "pp", "ep", "vp")})
    deep, stages = names.size("virtual_layers"), found.get("pp", 1)
    if deep is not None and layers % (deep * stages):
        place = names.path(OPTIONS["virtual_layers"])
        names.keys.wrong(place, f"found {deep}; {deep} x {stages} stages do not divide the {layers} layers")
    elif deep is not None:
        found["vp"] = layers // (deep * stages)
    return found


def training_of(names: Names, *, sharded: bool, precision: str) -> dict[str, Any]:
    """Return how the model is trained, with the states `sharded`, and linear layers in a precision."""
    granularity = names.keys.choice({"full": "full", "selective": "selective"}, *names.path(_GRANULARITY))
    selective = names.flag("recompute_attention")
    bf16, fp16, precise, rounded = (names.flag(name) for name in ("bf16", "fp16", "fp32_gradients", "bf16_gradients"))
    if fp16 and not bf16:
        names.keys.unsupported(names.path(FLAGS["fp16"]), "is read as bf16, which takes as long, 0 %")
    stage = names.keys.choice(SHARDING, *names.path(STRATEGY)) if STRATEGY[names.column] else None
    overlap = {"tp": names.flag("overlap_tp"), "dp": names.flag("overlap_dp")}
    if names.flag("overlap_ep"):
        overlap["ep"] = True
    again = _modules_again(names)
    if APART[names.column] and names.keys.flag(*names.path(APART)):
        overlap["pp"] = False
    counted = [name for name, flag in zip(COUNTED, ("embedding_counted", "head_counted"), strict=True)
               if names.flag(flag)]  # fmt: skip
    dropout, attention = names.keys.share(*names.path(DROPOUT)), names.keys.choice(BACKENDS, *names.path(BACKEND))
    return without_none({
        "sequence": names.needed("sequence"), "global_batch": names.size("global_batch"),
        "micro_batch": names.size("micro_batch"), "precision": precision,
        "gradients": "bf16" if rounded or (fp16 and not (bf16 or precise)) else "fp32",
        "recompute": (again if granularity == "selective" else None)
        or granularity or ("selective" if selective else "none"),
        "sequence_parallel": names.flag("sequence_parallel"), "zero": int(sharded) if stage is None else stage,
        "attention": attention, "overlap": overlap, "balanced": True if counted == list(COUNTED) else None,
        "account_for": counted if len(counted) == 1 else None,
        "bf16_layers": _bf16_layers(names, precision),
        "ulysses": names.keys.choice(EXCHANGES, *names.path(HEADS)) or None,
        "activation_input": "fp8" if names.flag("activation_fp8") else None,
        "dropout": None if dropout is None else dropout > 0,
        "order": list(DATA_OUTERMOST) if names.flag("pipeline_outside") else None,
    })  # fmt: skip


def _bf16_layers(names: Names, precision: str) -> list[int] | None:
    """Return the layers at both ends that stay in bf16: those stated, or Megatron-LM's one; None for the default."""
    ends, given = names.flag("bf16_ends"), [names.size(f"bf16_{end}", least=0) for end in ("start", "end")]
    if ends and precision != "bf16":
        return [1 if one is None else one for one in given]
    return [0, 0] if precision == NVFP4 else None


def _modules_again(names: Names) -> str | None:
    """Return the named modules that run again; None for none, or those that Megatron-LM takes by itself."""
    given = names.keys.raw(MODULES_AGAIN) if names.column == 0 else None
    words = given if isinstance(given, list) else [given] if isinstance(given, str) else []
    unknown = [word for word in words if word not in MODULES]
    if unknown:
        why = f"is read without {', '.join(map(str, unknown))}; modules that run again by name are {', '.join(MODULES)}"
        names.keys.unsupported((MODULES_AGAIN,), why)
    return "+".join(word for word in words if word in MODULES) or None


def suggested_of(names: Names) -> tuple[tuple[str, str, Any, str], ...]:
    """Return what the file leaves to its program, where no other file says it."""
    if names.keys.raw(*names.path(OPTIONS["vocabulary"])) is not None:
        return ()
    known = vocabulary_of(names.keys.raw("tokenizer-type"), names.keys.raw("tokenizer-model"))
    if names.column == 0 and known is not None:
        return (("generator", "vocabulary", known[0], f"a vocabulary of {known[0]}, that of the tokenizer {known[1]}"),)
    sentence = f"a vocabulary of {_VOCABULARY}, which the file leaves to the tokenizer"
    return (("generator", "vocabulary", _VOCABULARY, sentence),)


def dispatch_of(names: Names, generator: dict[str, Any]) -> tuple[str, ...]:
    """Return what is assumed of the traffic of experts, whose default is another one."""
    path = names.path(DISPATCHER)
    silent = "experts" in generator and names.keys.raw(*path) is None
    return (f"that experts get their tokens by all-to-all, as with {path[-1]} alltoall",) if silent else ()


def draft_of(
    names: Names, generator: dict[str, Any], training: dict[str, Any], each: int | None, nodes: int | None
) -> Draft:
    """Return the parts of a problem that a file names, with `each` NPUs in each of its `nodes`; raise its mistakes."""
    parallelism = parallelism_of(names, generator["layers"])
    suggested, assumed = suggested_of(names), dispatch_of(names, generator)
    judge(names.keys, "megatron")
    names.keys.check()
    return Draft(
        generator, training, parallelism, each * (nodes or 1) if each else None, suggested=suggested,
        left=tuple(names.keys.left()), assumed=assumed,
    )  # fmt: skip
