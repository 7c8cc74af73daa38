"""The YAML of NeMo, whose `model` has the options of Megatron-LM."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Draft, Reader
from evo_libra.exchange.keys import Keys
from evo_libra.exchange.megatron import DISPATCHER, OPTIONS, Names, draft_of, generator_of, training_of
from evo_libra.exchange.samples import NEMO_GPT3, NEMO_LLAMA
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source

_NAME = re.compile(r"\$\{(\.?)([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\}")
_CALL = re.compile(r"\$\{(multiply|divide_ceil|divide_floor):\s*([0-9]{1,12})\s*,\s*([0-9]{1,12})\s*\}")
_WHOLE = re.compile(r"[0-9]{1,12}")
_DEEPEST = 8
"""References from one size to the next that are followed."""


def interpolated(source: Source, *parts: str) -> Source:
    """Return a source in which the sizes of some mappings are computed that refer to other whole numbers.

    References to text or to another file stay as they are.
    """
    data = dict(source.data)
    for part in parts:
        if isinstance(near := data.get(part), dict):
            data[part] = {key: _value(value, near, source.data) for key, value in near.items()}
    return replace(source, data=data)


def _value(value: Any, near: Mapping[Any, Any], whole: Mapping[Any, Any]) -> Any:  # noqa: ANN401 - data of a file
    if not isinstance(value, str) or "${" not in value:
        return value
    text = value
    for _ in range(_DEEPEST):
        text = _NAME.sub(lambda match: _found(match, near, whole), text)
        text = _CALL.sub(_computed, text)
    return int(text) if _WHOLE.fullmatch(text) else value


def _found(match: re.Match[str], near: Mapping[Any, Any], whole: Mapping[Any, Any]) -> str:
    found: Any = near if match[1] else whole
    for part in match[2].split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    reference = isinstance(found, str) and (_NAME.fullmatch(found) or _CALL.fullmatch(found) or "${" in found)
    return str(found) if type(found) is int or (reference and found != match[0]) else match[0]


def _computed(match: re.Match[str]) -> str:
    first, second = int(match[2]), int(match[3])
    if match[1] == "multiply":
        return str(first * second)
    if not second:
        return match[0]
    return str(-(-first // second) if match[1] == "divide_ceil" else first // second)


_ACTIVATIONS = {
    "gelu": False, "openai-gelu": False, "relu": False, "squared-relu": False,
    **dict.fromkeys(("geglu", "reglu", "swiglu", "fast-geglu", "fast-reglu", "fast-swiglu"), True),
}  # fmt: skip
"""Activations -> whether feed-forward blocks have three matrices."""

_OPTIMIZERS = {
    "adam": False, "adamw": False, "fused_adam": False, "megatron_fused_adam": False,
    "distributed_fused_adam": True, "mcore_distributed_optim": True,
}  # fmt: skip
"""Optimizers with Adam's states -> whether their states are sharded, as ZeRO's first stage does."""

_GRADIENTS = {"fp32": "fp32", "bf16": "bf16", "fp16": "bf16"}

_WITHOUT_EFFECT = {
    (): (
        "cluster", "defaults", "exp_manager", "hydra", "inference", "name", "restore_from_path", "run",
    ),
    ("trainer",): (
        "accelerator", "benchmark", "enable_checkpointing", "enable_model_summary", "enable_progress_bar",
        "gradient_clip_val", "limit_test_batches", "limit_val_batches", "log_every_n_steps", "logger", "max_epochs",
        "max_steps", "max_time", "num_sanity_val_steps", "replace_sampler_ddp", "use_distributed_sampler",
        "val_check_interval",
    ),
    ("model",): (
        "apex_transformer_log_level", "apply_query_key_layer_scaling", "apply_rope_fusion", "attention_dropout",
        "attention_type", "batch_p2p_comm", "bias", "bias_activation_fusion", "bias_dropout_add_fusion",
        "cpu_offloading_num_layers", "cross_entropy_loss_fusion", "data", "do_layer_norm_weight_decay", "ffn_dropout",
        "fp8_amax_compute_algo", "fp8_amax_history_len", "fp8_e4m3", "fp8_hybrid", "fp8_interval", "fp8_margin",
        "fp8_wgrad", "fsdp_grad_reduce_dtype", "fsdp_sharded_checkpoint", "fsdp_sharding_strategy",
        "gc_interval", "get_attention_mask_from_fusion", "grad_allreduce_chunk_size_mb", "grad_div_ar_fusion",
        "gradient_accumulation_fusion", "gradient_as_bucket_view", "headscale", "hysteresis", "init_method_std",
        "layernorm_epsilon", "make_vocab_size_divisible_by", "masked_softmax_fusion", "max_position_embeddings",
        "mcore_gpt", "megatron_amp_O2", "moe_aux_loss_coeff", "moe_grouped_gemm", "moe_router_load_balancing_type",
        "name", "native_amp_growth_interval", "native_amp_init_scale", "normalization", "normalize_attention_scores",
        "nsys_profile", "onnx_safe", "openai_gelu", "persist_layer_norm", "position_embedding_type", "post_process",
        "pre_process", "precision", "qkv_bias", "reduce_amax", "resume_from_checkpoint", "rotary_base",
        "rotary_percentage", "seed", "seq_len_interpolation_factor", "sync_batch_comm", "tokenizer",
        "transformer_block_type", "transformer_engine", "use_cpu_initialization", "use_scaled_init_method",
    ),
    ("model", "optim"): (
        "betas", "bucket_cap_mb", "contiguous_grad_buffer", "contiguous_param_buffer", "eps", "lr",
        "overlap_param_sync", "sched", "weight_decay",
    ),
}  # fmt: skip
"""Keys that change neither time nor memory nor cost here, by where they are."""

_HALF = ("bf16", "bf16-mixed", "16", 16, "16-mixed")
_USUAL: dict[KeyPath, tuple[Any, ...]] = {
    ("trainer", "precision"): _HALF,
    ("trainer", "accumulate_grad_batches"): (1,),
    ("model", "activations_checkpoint_method"): ("uniform",),
    ("model", "activations_checkpoint_num_layers"): (1,),
    ("model", "activations_checkpoint_layers_per_pipeline"): (0,),
    ("model", "cpu_offloading"): (False,),
    ("model", "fp16_lm_cross_entropy"): (False,),
    ("model", "fp32_residual_connection"): (False,),
    ("model", "fsdp"): (False,),
    ("model", DISPATCHER[1]): ("alltoall", "flex"),
    ("model", "num_micro_batches_with_partial_activation_checkpoints"): (0,),
    ("model", "rampup_batch_size"): ([],),
    ("model", "sharp"): (False,),
    ("model", "use_emha"): (False,),
}
"""Keys whose values here, or null, change nothing, while others do."""


def _is_gated(keys: Keys) -> bool:
    path = ("model", "activation")
    found = keys.raw(*path)
    if found is not None and not (isinstance(found, str) and found in _ACTIVATIONS):
        keys.wrong(path, f"found {found!r:.60}; allowed: {', '.join(_ACTIVATIONS)}")
    return isinstance(found, str) and _ACTIVATIONS.get(found, False)


def _is_sharded(keys: Keys) -> bool:
    path = ("model", "optim", "name")
    found = keys.raw(*path)
    if found is not None and not (isinstance(found, str) and found in _OPTIMIZERS):
        keys.unsupported(path, f"found {found!r:.60}; Adam's states are assumed")
    return isinstance(found, str) and _OPTIMIZERS.get(found, False)


def _training(names: Names) -> dict[str, Any]:
    """Return the settings of NeMo's own keys, besides those of Megatron-LM."""
    keys = names.keys
    found = training_of(names, sharded=_is_sharded(keys), precision="fp8" if keys.flag("model", "fp8") else "bf16")
    between = keys.flag("model", "overlap_p2p_comm")
    found["overlap"] |= {} if between is None else {"pp": between}
    found["overlap"]["dp"] |= bool(keys.flag("model", "optim", "overlap_grad_sync"))
    if (gradients := keys.choice(_GRADIENTS, "model", "optim", "grad_sync_dtype")) is not None:
        found["gradients"] = gradients
    if keys.flag("model", "use_flash_attention"):
        found["attention"] = "fused"
    return found


def _read(given: Source) -> Draft:
    if not isinstance(given.data.get("model"), dict):
        raise InputError(given.mistake(("model",), "a mapping is needed"))
    source = interpolated(given, "model", "trainer")
    names = Names(Keys(source), 1, ("model",))
    keys = names.keys
    keys.pass_over(*((*above, name) for above, inner in _WITHOUT_EFFECT.items() for name in inner))
    keys.expect(_USUAL)
    tied = keys.flag("model", "share_embeddings_and_output_weights") is not False
    generator = generator_of(names, gated=_is_gated(keys), tied=tied)
    training = _training(names)
    return draft_of(names, generator, training, keys.size("trainer", "devices"), keys.size("trainer", "num_nodes"))


def _recognise(source: Source) -> bool:
    model = source.data.get("model") if isinstance(source.data, dict) else None
    return isinstance(model, dict) and any(names[1] in model for names in OPTIONS.values() if names[1])


_SAMPLE = """trainer: {devices: 8, num_nodes: 16, precision: bf16}
model:
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 14336
  num_attention_heads: 32
  num_query_groups: 8
  encoder_seq_length: 8192
  activation: fast-swiglu
  share_embeddings_and_output_weights: false
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  micro_batch_size: 1
  global_batch_size: 512
  sequence_parallel: true
  optim: {name: distributed_fused_adam, lr: 0.0001}
"""

READERS = (
    Reader("nemo", "a YAML file of NeMo with `model` and `trainer`", _recognise, _read,
           (_SAMPLE, NEMO_GPT3, NEMO_LLAMA)),
)  # fmt: skip
