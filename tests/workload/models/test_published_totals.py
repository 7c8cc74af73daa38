"""Totals that publishers count, weight by weight: those of the catalogue, and the parts that it leaves out.

The catalogue counts matrices, embeddings and norms of a language model. Publishers count biases, norms of heads, layers
that predict further tokens, copies of a tied head, and vision encoders, too. Each part is worked here from the shape,
so that nothing is left over. Published totals are those of the files of weights on Hugging Face (`safetensors`), as
repositories of 2026 record them.
"""

from __future__ import annotations

import pytest

from evo_libra.workload.models.decoder import decoder


def glm_omitted(layers: int, experts: int, *, dense: int, head_norms: bool) -> int:
    """Return biases of 96 heads and twice 8 of 128, norms of heads, and the biases of routers, of layers of GLM-4.5."""
    biases = 96 * 128 + 2 * 8 * 128
    return layers * (biases + (2 * 128 if head_norms else 0)) + (layers - dense) * experts


def glm_predictor(hidden: int, experts: int, width: int, *, head_norms: bool) -> int:
    """Return the layer of GLM-4.5 that predicts a token: one of experts, a product of both inputs, norms."""
    attention = hidden * 128 * (2 * 96 + 2 * 8) + 96 * 128 + 2 * 8 * 128 + (2 * 128 if head_norms else 0)
    routed = 3 * hidden * width * (experts + 1) + hidden * experts + experts
    return attention + routed + 2 * hidden * hidden + 5 * hidden


def llama_vision(hidden: int) -> int:
    """Return the vision encoder of Llama 4: 34 layers of 1,408, patches of 588 numbers, and an adapter of 4,096."""
    width, inner = 1408, 5632
    layer = 4 * width * width + 4 * width + 2 * width * inner + inner + width + 4 * width
    ends = 588 * width + width + 577 * width + 4 * width
    return 34 * layer + ends + inner * 4096 + 4096 * 4096 + 4096 * hidden


def siglip(hidden: int) -> int:
    """Return the vision encoder of Gemma 3: 27 layers of 1,152, 4,096 patches of 14 x 14 x 3, and a product."""
    width, inner = 1152, 4304
    layer = 4 * width * width + 4 * width + 2 * width * inner + inner + width + 4 * width
    return 27 * layer + 14 * 14 * 3 * width + width + 4096 * width + 2 * width + width * hidden + width


def gemma_norms(hidden: int, layers: int, head: int) -> int:
    """Return the two norms after the halves of a layer of Gemma 3, and those of queries and keys."""
    return layers * (2 * hidden + 2 * head)


def falcon_omitted(hidden: int, layers: int) -> int:
    """Return the biases of the norms of Falcon, and the copy of its tied head."""
    return layers * 2 * hidden + hidden + 65024 * hidden


GLM_ENDS = 2 * 151552
"""Rows of the copies of embedding and head that the predicting layer of GLM-4.5 has, and that of GLM-4.6 has not."""


def qwen_vision(hidden: int) -> int:
    """Return the vision encoder of Qwen3.5: 27 layers of 1,152, patches of 2 x 16 x 16 x 3, 2,304 places, a merger."""
    width, inner, merged = 1152, 4304, 4 * 1152
    layer = 4 * width * width + 4 * width + 2 * width * inner + inner + width + 4 * width
    merger = 2 * width + merged * merged + merged + merged * hidden + hidden
    return 27 * layer + 2 * 16 * 16 * 3 * width + width + 2304 * width + merger


def qwen_predictor(hidden: int, heads: int, kv_heads: int, feed_forward: int) -> int:
    """Return the layer of Qwen3.5 that predicts a token: gated attention of heads of 256, a product of both inputs."""
    attention = hidden * 256 * (3 * heads + 2 * kv_heads) + 2 * 256
    return 2 * hidden * hidden + attention + feed_forward + 5 * hidden


def qwen_experts(hidden: int, experts: int, width: int) -> int:
    """Return a layer's experts of Qwen3.5, with the one that all tokens pass, its gate and the router."""
    return 3 * hidden * width * (experts + 1) + hidden * (experts + 1)


TOTALS = {
    # The predicting layer of GLM-5 has 19,905,841,664 bytes in 16 bits, but for 256 numbers of 32 bits.
    "glm-5": (753_864_139_008, (19_905_841_664 - 2 * 256) // 2 + 75 * 256),
    # Norms of queries and keys, and gates of the expert that all tokens pass.
    "qwen3.5-397b-a17b": (403_397_928_944, qwen_vision(4096) + 15 * 512 + 60 * 4096
                          + qwen_predictor(4096, 32, 2, qwen_experts(4096, 512, 1024))),
    "qwen3.5-122b-a10b": (125_086_497_008, qwen_vision(3072) + 12 * 512 + 48 * 3072
                          + qwen_predictor(3072, 32, 2, qwen_experts(3072, 256, 1024))),
    "qwen3.8-2.4t-a95b": (2_446_182_725_504, 23 * 512 + 92 * 8192
                          + qwen_predictor(8192, 64, 4, qwen_experts(8192, 512, 2048))),
    "qwen3.5-35b-a3b": (35_951_822_704, qwen_vision(2048) + 10 * 512 + 40 * 2048
                        + qwen_predictor(2048, 16, 2, qwen_experts(2048, 256, 512))),
    "qwen3.5-27b": (27_781_427_952, qwen_vision(5120) + 16 * 512 + qwen_predictor(5120, 24, 4, 3 * 5120 * 17408)),
    "glm-4.5": (358_337_791_296, glm_omitted(92, 160, dense=3, head_norms=True)
                + glm_predictor(5120, 160, 1536, head_norms=True) + GLM_ENDS * 5120),
    "glm-4.6": (356_785_898_816, glm_omitted(92, 160, dense=3, head_norms=True)
                + glm_predictor(5120, 160, 1536, head_norms=True)),
    "glm-4.5-air": (110_468_824_832, glm_omitted(46, 128, dense=1, head_norms=False)
                    + glm_predictor(4096, 128, 1408, head_norms=False) + GLM_ENDS * 4096),
    "llama-4-scout": (108_641_793_536, llama_vision(5120)),
    "llama-4-maverick": (401_583_781_376, llama_vision(5120)),
    "gemma-3-1b": (999_885_952, gemma_norms(1152, 26, 256)),
    "gemma-3-4b": (4_300_079_472, gemma_norms(2560, 34, 256) + siglip(2560)),
    "gemma-3-12b": (12_187_325_040, gemma_norms(3840, 48, 256) + siglip(3840)),
    "gemma-3-27b": (27_432_406_640, gemma_norms(5376, 62, 128) + siglip(5376)),
    "falcon-40b": (41_835_970_560, falcon_omitted(8192, 60)),
    "falcon-180b": (179_522_565_120, falcon_omitted(14848, 80)),
}  # fmt: skip
"""Published totals, and the weights that publishers count and the catalogue leaves out."""


@pytest.mark.parametrize("name", TOTALS)
def test_the_catalogue_and_what_it_leaves_out_are_the_published_total(name: str) -> None:
    published, omitted = TOTALS[name]
    assert decoder(name).parameters + omitted == published


@pytest.mark.parametrize(("name", "total", "active"), [("llama-4-scout", 109, 17), ("llama-4-maverick", 402, 17)])
def test_llama_4_rounds_to_what_its_maker_prints(name: str, total: int, active: int) -> None:
    """Rounded to billions, with the vision encoder; Meta prints 400B for Maverick, 0.4 % less."""
    model = decoder(name)
    assert round((model.parameters + llama_vision(5120)) / 1e9) == total
    assert round(model.active_parameters / 1e9) == active


@pytest.mark.parametrize(("name", "printed", "active"), [("glm-4.5", 355, 32), ("glm-4.6", 355, 32)])
def test_the_total_of_glm_is_between_its_language_model_and_that_with_the_predicting_layer(
    name: str, printed: int, active: int
) -> None:
    """Its makers print 355B of 352.8B and 356.8B (GLM-4.5, 2025), and 32B active, rounded, without both ends."""
    model = decoder(name)
    assert 0.993 * printed < model.parameters / 1e9 < printed
    assert printed < (model.parameters + glm_predictor(5120, 160, 1536, head_norms=True)) / 1e9 < 1.006 * printed
    assert round((model.active_parameters - 2 * 151552 * 5120) / 1e9) == active


@pytest.mark.parametrize(("name", "published"), [
    ("qwen3-8b", 8_190_735_360), ("qwen3-32b", 32_762_123_264), ("qwen3-30b-a3b", 30_532_122_624),
    ("qwen3-235b-a22b", 235_093_634_560), ("phi-4", 14_659_507_200), ("kimi-k2", 1_026_408_235_864),
    ("gpt-oss-20b", 20_914_757_184), ("gpt-oss-120b", 116_829_156_672), ("mistral-7b", 7_241_732_096),
    ("llama-3.3-70b", 70_553_706_496), ("llama-2-13b", 13_015_866_880),
])  # fmt: skip
def test_totals_of_language_models_are_within_half_a_percent_of_files_of_weights(name: str, published: int) -> None:
    assert decoder(name).parameters == pytest.approx(published, rel=0.0005)
