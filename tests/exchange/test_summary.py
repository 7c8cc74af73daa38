"""What an import made, in sentences."""

from __future__ import annotations

import json

from evo_libra.exchange.gpu_node import GpuNode
from evo_libra.exchange.problem_text import made_of
from evo_libra.exchange.registry import read_text_as, readers
from evo_libra.exchange.summary import drawing

DEEPSEEK = readers()["hugging-face"].samples[2]


def test_a_model_is_said_with_its_weights_and_layers() -> None:
    """671.03 B, 37.55 B active; three layers without experts and 58 with, of latent attention."""
    made = made_of({"config.json": read_text_as(DEEPSEEK, "config.json")[1]}, "own", npus=2048, npu="h100-80gb")
    model, layers, vocabulary, step = made.summary
    assert model == "model: 671.03 B weights, 37.55 B of them active for a token, embeddings included"
    assert layers == "layers: 3 of latent-attention + feed-forward, 58 of latent-attention + experts"
    assert vocabulary == "vocabulary: 129,280, from config.json"
    assert step == "step: 2,048 sequences of 4,096 tokens, 8,388,608 tokens, on 2,048 NPUs"


def test_an_assumed_vocabulary_is_said_with_its_part_of_the_weights() -> None:
    """Of 12 layers of 12 h^2 and one embedding of 51,200 h, with h = 96."""
    text = "--num-layers 12 --hidden-size 96 --num-attention-heads 4 --seq-length 64 --disable-bias-linear"
    made = made_of({"run.sh": read_text_as(text, "run.sh")[1]}, "own", npus=8, npu="h100-80gb")
    share = 100 * 51200 * 96 / (51200 * 96 + 12 * 12 * 96**2 + 25 * 96)
    assert made.summary[2] == "vocabulary: 51,200, which is assumed"
    assert made.summary[3] == f"vocabulary: {share:.2g} % of the weights follow from it"


def test_predictions_are_layers_of_their_own() -> None:
    config = json.loads(DEEPSEEK) | {"num_nextn_predict_layers": 1}
    draft = read_text_as(json.dumps(config), "config.json")[1]
    layers = made_of({"config.json": draft}, "own", npus=2048, npu="h100-80gb").summary[1]
    assert layers.endswith("and 1 that predict further tokens")


def test_a_server_without_switches_is_drawn_by_its_pairs() -> None:
    assert list(drawing(GpuNode(2, {(0, 1): 4, (1, 0): 4}, 0, 80, (None,)))) == [
        "server: [GPU0]-4-[GPU1]", "server: [GPU1]-4-[GPU0]",
    ]  # fmt: skip
