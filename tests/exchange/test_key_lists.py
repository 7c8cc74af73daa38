"""Keys that change the model or the job are carried or refused, whatever their format, and effects have a size."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Draft
from evo_libra.exchange.key_lists import key_lists, names_of
from evo_libra.exchange.problem_text import made_of
from evo_libra.exchange.registry import read_text_as, readers
from evo_libra.workload.models.decoder import Decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec

CASES = Path(__file__).parent / "cases"
LLAMA = readers()["hugging-face"].samples[0]
BASE = "--num-layers 12 --hidden-size 96 --num-attention-heads 4 --seq-length 64 --vocab-size 1000 "


def case(name: str) -> Draft:
    return read_text_as((CASES / name).read_text(), name)[1]


def megatron(options: str) -> Draft:
    return read_text_as(BASE + options, "run.sh")[1]


def model(draft: Draft) -> Decoder:
    return decoder_of("own", DecoderSpec.model_validate({**draft.generator, "source": "imported"}))


@pytest.mark.parametrize(("name", "total", "active"), [
    ("megatron_gpt_oss_120b.args", 116.8e9, 5.1e9 + 201088 * 2880), ("megatron_moe_freq.args", 400.7e9, 17.2e9),
])  # fmt: skip
def test_launch_scripts_have_the_published_weights(name: str, total: float, active: float) -> None:
    found = model(case(name))
    assert found.parameters == pytest.approx(total, rel=0.005)
    assert found.active_parameters == pytest.approx(active, rel=0.01)


def test_sequences_are_those_of_the_decoder_and_frozen_weights_are_refused() -> None:
    assert megatron("--decoder-seq-length 4096").training["sequence"] == 4096
    with pytest.raises(InputError, match="freeze-LM: found True; frozen weights have no gradients"):
        case("megatron_vlm.args")


def test_a_batch_that_is_not_stated_counts_accumulation() -> None:
    """64 NPUs x 4 sequences x 8 steps; tensor and sequence parallelism are those of the file."""
    drafts = {"ds.json": case("deepspeed_accumulation.json"), "config.json": read_text_as(LLAMA, "config.json")[1]}
    (workload,) = made_of(drafts, "own", npus=64, npu="h100-80gb", question="design").data["workloads"]
    assert workload["training"]["global_batch"] == 2048
    assert workload["parallelism"] == {"tp": 4, "cp": 2}


def test_shards_of_mics_are_copies_of_shards() -> None:
    text = '{"train_batch_size": 64, "zero_optimization": {"stage": 3, "mics_shard_size": 8}}'
    drafts = {"ds.json": read_text_as(text, "ds.json")[1], "config.json": read_text_as(LLAMA, "config.json")[1]}
    (workload,) = made_of(drafts, "own", npus=64, npu="h100-80gb", question="design").data["workloads"]
    assert workload["training"]["replicate"] == 8


def test_calculon_says_the_rate_of_matrices_by_type() -> None:
    assert case("calculon_system_a100_80g.json").npu == "a100-80gb"


@pytest.mark.parametrize(("options", "parts"), [
    ("--num-experts 4 --moe-layer-freq ([1]*3+[0]*1)*3", ["E", "E", "E", "-"] * 3),
    ("--num-experts 4 --moe-layer-freq (([1]*3+[0]*1)*3)", ["E", "E", "E", "-"] * 3),
    ("--num-experts 4 --moe-layer-freq 3", ["E", "-", "-"] * 4),
    ("--num-experts 4 --moe-layer-freq [0]*2+[1]*10", ["-"] * 2 + ["E"] * 10),
])  # fmt: skip
def test_experts_are_in_the_layers_of_a_frequency(options: str, parts: list[str]) -> None:
    stack = model(megatron(options)).stack
    assert ["E" if stack.kinds[kind][1].experts > 1 else "-" for kind in stack.order] == parts


def test_windows_skip_every_nth_layer() -> None:
    stack = model(megatron("--window-size 128,0 --window-attn-skip-freq 3")).stack
    assert [getattr(stack.kinds[kind][0], "window", None) for kind in stack.order] == [128, 128, None] * 4


def test_a_hybrid_pattern_is_a_layer_a_letter() -> None:
    found = megatron("--hybrid-override-pattern M-M*|ME --num-experts 4 --mamba-num-heads 8 --mamba-head-dim 16")
    stack = model(found).stack
    kinds = [type(stack.kinds[kind][0]).__name__ for kind in stack.order]
    assert kinds == ["StateSpace", "FeedForward", "StateSpace", "GroupedAttention", "StateSpace", "RoutedFeedForward"]
    with pytest.raises(InputError, match="hybrid-layer-pattern: found 'MX' with X"):
        megatron("--hybrid-layer-pattern MX")


def test_a_gated_delta_rule_is_in_the_layers_of_its_frequency() -> None:
    variant = "--swiglu --experimental-attention-variant gated_delta_net --linear-attention-freq 4"
    stack = model(megatron(variant)).stack
    assert [type(stack.kinds[kind][0]).__name__ == "GatedDelta" for kind in stack.order] == [
        True,
        True,
        True,
        False,
    ] * 3


@pytest.mark.parametrize(("options", "words"), [
    ("--moe-latent-size 64", "moe-latent-size: found 64; latent experts are not computed"),
    ("--heterogeneous-layers-config-path x.json", "heterogeneous-layers-config-path: found 'x.json'; layers of"),
    ("--encoder-num-layers 4", "encoder-num-layers: found 4"),
    ("--use-checkpoint-args", "use-checkpoint-args: found True; sizes come from a checkpoint"),
    ("--num-twisted-heads 3", "num-twisted-heads: found 3; this key is not known"),
    ("--num-experts 4 --moe-layer-freq 12.5", "moe-layer-freq: found 12.5; an n of every n-th layer"),
    ("--num-experts 4 --moe-layer-freq [0]*3", "is needed for 12 layers"),
    ("--num-experts 4 --moe-layer-freq [0]*99999999", "is needed for 12 layers"),
])  # fmt: skip
def test_options_of_other_models_are_refused(options: str, words: str) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        megatron(options)


def test_effects_have_a_size() -> None:
    for lists in key_lists().values():
        for key, effect in lists.approximated.items():
            assert re.search(r"[0-9] %|at most|a third|up to|longer by|the problem", effect), (key, effect)


WORDS = ("layer", "attn", "expert", "moe", "head", "hidden", "window", "mamba", "latent", "rank", "encoder", "stream")
NAMES = ("megatron-arguments", "deepspeed", "nemo", "calculon-application", "calculon-execution")


def with_key(name: str, text: str, key: str, value: Any) -> str:
    """Return a text of a format with a further key."""
    if name == "megatron-arguments":
        return f"{text} --{key} {value}"
    if name == "nemo":
        return text.replace("model:\n", f"model:\n  {key}: {value}\n", 1)
    return text.replace("{", '{"' + key + f'": {value}, ', 1)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(word=st.sampled_from(WORDS), start=st.text("bcdfgh", min_size=1, max_size=6), value=st.integers(1, 99))
def test_an_unknown_key_of_the_architecture_is_never_passed_over(name: str, word: str, start: str, value: int) -> None:
    text = readers()[name].samples[0]
    key = f"{start}-{word}-zz"
    if name != "megatron-arguments":
        key = key.replace("-", "_")
    try:
        left = read_text_as(with_key(name, text, key, value), "file", name)[1].left
    except InputError as error:
        assert key in str(error)
    else:
        assert any(key in one and " % " in one for one in left)


def test_a_tokenizer_that_is_known_says_the_vocabulary() -> None:
    text = BASE.replace("--vocab-size 1000", "--tokenizer-type HuggingFaceTokenizer --tokenizer-model Qwen/Qwen3-8B")
    ((part, key, value, sentence),) = read_text_as(text, "run.sh")[1].suggested
    assert (part, key, value) == ("generator", "vocabulary", 151936)
    assert sentence == "a vocabulary of 151936, that of the tokenizer Qwen/Qwen3-8B"


def test_programs_that_train_no_decoder_are_refused() -> None:
    with pytest.raises(InputError, match=r"run\.sh:2:1: program: found pretrain_bert\.py; decoders are computed"):
        read_text_as(f"set -e\ntorchrun pretrain_bert.py {BASE}", "run.sh")


@given(st.lists(st.text("ab-*?", min_size=1, max_size=6), max_size=8), st.text("ab-", max_size=6))
def test_names_by_kind_are_those_of_each_name(names: list[str], key: str) -> None:
    assert names_of(tuple(names)).have(key) == any(fnmatchcase(key, name) for name in names)
