"""Generic models: their numbers of weights are those that were asked for, and their shapes follow the stated rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.problem.problem import Problem
from evo_libra.workload.models.decoder import decoder, decoder_of
from evo_libra.workload.models.generic import RoutedWeights, Weights, dense_model, generic_model, routed_model

DESIGN = "SW(8)@nvlink4:450_SW(8)@optics-400g:50"


def test_a_dense_model_of_a_trillion_weights_by_hand() -> None:
    """Width 21,504 and 168 layers: attention 2 x 21,504 x (21,504 + 1,024), ends 2 x 128,256 x 21,504.

    1e12 less the ends over 168 layers leaves 4,950.55e6 of 5,919.43e6 for the feed-forward block, a width of 76,738 and
    64 x 1,199 as a multiple.
    """
    model = generic_model(1e12, None)
    assert model is not None
    assert (model.name, model.layers, model.hidden, model.heads, model.kv_heads) == ("dense-1T", 168, 21504, 168, 8)
    assert model.feed_forward == 64 * 1199
    layer = 2 * 21504 * (21504 + 1024) + 3 * 21504 * 76736 + 2 * 21504
    assert model.parameters == 168 * layer + 21504 + 2 * 128256 * 21504


def test_a_routed_model_has_both_numbers_of_weights() -> None:
    """A model of 2T with 64B active: 64 layers of 8,192, 8 of 344 experts of 3,664 and a shared one of 3,776."""
    model = decoder_of("own", routed_model(2e12, 64e9))
    assert (model.layers, model.hidden) == (64, 8192)
    assert model.experts is not None
    found = model.experts
    assert (found.count, found.per_token, found.feed_forward, found.shared_feed_forward) == (344, 8, 3664, 3776)
    assert model.parameters == pytest.approx(2e12, rel=0.005)
    assert model.active_parameters == pytest.approx(64e9, rel=0.005)


@pytest.mark.parametrize(("name", "layers"), [("llama-3.1-8b", 1), ("llama-3.1-405b", 1.02), ("llama-3.1-70b", 0.9)])
def test_generic_models_are_near_those_that_were_built(name: str, layers: float) -> None:
    known = decoder(name)
    assert decoder_of("own", dense_model(known.parameters)).layers == pytest.approx(layers * known.layers, rel=0.01)


@given(st.floats(9.0, 14.0))
def test_dense_models_have_the_weights_that_were_asked_for(exponent: float) -> None:
    model = decoder_of("own", dense_model(10**exponent))
    assert model.parameters == pytest.approx(10**exponent, rel=0.005)
    assert model.heads % 8 == 0
    assert model.layers % 8 == 0


@given(st.floats(9.2, 12.0), st.floats(3.5, 60.0))
@example(9.59375, 3.5)  # whose total lies between two widths of few experts
@example(9.421875, 55.0)  # whose router takes so much that the shared expert is narrow
def test_routed_models_have_the_weights_that_were_asked_for(exponent: float, ratio: float) -> None:
    active, total = 10**exponent, ratio * 10**exponent
    model = decoder_of("own", routed_model(total, active))
    assert model.parameters == pytest.approx(total, rel=0.005)
    assert model.active_parameters == pytest.approx(active, rel=0.005)
    assert model.expert_count % 8 == 0


@pytest.mark.parametrize(
    ("text", "weights"), [("1T", 1e12), ("405B", 405e9), ("1500M", 1.5e9), ("7.5B", 7.5e9), (2e12, 2e12)]
)
def test_numbers_of_weights_are_texts_or_numbers(text: Any, weights: float) -> None:
    assert TypeAdapter(Weights).validate_python(text) == weights


@pytest.mark.parametrize("wrong", ["1X", "", "T", "two", 1e8, "1M", "200T", True])
def test_other_numbers_of_weights_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"such as 1T|greater than or equal to 1e|less than or equal to 1e|valid"):
        TypeAdapter(Weights).validate_python(wrong, strict=True)


def problem_of(folder: Path, **workload: Any) -> Problem:
    (folder / "p.yaml").write_text(json.dumps({
        "name": "own", "npus": 64, "npu": "h100-80gb", "bandwidth": "ports",
        "fabric": {"catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"]},
        "workloads": [workload],
    }))  # fmt: skip
    found = load_problem(str(folder / "p.yaml"))
    assert isinstance(found, Problem)
    return found


@pytest.mark.parametrize("size", [{"dense": "8B"}, {"moe": {"total": "30B", "active": "3B"}}], ids=str)
@pytest.mark.parametrize("use", [
    {"training": {"sequence": 4096, "global_batch": 128}},
    {"serving": {"input": 2048, "output": 1024, "concurrency": 4}},
], ids=str)  # fmt: skip
def test_a_workload_names_a_size(tmp_path: Path, size: dict[str, Any], use: dict[str, Any]) -> None:
    problem = problem_of(tmp_path, **size, **use)
    plans = "".join(f" | {table.texts[0]}" for table in problem.time.tables)
    assert problem.evaluate(f"{DESIGN}{plans}").objectives[0] > 0
    (name,) = problem.identity()["trained_models"]
    assert name in {"dense-8B", "moe-30B-a3B"}


@pytest.mark.parametrize(("workload", "words"), [
    ({"dense": "8B", "model": "llama-3-8b", "training": {"global_batch": 8}},
     "one of model, dense, moe, file and generator is needed, found model and dense"),
    ({"moe": {"total": "2B", "active": "1B"}, "training": {"global_batch": 8}},
     "workloads[0].moe: no model of 2B weights with 1B active follows from the rules; totals of 3.5 to 60 times"),
    ({"moe": {"total": "2X", "active": "1B"}, "training": {"global_batch": 8}}, "workloads[0].moe.total"),
    ({"dense": "8B"}, "the key 'training' or 'serving' is needed"),
    ({"model": {"moe": {"total": "2T", "active": "64B"}}}, "`moe` stands in the place of `model`, as in - moe: {total"),
], ids=str)  # fmt: skip
def test_wrong_sizes_are_refused_with_their_key(tmp_path: Path, workload: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as error:
        problem_of(tmp_path, **workload)
    assert words in str(error.value)


def test_a_record_has_both_numbers() -> None:
    found = RoutedWeights.model_validate({"total": "2T", "active": "64B"})
    assert (found.total, found.active) == (2e12, 64e9)
