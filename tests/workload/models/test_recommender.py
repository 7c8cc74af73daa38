"""Recommendation models: their sizes against those published, and what no source gives."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.workload.layers.generators import DlrmSpec, load_models
from evo_libra.workload.models.decoder import load_decoders
from evo_libra.workload.models.recommender import (
    Recommender,
    RecommenderSpec,
    load_recommenders,
    recommender,
    recommender_of,
)


def test_catalogue_holds_the_models_of_both_files() -> None:
    others = {name for name, spec in load_models().items() if isinstance(spec, DlrmSpec)}
    assert set(load_recommenders()) == {"dlrm-mlperf"} | others
    assert not set(load_recommenders()) & set(load_decoders())


def test_tables_of_mlperfs_model_have_the_size_that_is_printed() -> None:
    model = recommender("dlrm-mlperf")
    # 26 features at one width and the bottom MLP's output give 351 pairs.
    assert model.top_mlp[0] == 27 * 26 // 2 + model.bottom_mlp[-1]
    assert model.bottom_mlp[-1] == model.embedding
    assert model.known_rows * model.embedding * model.element_bytes == pytest.approx(100e9, rel=0.05)
    assert model.look_ups == 26


def test_libras_model_is_that_of_its_generator() -> None:
    model, spec = recommender("dlrm-libra"), cast("DlrmSpec", load_models()["dlrm-libra"])
    for key in ("tables", "embedding", "bottom_mlp", "top_mlp", "source"):
        assert getattr(model, key) == getattr(spec, key)
    assert 2 * model.mlp_weights == 114_823_168
    # Its top MLP takes the features as they are, side by side.
    assert model.top_mlp[0] == model.bottom_mlp[-1] + model.pooled_elements


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown recommendation model 'dlrm-mlpref'.*did you mean 'dlrm-mlperf'\?"):
        recommender("dlrm-mlpref")


def test_what_no_source_gives_is_asked_for() -> None:
    model = recommender("dlrm-libra")
    with pytest.raises(InputError, match="the memory of dlrm-libra needs `rows`, those of all its tables"):
        _ = model.known_rows
    with pytest.raises(InputError, match="the time of dlrm-libra needs `pooling`, the look-ups of a sample in a table"):
        _ = model.look_ups
    given_ = model.model_copy(update={"rows": 10**9, "pooling": 0.5})
    assert (given_.known_rows, given_.look_ups) == (10**9, 32.0)


widths = st.lists(st.integers(1, 64), min_size=2, max_size=5)


@given(
    st.fixed_dictionaries(
        {"tables": st.integers(1, 99), "embedding": st.integers(1, 64), "bottom_mlp": widths, "top_mlp": widths,
         "source": st.just("made up")},
        optional={"rows": st.integers(1, 10**10), "pooling": st.floats(0.1, 100), "element_bytes": st.integers(1, 8)},
    )
)  # fmt: skip
def test_weights_are_those_of_all_pairs_of_widths(data: dict[str, Any]) -> None:
    model = recommender_of("own", RecommenderSpec.model_validate(data | {
        key: tuple(data[key]) for key in ("bottom_mlp", "top_mlp")
    }))  # fmt: skip
    assert isinstance(model, Recommender)
    assert model.rows == data.get("rows")
    expected = 0
    for mlp in (data["bottom_mlp"], data["top_mlp"]):
        expected += sum(mlp[layer] * mlp[layer + 1] for layer in range(len(mlp) - 1))
    assert model.mlp_weights == expected
    assert model.pooled_elements == data["tables"] * data["embedding"]
