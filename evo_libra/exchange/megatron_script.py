"""Launch scripts and argument lines of Megatron-LM."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from evo_libra.exchange.arguments import parse_arguments
from evo_libra.exchange.formats import Draft, Reader
from evo_libra.exchange.keys import Keys
from evo_libra.exchange.megatron import (
    EACH_NODE,
    EXPERT_TENSOR,
    FLAGS,
    FP4,
    FP4_RECIPE,
    FP8,
    MODULES_AGAIN,
    MXFP8,
    NODES,
    NVFP4,
    OFFLOAD,
    OFFLOAD_PART,
    OPTIONS,
    RECIPE,
    SHARDING,
    USUAL,
    WITHOUT_EFFECT,
    Names,
    draft_of,
    generator_of,
    training_of,
)
from evo_libra.exchange.megatron_layers import pattern_of
from evo_libra.exchange.samples import MEGATRON_GPT3, MEGATRON_LLAMA3, MEGATRON_SCRIPT
from evo_libra.files.source import Source
from evo_libra.files.yaml_reader import Position


def _first(keys: Keys, options: tuple[str, ...]) -> int | None:
    """Return the size of the first of some options that the file has."""
    found = [keys.size(option) for option in options]
    return next((size for size in found if size is not None), None)


def _read_arguments(source: Source) -> Draft:
    names = Names(Keys(source), 0, ())
    keys = names.keys
    hybrid = pattern_of(keys)
    narrow, quick = names.flag("swiglu"), bool(keys.flag("quick-geglu"))
    generator = generator_of(
        names, gated=narrow or quick, tied=not names.flag("untied"), narrow=narrow,
        pattern=None if hybrid is None else hybrid[0],
    )  # fmt: skip
    generator |= _ends_of(keys, gated=generator["gated"])
    if predictors := keys.size("mtp-num-layers", least=0) or (0 if hybrid is None else hybrid[1]):
        generator["predictors"] = predictors
    if hybrid is not None:
        keys.pass_over(("spec",), ("num-layers",), *((f"hybrid-{part}-ratio",) for part in ("attention", "mlp")))
    if (program := keys.raw(_PROGRAM)) is not None:
        keys.wrong((_PROGRAM,), f"found {program}; decoders are computed, which pretrain_gpt.py trains")
    names.flag("grouped")
    keys.pass_over(*((option,) for option in WITHOUT_EFFECT))
    keys.expect(USUAL)
    if keys.size(*names.path(EXPERT_TENSOR)) not in (None, 1):
        keys.unsupported(
            names.path(EXPERT_TENSOR), "is not carried over; experts are whole on their NPUs; 0 % of weights"
        )
    if keys.flag(OFFLOAD) is not None:
        why = "is not carried over; `training.optimizer.placement` says it, with hosts in `system`"
        keys.unsupported((OFFLOAD,), why)
        keys.raw(OFFLOAD_PART)
    training = training_of(names, sharded=names.flag("distributed_optimizer"), precision=_precision_of(keys))
    training |= _sharding_of(keys)
    generator["sequence"] = training["sequence"] = _decoded(keys, generator["sequence"])
    return draft_of(names, generator, training, _first(keys, EACH_NODE), _first(keys, NODES))


def _ends_of(keys: Keys, *, gated: bool) -> dict[str, Any]:
    """Return biases and learned positions, where they are not as in GPT."""
    found: dict[str, Any] = {}
    rotary = keys.raw("position-embedding-type") in _NOT_LEARNED
    if not gated and keys.flag("disable-bias-linear"):
        found["biased"] = False
    elif not gated and (rotary or keys.flag("use-rotary-position-embeddings") or keys.flag("no-position-embedding")):
        found["positions"] = 0
    return found


_NOT_LEARNED = ("rope", "yarn", "mrope", "none", "relative")
"""Kinds of positions without weights of their own."""


def _sharding_of(keys: Keys) -> dict[str, Any]:
    """Return the settings of PyTorch's FSDP, and of several instances of the optimizer."""
    found: dict[str, Any] = {"zero": SHARDING["optim_grads_params"]} if keys.flag("use-torch-fsdp2") else {}
    instances = keys.size("num-distributed-optimizer-instances")
    return found | ({} if instances in (None, 1) else {"replicate": instances})


def _decoded(keys: Keys, sequence: int) -> int:
    """Return the tokens of the decoder's sequences: those of its own where pictures have another number."""
    own = keys.size("decoder-seq-length")
    if own is not None and keys.raw("encoder-seq-length") is not None:
        keys.wrong(("encoder-seq-length",), "found it with decoder-seq-length; encoders are not computed")
    return own or sequence


def _precision_of(keys: Keys) -> str:
    """Return the precision of linear layers; of the recipes of fp8 one is another kernel, with scales of blocks."""
    if keys.raw(FP4) is not None:
        keys.raw(FP4_RECIPE)
        return NVFP4
    low, recipe = keys.raw(FP8) is not None or bool(keys.flag("fp8")), keys.raw(RECIPE)
    if not low:
        return "bf16"
    return MXFP8 if recipe == MXFP8 else "fp8"


def _is_arguments(source: Source) -> bool:
    return isinstance(source.data, dict) and any(names[0] in source.data for names in OPTIONS.values())


_FLAGS = (
    OFFLOAD,
    "quick-geglu",
    "use-torch-fsdp2",
    "disable-bias-linear",
    "attention-output-gate",
    "qk-layernorm",
    "squared-relu",
)

_ENCODERS = re.compile(r"\bpretrain_(bert|t5|ict|retro|vision_\w{1,40})\.py")
"""Programs of Megatron-LM that train no decoder."""

_PROGRAM = "program"


def _parse(text: str, file: str) -> Source:
    """Return the options of a script, with its program where that trains no decoder."""
    flags = frozenset((*_FLAGS, *(name for name, _ in FLAGS.values())))
    source = parse_arguments(text, file, flags=flags, lists=(MODULES_AGAIN,))
    if (program := _ENCODERS.search(text)) is None:
        return source
    at = Position(file, text.count("\n", 0, program.start()) + 1, 1)
    return replace(source, data={**source.data, _PROGRAM: program[0]}, places={**source.places, (_PROGRAM,): at})


READERS = (
    Reader("megatron-arguments", "a launch script or an argument line of Megatron-LM", _is_arguments, _read_arguments,
           samples=(MEGATRON_SCRIPT, MEGATRON_GPT3, MEGATRON_LLAMA3), parse=_parse),
)  # fmt: skip
