"""How far serving is from published rows, at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evo_libra import load_problem
from evo_libra.network.catalog.accelerators import read_accelerator
from evo_libra.network.catalog.collective_latency import IN_SERVICE
from evo_libra.problem.problem import Problem
from evo_libra.validation.fit import fitted_serving, refit
from evo_libra.validation.serving import ServingRow, request_seconds, serving_rows, serving_setup_of, with_constants
from evo_libra.validation.source import Errors, PublishedRow, errors_of, published
from evo_libra.validation.sources import chosen
from evo_libra.workload.models.decoder import decoder
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.stacks import LAYER

XFT = "xfastertransformer"


@pytest.mark.slow
def test_two_constants_explain_the_22_rows_of_llama_2() -> None:
    (source,) = chosen(("llama-2-latency",))
    errors = errors_of(source.rows())
    assert errors.count == 22
    assert errors.mean <= 0.042
    assert errors.maximum <= 0.14


@pytest.mark.slow
def test_a_fit_finds_the_constants_nearly_again_and_70b_from_smaller_models() -> None:
    found = refit()
    assert [one.name for one in found.serving] == ["LAYER", "IN_SERVICE"]
    assert all(abs(one.moved) < 0.2 for one in found.serving)
    large, other = found.unseen
    assert (large.tested, large.errors.count) == ("70B", 6)
    assert large.errors.mean <= 0.03
    assert (other.tested, other.errors.count) == ("H100", 11)
    assert other.errors.mean <= 0.08


def errors_with(constants: Sequence[float], rows: Sequence[ServingRow]) -> Errors:
    setups = [with_constants(serving_setup_of(row), constants) for row in rows]
    return errors_of(
        PublishedRow(row["id"], row["latency_s"], request_seconds(row, setup), "s")
        for row, setup in zip(rows, setups, strict=True)
    )


@pytest.mark.slow
def test_one_and_eight_npus_say_what_two_and_four_take() -> None:
    rows = serving_rows()
    at = fitted_serving([row for row in rows if row["tp"] in (1, 8)])
    assert errors_with(at.tolist(), [row for row in rows if row["tp"] in (2, 4)]).mean <= 0.04


@pytest.mark.slow
@pytest.mark.parametrize("constants", [(0.0, IN_SERVICE), (LAYER, 0.0)])
def test_each_constant_is_needed(constants: tuple[float, float]) -> None:
    assert errors_with(constants, serving_rows()).mean > 0.06


def test_one_constant_of_xfastertransformer_is_consistent_with_both_of_its_figures() -> None:
    (source,) = chosen((XFT,))
    gain, token = source.rows()
    assert abs(gain.error) <= 0.005
    assert abs(token.error) <= 0.05


def test_the_shipped_problem_has_the_socket_of_the_comparison() -> None:
    problem = load_problem("llama2-70b-xeon")
    assert isinstance(problem, Problem)
    (table,) = problem.time.tables
    mine, theirs = (
        table.setups[0].accelerator,
        read_accelerator("socket", published("serving_rows.json")[XFT]["socket"]),
    )
    for name in ("peak", "memory_capacity", "memory_bandwidth", "gemm", "decode", "attention"):
        assert getattr(mine, name) == getattr(theirs, name), name


def test_software_that_was_not_fitted_is_farther_away() -> None:
    (source,) = chosen(("nim",))
    errors = errors_of(source.rows())
    assert errors.count == 12
    assert errors.mean <= 0.045
    assert errors.maximum <= 0.095


def test_attention_that_is_split_in_one_dimension_takes_as_much_less_as_published() -> None:
    """16.02 ms against 61.57 of a layer with 1,024 tokens (xFasterTransformer, 2024)."""
    socket = read_accelerator("socket", published("serving_rows.json")[XFT]["socket"])
    setup = ServingSetup(decoder("llama-2-70b"), socket, 1024, 128)

    def attention(one: ServingSetup) -> float:
        kernels = one.forward.kernels
        return float(kernels.fused_attention(1e12, 1024)[0])

    assert attention(setup) / attention(replace(setup, attention="slim")) == pytest.approx(61.57 / 16.02, rel=1e-9)


@pytest.mark.slow
def test_rows_of_tensorrt_that_were_not_fitted() -> None:
    (source,) = chosen(("tensorrt-llm",))
    rows = list(source.rows())
    first, rates = rows[:8], rows[8:]
    assert {row.unit for row in first} == {"ms"}
    assert errors_of(row for row in first if ".2048." in row.id).mean <= 0.07
    assert errors_of(first).mean <= 0.115
    assert errors_of(row for row in rates if "128-128" not in row.id).mean <= 0.10
    assert errors_of(row for row in rows if "128-128" not in row.id).maximum <= 0.27
    # Short prompts are processed together.
    assert errors_of(row for row in rows if "128-128" in row.id).maximum <= 0.125
    assert errors_of(rows).mean <= 0.095
