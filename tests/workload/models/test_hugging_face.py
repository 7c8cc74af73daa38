"""What files of models say and is not computed: refused, or named with the size of its effect."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from effort import THOROUGH
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.exchange.conformance import structural_mutations
from evo_libra.exchange.hugging_face import READERS
from evo_libra.files.source import parse_source
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.workload.models.decoder import Decoder, decoder, decoder_of
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.hugging_face import Configuration, configuration_of
from evo_libra.workload.models.layers.attention import GroupedAttention, attended
from evo_libra.workload.plans.plans import one_plan
from evo_libra.workload.serving.memory import cache_bytes
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.training.training_step import model_flop

LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "max_position_embeddings": 32768, "vocab_size": 32000,
    "hidden_act": "silu",
}  # fmt: skip
MISTRAL = {**LLAMA, "model_type": "mistral"}


def read(config: dict[str, Any]) -> Configuration:
    return configuration_of(parse_source(json.dumps(config), "config.json"))


def refusal(config: dict[str, Any]) -> str:
    with pytest.raises(InputError) as error:
        read(config)
    assert len(error.value.mistakes) == 1
    assert error.value.mistakes[0].line == 1
    return str(error.value)


def windows_of(model: Decoder) -> list[int]:
    """Return the windows of the layers that have one."""
    parts = [model.stack.kinds[kind][0] for kind in model.stack.order]
    return [one.window for one in parts if isinstance(one, GroupedAttention) and one.window is not None]


def test_the_work_of_a_window_is_that_by_hand() -> None:
    """Mistral 7B at 32,768 tokens: 6 x 7.11e9 FLOP of weights, 3 x 32 x 256 x 32,768 of attention a layer.

    A window of 4,096 tokens leaves 2 / 8 - 1 / 64 = 15 / 64 of the 25.77e9 of all 32 layers: 42.67e9 + 25.77e9 over
    42.67e9 + 6.04e9 is 1.405.
    """
    full, window = (read({**MISTRAL, "sliding_window": tokens}).model for tokens in (None, 4096))
    assert round(model_flop(full, 32768) / model_flop(window, 32768), 3) == 1.405


def test_a_cache_of_windows_is_that_by_hand() -> None:
    """52 of 62 layers keep 1,024 of 8,192 tokens: 62 over 10 + 52 / 8 layers is 3.758."""
    kinds = ["full_attention" if (at + 1) % 6 == 0 else "sliding_attention" for at in range(62)]
    config = {**LLAMA, "num_hidden_layers": 62, "sliding_window": 1024}
    full, mixed = (
        ServingSetup(read({**config, "layer_types": listed}).model, accelerator("h100-80gb"), 8192, 2)
        for listed in (["full_attention"] * 62, kinds)
    )
    whole, kept = (float(cache_bytes(setup, one_plan(), 8192.0)[0]) for setup in (full, mixed))
    assert round(whole / kept, 3) == 3.758


def test_the_work_of_prediction_layers_is_that_by_hand() -> None:
    """A layer of 32, of 218.1e6 weights and 3 x 32 x 256 x 4,096 FLOP, with 2 x 4,096^2 weights and the head again."""
    plain, predicting = read(LLAMA).model, read({**LLAMA, "num_nextn_predict_layers": 1}).model
    layer = 6 * (2 * 4096 * (4096 + 1024) + 3 * 4096 * 14336 + 2 * 4096) + 3 * 32 * 256 * 4096
    ends = 6 * (2 * 4096**2 + 3 * 4096 + 32000 * 4096)
    assert model_flop(predicting, 4096) - model_flop(plain, 4096) == pytest.approx(layer + ends, rel=1e-12)
    assert predicting.parameters == plain.parameters


@pytest.mark.parametrize("config", [
    {**MISTRAL, "sliding_window": None},
    {**MISTRAL, "sliding_window": 4096},
    {**MISTRAL, "sliding_window": 8192},
    {**LLAMA, "model_type": "qwen2", "sliding_window": 128, "use_sliding_window": False, "max_window_layers": 0},
    {**LLAMA, "model_type": "qwen2", "sliding_window": 128, "max_window_layers": 0},
    {**LLAMA, "model_type": "qwen3", "sliding_window": 128, "use_sliding_window": True, "max_window_layers": 32},
    {**LLAMA, "layer_types": ["full_attention"] * 32, "sliding_window": 128},
    {**LLAMA, "model_type": "smollm3", "no_rope_layers": [1, 1, 1, 0] * 8, "sliding_window": 128},
    {**LLAMA, "attn_layer_period": None, "mamba_d_state": 0, "attention_bias": False, "rope_theta": 1e4},
    {**LLAMA, "attn_config": {"attn_type": "multihead_attention", "attn_impl": "flash"}, "model_type": "mpt"},
], ids=str)  # fmt: skip
def test_what_has_no_effect_passes_without_a_word(config: dict[str, Any]) -> None:
    assert read(config).omissions() == []


@pytest.mark.parametrize(("config", "layers", "tokens"), [
    ({**MISTRAL}, 32, 4096),
    ({**LLAMA, "sliding_window": 512}, 32, 512),
    ({**MISTRAL, "use_sliding_window": None}, 32, 4096),
    ({**LLAMA, "model_type": "phi3", "sliding_window": 2047}, 32, 2047),
    ({**LLAMA, "model_type": "starcoder2", "sliding_window": 4096}, 32, 4096),
    ({**LLAMA, "model_type": "gemma2"}, 16, 4096),
    ({**LLAMA, "model_type": "gemma3_text", "sliding_window": 1024}, 27, 1024),
    ({**LLAMA, "model_type": "gemma3_text", "sliding_window": 1024, "sliding_window_pattern": 4}, 24, 1024),
    ({**LLAMA, "model_type": "gemma3_text", "sliding_window": 512, "_sliding_window_pattern": 2}, 16, 512),
    ({**LLAMA, "model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 21}, 11, 4096),
    ({**LLAMA, "model_type": "qwen2_moe", "use_sliding_window": True, "max_window_layers": 21}, 11, 4096),
    ({**LLAMA, "model_type": "qwen3_moe", "use_sliding_window": True, "sliding_window": 99}, 32, 99),
    ({**LLAMA, "model_type": "llama4_text"}, 24, 8192),
    ({**LLAMA, "model_type": "llama4_text", "attention_chunk_size": 64, "no_rope_layers": [1, 0] * 16}, 16, 64),
    ({**LLAMA, "model_type": "smollm3", "use_sliding_window": True, "sliding_window": 64}, 8, 64),
    ({**LLAMA, "model_type": "gpt_neo"}, 16, 256),
    ({**LLAMA, "model_type": "gpt_neo", "attention_types": [[["global", "local", "local", "local"], 8]]}, 24, 256),
    ({**LLAMA, "model_type": "gpt_neo", "attention_layers": ["local"] * 32, "window_size": 8}, 32, 8),
    ({**LLAMA, "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 16}, 16, 128),
    ({**LLAMA, "attention_chunk_size": 64, "layer_types": ["chunked_attention"] * 32}, 32, 64),
    ({**LLAMA, "model_type": "gemma3_text", "_sliding_window_pattern": 6, "sliding_window": 64,
      "layer_types": ["sliding_attention"] * 30 + ["full_attention"] * 2}, 30, 64),
    ({**LLAMA, "model_type": "gpt_oss", "num_local_experts": 4, "num_experts_per_tok": 2, "experts_per_token": 2},
     16, 128),
], ids=str)  # fmt: skip
def test_every_class_has_windows_in_its_own_layers(config: dict[str, Any], layers: int, tokens: int) -> None:
    """Layers and defaults are those of the configurations of Hugging Face's transformers."""
    assert windows_of(read(config).model) == [tokens] * layers


@pytest.mark.parametrize(("changes", "words"), [
    ({"attn_layer_period": 8}, "attn_layer_period: found 8; it describes layers that are not computed"),
    ({"mamba_d_state": 16}, "mamba_d_state: found 16"),
    ({"full_attention_interval": 4}, "full_attention_interval: found 4"),
    ({"linear_num_value_heads": 32}, "linear_num_value_heads: found 32"),
    ({"index_topk": 2048}, "index_topk: found 2048"),
    ({"hybrid_override_pattern": "M-M*"}, "hybrid_override_pattern: found 'M-M*'"),
    ({"num_kv_shared_layers": 10}, "num_kv_shared_layers: found 10"),
    ({"hidden_size_per_layer_input": 256}, "hidden_size_per_layer_input: found 256"),
    ({"attention_of_my_own": "twisted"}, "attention_of_my_own: found 'twisted'"),
    ({"sliding_windo": 512}, "did you mean 'sliding_window'?"),
    ({"attention_chunk_size": 64}, "attention_chunk_size: found 64"),
    ({"add_cross_attention": True}, "add_cross_attention: found True"),
    ({"attn_config": {"attn_type": "multiquery_attention"}}, "attn_config: found {'attn_type'"),
    ({"layer_types": ["linear_attention", "full_attention"] * 16},
     "layer_types: found linear_attention in 16 of 32 layers, which is not computed; allowed: full_attention"),
    ({"layer_types": ["full_attention"] * 31}, "layer_types: found ['full_attention'"),
    ({"layer_types": "mamba"}, "layer_types: found 'mamba'; a list of 32 is needed"),
    ({"layer_types": ["sliding_attention"] * 32}, "the key `sliding_window` is required, tokens of a window"),
    ({"use_sliding_window": "yes", "sliding_window": 8}, "use_sliding_window: found 'yes'; true or false is needed"),
    ({"sliding_window": 0}, "sliding_window: found 0; a whole number from 1"),
    ({"model_type": "gpt_neo", "attention_types": [["global", "x"]]}, "attention_types: found [['global', 'x']]"),
    ({"model_type": "llama4_text", "no_rope_layers": [1, 0]}, "no_rope_layers: found [1, 0]; a list of 32"),
    ({"num_hidden_layers": 10**9}, "num_hidden_layers: found 1000000000; models of up to 10,000 layers are read"),
], ids=str)  # fmt: skip
def test_what_makes_another_model_is_refused_in_one_sentence(changes: dict[str, Any], words: str) -> None:
    found = refusal({**LLAMA, **changes})
    assert found.startswith("config.json:1:")
    assert words in found


def test_a_refused_key_can_be_turned_off() -> None:
    assert "null leaves it out" in refusal({**LLAMA, "index_topk": 2048})
    assert read({**LLAMA, "index_topk": None}).model == read(LLAMA).model


def test_keys_that_are_not_known_are_listed() -> None:
    groups, sentence = read({**LLAMA, "n_group": 8, "colour": "blue"}).omissions()
    assert "n_group: experts are chosen among all groups" in groups
    assert sentence.endswith("keys that are not known and not read: colour")


def test_the_other_models_of_a_file_are_listed_and_not_refused() -> None:
    whole = {"model_type": "llava", "text_config": LLAMA, "vision_config": {"hidden_size": 8}, "window_size": 7}
    (sentence,) = read(whole).omissions()
    assert sentence.endswith("not read: vision_config, window_size")


def test_a_shared_all_reduce_is_named() -> None:
    (sentence,) = read({**LLAMA, "model_type": "falcon", "parallel_attn": True}).omissions()
    assert "parallel_attn: attention and feed-forward block share an all-reduce" in sentence


@given(st.integers(1, 300), st.integers(1, 300), st.booleans())
def test_a_window_has_the_scores_that_a_count_has(tokens: int, sequence: int, chunked: bool) -> None:  # noqa: FBT001 - drawn
    """A token at a place p of n has min(p, W) scores, or p mod W of a chunk; half a score is that of the continuum."""
    first = [at // tokens * tokens if chunked else max(at - tokens, 0) for at in range(sequence)]
    counted = sum(at - start + 0.5 for at, start in enumerate(first))
    exact = attended(sequence, tokens, chunked=chunked) / sequence
    assert exact == pytest.approx(counted / (sequence**2 / 2), abs=1.0 / sequence)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_longer_sequences_lose_more_to_a_window(tokens: int, sequence: int) -> None:
    once, twice = (attended(size, tokens) / size for size in (sequence, 2 * sequence))
    assert 0 < twice <= once <= 1
    assert attended(tokens, tokens) == tokens


def test_attention_is_what_grows_with_the_sequence() -> None:
    """The effect of windows rests on it: FLOP of weights at no sequence, those of attention in proportion."""
    model = read(LLAMA).model
    weights = model_flop(model, 0)
    assert model_flop(model, 8192) - weights == pytest.approx(2 * (model_flop(model, 4096) - weights), rel=1e-12)


def test_gpt_oss_has_the_weights_that_its_model_card_prints() -> None:
    """116.83e9 in all, of which a token passes 5.13e9 beside the embedding."""
    found = read({
        "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64, "vocab_size": 201088,
        "num_attention_heads": 64, "num_key_value_heads": 8, "num_hidden_layers": 36, "num_local_experts": 128,
        "num_experts_per_tok": 4, "sliding_window": 128, "tie_word_embeddings": False, "hidden_act": "silu",
    })  # fmt: skip
    assert found.model.parameters == pytest.approx(116.83e9, rel=0.005)
    assert found.model.active_parameters - 201088 * 2880 == pytest.approx(5.13e9, rel=0.005)
    assert windows_of(found.model) == [128] * 18


PUBLISHED = json.loads((Path(__file__).parents[2] / "golden" / "model_configurations.json").read_text())
"""Trimmed configurations with the numbers of weights that were published, and where."""


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in PUBLISHED])
def test_models_have_the_weights_that_were_published(row: dict[str, Any]) -> None:
    """Within 0.5 %, or within half of the last digit that is printed.

    `elsewhere` are weights that a publisher counts and the language model does not have, `less` those the other way
    round.
    """
    found = read(row["config"])
    assert [row["omits"] in one for one in found.omissions() if "under 0." not in one] == [True] * ("omits" in row)
    weights = found.model.parameters + row.get("elsewhere", 0) - row.get("less", 0)
    assert abs(weights - row["parameters"]) <= max(0.005 * row["parameters"], row.get("tolerance", 0))
    if "active" in row:
        embedding = found.model.embedding.parameters() if row.get("active_without_embedding") else 0
        active = found.model.active_parameters - embedding - row.get("active_less", 0)
        assert abs(active - row["active"]) <= max(0.005 * row["active"], row["active_tolerance"])


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in PUBLISHED])
def test_a_configuration_is_the_model_of_the_catalogue(row: dict[str, Any]) -> None:
    """But for layers of multi-token prediction, which no model of the catalogue has."""
    own = {"name", "source", "year", "order"}
    read_one, known = read(row["config"]).model.without_predictors, decoder(row["name"])
    assert read_one.model_dump(exclude=own) == known.model_dump(exclude=own)
    assert read_one.stack == known.stack


def kinds_of(name: str) -> list[tuple[str, ...]]:
    (row,) = [row for row in PUBLISHED if row["name"] == name]
    model = read(row["config"]).model
    return [tuple(type(part).__name__ for part in model.stack.kinds[kind]) for kind in model.stack.order]


def test_layers_are_in_the_order_of_the_configuration() -> None:
    delta, full = ("GatedDelta", "RoutedFeedForward"), ("GroupedAttention", "RoutedFeedForward")
    assert kinds_of("qwen3-next-80b-a3b") == [delta, delta, delta, full] * 12
    jamba = [one for pair in kinds_of("jamba-1.5-large")[:8] for one in pair[:1]]
    assert jamba == ["SelectiveScan"] * 4 + ["GroupedAttention"] + ["SelectiveScan"] * 3
    blocks = [pair[1] for pair in kinds_of("jamba-1.5-large")[:4]]
    assert blocks == ["FeedForward", "RoutedFeedForward"] * 2
    nemotron = kinds_of("nemotron-h-8b")
    assert nemotron[:8] == [("StateSpace",), ("FeedForward",)] * 3 + [("StateSpace",), ("GroupedAttention",)]
    kimi = kinds_of("kimi-linear-48b-a3b")
    assert kimi[0] == ("GatedDelta", "FeedForward")
    assert [at + 1 for at, one in enumerate(kimi) if one[0] != "GatedDelta"] == [4, 8, 12, 16, 20, 24, 27]
    assert {one[0] for one in kinds_of("deepseek-v3.2")} == {"SparseLatentAttention"}
    assert [one[1] for one in kinds_of("llama-4-maverick")] == ["FeedForward", "RoutedFeedForward"] * 24


def test_every_fourth_layer_of_llama_4_attends_to_the_whole_sequence() -> None:
    """Rotary positions and chunks of 8,192 tokens are in the three layers before it."""
    (row,) = [row for row in PUBLISHED if row["name"] == "llama-4-maverick"]
    model = read(row["config"]).model
    parts = [model.stack.kinds[kind][0] for kind in model.stack.order]
    assert [isinstance(one, GroupedAttention) and one.chunked for one in parts] == [True, True, True, False] * 12


def test_llama_4_maverick_has_the_weights_by_hand() -> None:
    """48 layers of attention, 24 dense blocks, 24 layers of 128 experts and a shared one, a router, norms, two ends."""
    attention = 5120 * 128 * (2 * 40 + 2 * 8)
    dense, expert = 3 * 5120 * 16384, 3 * 5120 * 8192
    layers = 48 * (attention + 2 * 5120) + 24 * (dense + 129 * expert + 128 * 5120)
    assert decoder("llama-4-maverick").parameters == layers + 5120 + 2 * 202048 * 5120
    active = layers - 24 * 127 * expert + 5120 + 2 * 202048 * 5120
    assert decoder("llama-4-maverick").active_parameters == active


@pytest.mark.parametrize(("changes", "blocks"), [
    ({"decoder_sparse_step": 2}, ["FeedForward", "RoutedFeedForward"] * 16),
    ({"mlp_only_layers": [0, 3]}, ["FeedForward", *["RoutedFeedForward"] * 2, "FeedForward",
                                   *["RoutedFeedForward"] * 28]),
    ({"moe_layer_freq": 2}, ["RoutedFeedForward", "FeedForward"] * 16),
], ids=str)  # fmt: skip
def test_experts_are_in_the_layers_that_a_configuration_says(changes: dict[str, Any], blocks: list[str]) -> None:
    model = read({**LLAMA, "num_local_experts": 4, "num_experts_per_tok": 2, **changes}).model
    assert [type(model.stack.kinds[kind][1]).__name__ for kind in model.stack.order] == blocks


@pytest.mark.parametrize(("changes", "words"), [
    ({"model_type": "nemotron_h", "hybrid_override_pattern": "MX", "mamba_num_heads": 8, "mamba_head_dim": 8,
      "n_groups": 1, "ssm_state_size": 8}, "hybrid_override_pattern: found 'MX'; a letter of M, * or -"),
    ({"model_type": "kimi_linear"}, "linear_attn_config: found None; `num_heads`, `head_dim` and `kda_layers`"),
    ({"model_type": "minimax_m2", "attn_type_list": [0, 1]}, "attn_type_list: found [0, 1]; only 1, full attention"),
    ({"num_local_experts": 4, "num_experts_per_tok": 2, "mlp_only_layers": 3},
     "mlp_only_layers: found 3; a list of numbers of layers is needed"),
], ids=str)  # fmt: skip
def test_layers_that_are_not_known_are_refused(changes: dict[str, Any], words: str) -> None:
    assert words in refusal({**LLAMA, **changes})


@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in PUBLISHED])
def test_an_imported_model_has_the_layers_of_the_configuration(row: dict[str, Any]) -> None:
    source = parse_source(json.dumps({"architectures": ["Any"], **row["config"]}), "config.json")
    (reader,) = READERS
    values = {**reader.read(source).generator, "source": "imported"}
    imported, model = decoder_of("own", DecoderSpec.model_validate(values)), configuration_of(source).model
    assert imported.stack == model.stack
    assert imported.predictors == model.predictors


@pytest.mark.costly
@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in PUBLISHED])
def test_changed_configurations_are_read_or_refused(row: dict[str, Any]) -> None:
    for text in structural_mutations(json.dumps(row["config"]), 60 if THOROUGH else 20):
        with suppress(InputError):
            configuration_of(parse_source(text, "config.json"))
