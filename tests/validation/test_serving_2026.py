"""How far serving of 2025 and 2026 is from published rows, at most."""

from __future__ import annotations

import pytest

from evo_libra.validation.serving_2026 import SERVING_2026, Server, rows_of
from evo_libra.validation.source import Basis, errors_of

LIMITS = {
    "vllm-one-user": (5, 0.03, 0.08), "trtllm-most-dense": (10, 0.045, 0.105), "trtllm-most-fp4": (10, 0.08, 0.135),
    "sglang-deepseek": (8, 0.045, 0.095), "sglang-deepseek-fp4": (2, 0.085, 0.105), "vllm-gpt-oss": (3, 0.03, 0.065),
    "trtllm-experts-in-step": (8, 0.045, 0.085), "sglang-prompts": (1, 0.06, 0.06),
}  # fmt: skip
"""Rows, mean and maximum of each source."""

_ALL = {source.name: list(source.rows()) for source in SERVING_2026}
_ROWS = {name: [row for row in rows if not row.id.endswith("mean-first-token")] for name, rows in _ALL.items()}
_MEANS = {name: [row for row in rows if row.id.endswith("mean-first-token")] for name, rows in _ALL.items()}


@pytest.mark.parametrize("name", LIMITS)
def test_rows_are_near_what_was_measured(name: str) -> None:
    count, mean, maximum = LIMITS[name]
    errors = errors_of(_ROWS[name])
    assert errors.count == count
    assert errors.mean <= mean
    assert errors.maximum <= maximum


def test_every_source_has_a_limit() -> None:
    assert set(LIMITS) == set(_ROWS)


def test_time_of_a_token_of_one_user_is_fitted() -> None:
    tokens = [row for row in _ROWS["vllm-one-user"] if row.unit == "ms" and not row.id.endswith("first-token")]
    assert errors_of(tokens).mean <= 0.003


@pytest.mark.parametrize(("name", "count", "mean"), [("sglang-deepseek", 4, 0.16), ("sglang-deepseek-fp4", 2, 0.26)])
def test_mean_first_tokens_under_load(name: str, count: int, mean: float) -> None:
    errors = errors_of(_MEANS[name])
    assert errors.count == count
    assert errors.mean <= mean
    assert errors.maximum <= 0.31


def test_what_is_fitted_is_said() -> None:
    fitted = {source.name for source in SERVING_2026 if source.basis is Basis.FITTED}
    assert fitted == {"vllm-one-user", "sglang-deepseek", "trtllm-experts-in-step"}


def test_a_server_holds_as_many_users_as_its_memory() -> None:
    # Llama 3.1 8B in fp8 on 80 GB: 8.03 GB of weights, 3.5 of software, and 32 x 2 x 8 x 128 bytes of a token.
    (row,) = rows_of("trt10.llama-3.1-8b.h100-80gb.tp1.20000-2000")
    assert Server(row).places == int((80e9 - 3.5e9 - 8.03e9) / (22_000 * 65_536))
