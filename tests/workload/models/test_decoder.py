"""Language models: their numbers of weights against those published, and Hugging Face configurations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evo_libra
from evo_libra.errors import InputError
from evo_libra.workload.layers.generators import load_models
from evo_libra.workload.models.decoder import Decoder, decoder, decoder_of, load_decoders
from evo_libra.workload.models.decoder_spec import DecoderSpec
from evo_libra.workload.models.hugging_face import read_decoder

ROWS = json.loads((Path(evo_libra.__file__).parent / "validation" / "data" / "training_rows.json").read_text())["rows"]

EXACT = {
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.3-70b": 70_553_706_496,
    "mistral-7b": 7_241_732_096,
    "llama-3.1-405b": 405_853_388_800,
    "mixtral-8x7b": 46_702_792_704,
    "mixtral-8x22b": 140_630_071_296,
    "deepseek-v3": 671_026_419_200 - 58 * 256,  # without the biases of its routers
    "qwen3-235b-a22b": 235_093_634_560 - 94 * 256,  # without the norms of its heads
}
"""Numbers of weights on the pages of the models on Hugging Face."""

GOLDEN = Path(__file__).parents[2] / "golden" / "model_configurations.json"
CONFIGURED = {row["name"] for row in json.loads(GOLDEN.read_text())}
"""Models whose configurations and numbers of weights are recorded; `test_hugging_face.py` compares them."""

PRINTED = {
    "gpt-3-175b": (174.6e9, 0.05e9),
    "megatron-1.7b": (1.7e9, 0.05e9),
    "megatron-3.6b": (3.6e9, 0.05e9),
    "megatron-7.5b": (7.5e9, 0.05e9),
    "megatron-18b": (18.4e9, 0.05e9),
    "megatron-39b": (39.1e9, 0.05e9),
    "megatron-76b": (76.1e9, 0.05e9),
    "megatron-145b": (145.6e9, 0.05e9),
    "megatron-310b": (310.1e9, 0.05e9),
    "megatron-530b": (529.6e9, 0.05e9),
    "megatron-1t": (1008.0e9, 0.05e9),
    "megatron-22b": (22e9, 0.5e9),
    "opt-175b": (175e9, 0.5e9),
    "megatron-175b": (174.6e9, 0.05e9),
    "turing-nlg-17b": (17e9, 0.5e9),
    "turing-nlg-530b": (530e9, 0.5e9),
    "msft-1t": (1.08e12, 0.01e12),  # "a trillion"; 12 x layers x width squared
    # Their files of weights are in `test_published_totals.py`, to the last weight.
    "glm-5": (744e9, 0.5e9),
    "kimi-k2.5": (1e12, 0.05e12),
    "qwen3.5-27b": (27e9, 0.5e9),
    "qwen3.5-35b-a3b": (34.66e9, 0.005e9),  # 35B with the vision encoder
    "qwen3.5-122b-a10b": (122e9, 0.5e9),
    "qwen3.5-397b-a17b": (396.35e9, 0.005e9),  # 397B with the vision encoder
    "qwen3.6-35b-a3b": (34.66e9, 0.005e9),
    "qwen3.8-27b": (27e9, 0.5e9),
    "qwen3.8-2.4t-a95b": (2.4e12, 0.05e12),
}
"""Numbers of weights as papers print them, and half of their last digit."""

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
INTERN = LLAMA | {"model_type": "internlm2"}
"""A type whose class no release of transformers has, so that no key has a default."""
MIXTRAL = LLAMA | {
    "model_type": "mixtral",
    "vocab_size": 32000,
    "max_position_embeddings": 32768,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}
DEEPSEEK = {
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "vocab_size": 129280,
    "max_position_embeddings": 163840,
    "hidden_act": "silu",
}
QWEN = {
    "model_type": "qwen3_moe",
    "hidden_size": 4096,
    "num_hidden_layers": 94,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 12288,
    "moe_intermediate_size": 1536,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "hidden_act": "silu",
}
GPT2 = {
    "model_type": "gpt2",
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_inner": None,
    "n_positions": 1024,
    "vocab_size": 50257,
    "activation_function": "gelu_new",
}


def read(folder: Path, data: Any) -> Decoder:
    (folder / "config.json").write_text(json.dumps(data))
    return read_decoder(folder / "config.json")


def refusal(folder: Path, data: Any) -> str:
    with pytest.raises(InputError) as error:
        read(folder, data)
    assert len(error.value.mistakes) == 1
    return str(error.value).replace(f"{folder}/", "")


def same_shape(one: Decoder, other: Decoder) -> bool:
    own = {"name": "", "source": "", "year": None, "order": ""}
    return vars(one) | own == vars(other) | own


def test_every_model_is_checked_against_a_published_number() -> None:
    assert set(load_decoders()) == set(EXACT) | set(PRINTED) | CONFIGURED | {"grok-1"}
    assert all(model.year is not None and model.source for model in load_decoders().values())


def test_grok_1_has_the_weights_of_its_source() -> None:
    """xAI prints 314B, and 25 % of the weights for a token; the embedding of 0.805B, which is the head, is not in 314B.

    Its `model.py` makes three matrices of 6144 x 32768 for each of 8 experts: 64 x 8 x 603,979,776 = 309.24e9.
    """
    model = decoder("grok-1")
    assert model.parameters - 131072 * 6144 == pytest.approx(314e9, rel=0.005)
    experts, attention = 3 * 6144 * 32768, 6144 * (2 * 6144 + 2 * 1024)
    layers = 64 * (8 * experts + attention + 8 * 6144 + 2 * 6144)
    assert model.parameters == layers + 6144 + 131072 * 6144
    assert round(model.active_parameters / model.parameters, 3) == 0.265


def test_an_alias_has_the_layers_of_the_other_model_and_a_source_of_its_own() -> None:
    one, other = decoder("deepseek-r1"), decoder("deepseek-v3")
    assert (one.stack, one.parameters) == (other.stack, other.parameters)
    assert "DeepSeek-R1" in one.source
    assert one.year == 2025
    assert (decoder("glm-4.6").sequence, decoder("glm-4.5").sequence) == (202752, 131072)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("deepseek-r2", "deepseek-r1"), ("kimi-k-2", "kimi-k2"), ("qwen3-235b", "qwen3-235b-a22b"),
        ("gpt-oss-120", "gpt-oss-120b"), ("llama4-maverick", "llama-4-maverick"), ("deepseek-v31", "deepseek-v3.1"),
    ],
)  # fmt: skip
def test_near_names_are_proposed(wrong: str, right: str) -> None:
    with pytest.raises(InputError, match=f"did you mean '{right}'"):
        decoder(wrong)


def test_rotary_positions_without_gates_have_no_biases() -> None:
    """Nemotron-4 340B: 96 layers of attention with 8 heads of keys and of two matrices, no biases, untied ends."""
    layer = 18432 * 192 * (2 * 96 + 2 * 8) + 2 * 18432 * 73728 + 2 * 18432
    assert decoder("nemotron-4-340b").parameters == 96 * layer + 18432 + 2 * 256000 * 18432


@pytest.mark.parametrize(("name", "weights"), EXACT.items())
def test_weights_are_those_published(name: str, weights: int) -> None:
    assert decoder(name).parameters == weights


@pytest.mark.parametrize(("name", "printed"), PRINTED.items())
def test_weights_are_those_printed(name: str, printed: tuple[float, float]) -> None:
    assert abs(decoder(name).parameters - printed[0]) <= printed[1]


@pytest.mark.parametrize(
    ("name", "printed", "last", "tables"),
    [
        # Embedding and head are counted (Mistral, Meta, Alibaba, AI21).
        ("mixtral-8x7b", 12.9e9, 0.1e9, 2), ("mixtral-8x22b", 39e9, 1e9, 2), ("llama-4-scout", 17e9, 1e9, 2),
        ("llama-4-maverick", 17e9, 1e9, 2), ("qwen3-235b-a22b", 22e9, 1e9, 2), ("qwen3-coder-480b-a35b", 35e9, 1e9, 2),
        ("jamba-1.5-large", 94e9, 1e9, 2), ("qwen3.5-397b-a17b", 17e9, 1e9, 2), ("qwen3.5-122b-a10b", 10e9, 1e9, 2),
        ("qwen3.8-2.4t-a95b", 95e9, 1e9, 2),
        # The head is, the embedding is not (OpenAI's model card, DeepSeek's list of weights, Moonshot, MiniMax).
        ("gpt-oss-20b", 3.61e9, 0.01e9, 1), ("gpt-oss-120b", 5.13e9, 0.01e9, 1), ("deepseek-v3", 36.6e9, 0.1e9, 1),
        ("kimi-k2", 32e9, 1e9, 1), ("kimi-linear-48b-a3b", 3e9, 1e9, 1), ("minimax-m2", 10e9, 1e9, 1),
        # Neither is.
        ("glm-4.5", 32e9, 1e9, 0), ("glm-4.5-air", 12e9, 1e9, 0), ("qwen3-next-80b-a3b", 3e9, 1e9, 0),
        ("glm-5", 40e9, 1e9, 0), ("qwen3.5-35b-a3b", 3e9, 1e9, 1),
    ],
)  # fmt: skip
def test_active_weights_are_those_printed(name: str, printed: float, last: float, tables: int) -> None:
    """Within half of the last digit, as their authors count embedding and head."""
    model = decoder(name)
    counted = model.active_parameters - (2 - tables) * model.embedding.parameters()
    assert abs(counted - printed) <= last / 2


def test_all_weights_of_a_dense_model_are_active() -> None:
    it = decoder("llama-3.1-405b")
    assert it.active_parameters == it.parameters
    assert it.expert_layers == 0


def test_experts_begin_after_the_dense_layers() -> None:
    assert decoder("deepseek-v3").expert_layers == 58
    assert decoder("mixtral-8x7b").expert_layers == 32


def test_names_differ_from_those_of_libras_tables() -> None:
    assert not set(load_decoders()) & set(load_models())


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in ROWS])
def test_every_published_row_is_of_a_model_of_the_catalogue(row: dict[str, Any]) -> None:
    shapes = {
        (it.layers, it.hidden, it.heads, it.kv_heads, it.feed_forward, it.gated) for it in load_decoders().values()
    }
    assert tuple(row[key] for key in ("layers", "hidden", "heads", "kv_heads", "feed_forward", "gated")) in shapes


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown model 'llama-3-405b'; allowed: .*did you mean 'llama-3.1-405b'\?"):
        decoder("llama-3-405b")


@pytest.mark.parametrize(
    ("config", "name"),
    [(LLAMA, "llama-3-8b"), (MIXTRAL, "mixtral-8x7b"), (DEEPSEEK, "deepseek-v3"), (QWEN, "qwen3-235b-a22b")],
)
def test_configurations_are_the_models_of_the_catalogue(tmp_path: Path, config: dict[str, Any], name: str) -> None:
    assert same_shape(read(tmp_path, config), decoder(name))


def test_gpt_2_has_its_own_keys(tmp_path: Path) -> None:
    it = read(tmp_path, GPT2)
    assert it.parameters == 124_439_808
    assert (it.feed_forward, it.gated, it.tied, it.sequence) == (3072, False, True, 1024)


def test_name_is_that_of_the_folder_or_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "llama-3-8b"
    folder.mkdir()
    assert read(folder, LLAMA).name == "llama-3-8b"
    (tmp_path / "mine.json").write_text(json.dumps(LLAMA))
    assert read_decoder(tmp_path / "mine.json").name == "mine"


def test_language_model_of_several_models_is_under_text_config(tmp_path: Path) -> None:
    whole = {"model_type": "llava", "text_config": LLAMA, "vision_config": {"hidden_size": 1024}}
    assert same_shape(read(tmp_path, whole), decoder("llama-3-8b"))


def test_old_falcons_share_keys_and_values(tmp_path: Path) -> None:
    config = {
        "model_type": "falcon",
        "hidden_size": 4544,
        "num_hidden_layers": 32,
        "num_attention_heads": 71,
        "multi_query": True,
        "vocab_size": 65024,
    }
    it = read(tmp_path, config)
    assert (it.kv_heads, it.gated, it.feed_forward) == (1, False, 4 * 4544)


def test_shared_experts_of_qwen_2_have_a_width_of_their_own(tmp_path: Path) -> None:
    it = read(tmp_path, QWEN | {"shared_expert_intermediate_size": 20480})
    assert it.experts is not None
    assert it.experts.shared_feed_forward == 20480


def test_tied_head_counts_once(tmp_path: Path) -> None:
    tied, apart = read(tmp_path, LLAMA | {"tie_word_embeddings": True}), read(tmp_path, LLAMA)
    assert apart.parameters - tied.parameters == 128256 * 4096


@pytest.mark.parametrize(
    ("config", "key", "words"),
    [
        (LLAMA, "hidden_size", ("`hidden_size` (or `n_embd`", "the width of the model, a whole number, is expected")),
        (LLAMA, "num_hidden_layers", ("`num_hidden_layers`", "the number of layers")),
        (INTERN, "num_attention_heads", ("`num_attention_heads`", "the number of heads of queries")),
        (INTERN, "intermediate_size", ("`intermediate_size`", "the width of a feed-forward block")),
        (INTERN, "vocab_size", ("`vocab_size`", "the number of tokens of the vocabulary")),
        (
            MIXTRAL | {"model_type": "internlm2"},
            "num_experts_per_tok",
            ("`num_experts_per_tok`", "the number of experts that a token passes"),
        ),
        (
            DEEPSEEK | {"model_type": "internlm2"},
            "qk_nope_head_dim",
            ("`qk_nope_head_dim`", "the width of a head without a position"),
        ),
        (DEEPSEEK | {"model_type": "internlm2"}, "v_head_dim", ("`v_head_dim`", "the width of a head of values")),
    ],
)
def test_missing_key_is_named_with_file_and_meaning(
    tmp_path: Path, config: dict[str, Any], key: str, words: tuple[str, str]
) -> None:
    message = refusal(tmp_path, {name: value for name, value in config.items() if name != key})
    assert message.startswith("config.json:")
    assert all(word in message for word in words), message


def test_all_keys_that_are_missing_or_wrong_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, {"model_type": "internlm2", "hidden_size": 4096, "num_hidden_layers": 0})
    lines = [str(mistake) for mistake in error.value.mistakes]
    assert len(lines) == 4
    for key in ("num_attention_heads", "intermediate_size", "num_hidden_layers: found 0", "vocab_size"):
        assert sum(key in line for line in lines) == 1


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neo", "falcon", "starcoder2"])
def test_models_whose_class_leaves_the_default_have_a_tied_head(tmp_path: Path, kind: str) -> None:
    sizes = {"hidden_size": 2048, "num_layers": 24, "num_heads": 16, "vocab_size": 50257}
    assert read(tmp_path, {"model_type": kind, **sizes}).tied
    assert not read(tmp_path, {"model_type": kind, **sizes, "tie_word_embeddings": False}).tied
    assert not read(tmp_path, {"model_type": "gptj", **sizes}).tied


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": "4096"}, "hidden_size: found '4096'; a whole number from 1 to 1000000000 is needed"),
        ({"num_hidden_layers": 0}, "num_hidden_layers: found 0; a whole number from 1"),
        ({"num_hidden_layers": True}, "num_hidden_layers: found True; a whole number from 1"),
        ({"num_key_value_heads": 5}, "kv_heads: found 5; it has to divide the 32 heads of queries"),
        ({"num_attention_heads": 24}, "heads: found 24, which does not divide the width of 4096; give the head width"),
        ({"model_type": "t5"}, "model_type: 't5' is not supported; a decoder is expected"),
        ({"is_encoder_decoder": True}, "model_type: 'llama' is not supported"),
        ({"num_experts": 4, "num_experts_per_tok": 8}, "experts.per_token: found 8; a layer has 4 experts"),
        (
            {"num_experts": 4, "num_experts_per_tok": 1, "first_k_dense_replace": 99},
            "experts.dense_layers: found 99; the model has 32 layers",
        ),
    ],
)
def test_refusals(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    found = refusal(tmp_path, LLAMA | changes)
    assert found.startswith("config.json:")
    assert message in found


def test_file_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    assert "a mapping is needed" in refusal(tmp_path, [1, 2])


widths = st.integers(1, 64)
latents = st.fixed_dictionaries(
    {key: widths for key in ("kv_rank", "nope_width", "rope_width", "value_width")},  # noqa: C420 - reads the same
    optional={"query_rank": widths},
)
experts = st.fixed_dictionaries(
    {"count": st.integers(2, 16), "per_token": st.integers(1, 2), "feed_forward": widths},
    optional={"shared_feed_forward": widths},
)
specs = st.fixed_dictionaries(
    {
        "layers": st.integers(1, 20),
        "hidden": widths.map(lambda width: 8 * width),
        "heads": st.just(8),
        "kv_heads": st.sampled_from([1, 2, 4, 8]),
        "feed_forward": widths,
        "gated": st.booleans(),
        "vocabulary": widths,
        "sequence": widths,
        "tied": st.booleans(),
        "source": st.just("made up"),
    },
    optional={"latent": latents, "experts": experts},
)


@given(specs)
def test_weights_grow_with_every_size_and_active_ones_are_a_part(data: dict[str, Any]) -> None:
    def weights(**changes: int) -> int:
        return decoder_of("own", DecoderSpec.model_validate(data | changes)).parameters

    it = decoder_of("own", DecoderSpec.model_validate(data))
    assert 0 < it.active_parameters <= it.parameters
    assert weights(layers=data["layers"] + 1) > it.parameters
    assert weights(vocabulary=data["vocabulary"] + 1) - it.parameters == data["hidden"] * (1 if data["tied"] else 2)
    if it.experts is not None and it.experts.count == it.experts.per_token:
        assert it.active_parameters == it.parameters


def test_figures_have_what_few_models_have_only_where_one_has_it() -> None:
    usual = load_decoders()["llama-3-8b"]
    assert not {"predictors", "biased", "mixed", "year", "order"} & usual.figures().keys()
    rare = usual.model_copy(update={"predictors": 1, "biased": True})
    assert {key: rare.figures()[key] for key in ("predictors", "biased")} == {"predictors": 1, "biased": True}
