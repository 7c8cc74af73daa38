"""What the first steps in Python need: names for problems, results by name, fronts that answer questions."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from command import run

import evo_libra
from evo_libra import Front, Problem, Result, load_problem, search
from evo_libra.errors import InfeasibleError, InputError
from evo_libra.explain.recommend import knee
from evo_libra.front.limits import Limits
from evo_libra.problem.file.registry import problem_names
from evo_libra.problem.objectives import MEASURES

GIVEN: dict[str, Any] = {
    "version": 1,
    "name": "mine",
    "npus": 64,
    "fabric": {"catalog": "libra-cosearch", "max_dimensions": 2},
    "workloads": [{"model": "gpt-3-libra", "parallelism": {"tp": 4}, "compute_TFLOPS": 234}],
    "time": "libra",
    "objectives": ["time", "cost"],
    "bandwidth": {"mode": "search", "min_GBps": 1, "max_GBps": 700},
}


@pytest.fixture(scope="module")
def front() -> Front:
    return search("gpt3-4k", evaluations=1000, seed=3)


def test_a_search_takes_the_name_of_a_problem(front: Front) -> None:
    assert front.frame.equals(search(load_problem("gpt3-4k"), evaluations=1000, seed=3).frame)
    with pytest.raises(InputError, match="did you mean 'gpt3-4k'"):
        search("gpt3-4")


def test_a_problem_is_a_dictionary_too() -> None:
    problem = load_problem(GIVEN, ["npus=128"])
    assert isinstance(problem, Problem)
    assert (problem.name, problem.npus) == ("mine", 128)
    assert len(search(load_problem(GIVEN), evaluations=200, population=20)) > 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"npuss": 3}, "dictionary:1:.* unknown key 'npuss'"),
        ({"npus": {1}}, "has what a file cannot have: Object of type set"),
        ({"npus": float("nan")}, "has what a file cannot have"),
    ],
)
def test_mistakes_of_a_dictionary_are_said(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_problem({**GIVEN, **changed})


LARGE = ("buy-kimi-k2-8k", "buy-llama3-405b-16k", "deepseek-v3-2k", "mixed-models-4k", "transformer-1t-memory")
"""Problems that take seconds to load."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in problem_names() if ":" not in name
])  # fmt: skip
def test_a_problem_shows_itself_in_few_lines(name: str) -> None:
    problem = load_problem(name)
    text = repr(problem)
    assert len(text.splitlines()) <= 10
    if isinstance(problem, Problem):
        assert f"'{problem.name}', {problem.npus:,} NPUs" in text
        assert all(objective.name in text for objective in problem.objectives)


def test_a_front_answers_which_one(front: Front) -> None:
    row = knee(front.frame.select(front.objectives).to_numpy().T)
    assert front.knee() == front.frame.row(row, named=True)
    assert front.families()["designs"].sum() == len(front)
    within = front.recommend(cost_usd=2e6)
    assert within[0]["time_ms"] == front.frame.filter(pl.col("cost_usd") <= 2e6)["time_ms"].min()
    with pytest.raises(InfeasibleError, match="nothing on the front keeps cost <= 1 USD"):
        front.recommend(cost_usd=1.0)
    assert front.recommend(others={"cost_usd": 2e6}) == within
    assert front.verdict(cost_usd=2e6) == front.verdict(others={"cost_usd": 2e6})
    with pytest.raises(InputError, match="ttft_ms is no objective of the front: time_ms, cost_usd"):
        front.recommend(ttft_ms=1.0)


def test_limits_of_a_front_are_the_columns_of_objectives() -> None:
    columns = {one.objective.column for one in MEASURES.values() if one.statistic is None}
    assert Limits.__annotations__.keys() == columns
    for method in (Front.recommend, Front.verdict):
        assert method.__annotations__["limits"] == "Unpack[Limits]"


@pytest.mark.slow
def test_a_front_draws_itself(front: Front, tmp_path: Path) -> None:
    picture = front.plot(tmp_path / "front.png")
    assert picture.startswith(b"\x89PNG")
    assert (tmp_path / "front.png").read_bytes() == picture == front.plot()


def test_pandas_is_an_extra(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"needs pandas: pip install 'evo-libra\[pandas\]'"):
        front.to_pandas()
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    assert front.to_pandas()["time_ms"] == front.frame["time_ms"].to_list()


def test_a_result_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(tmp_path, "search", "gpt3-4k", "--evaluations", "300", "--population", "50")
    result = Result.load("last")
    assert result.folder == Result.load("gpt3").folder == Result.load(result.folder).folder
    assert result.front.frame.equals(Front.read(result.folder / "front.parquet").frame)
    assert result.manifest["seed"] == 0
    assert result.problem.identity() == load_problem("gpt3-4k").identity()
    assert repr(result).endswith(f"{len(result.front)} designs of time_ms, cost_usd)")
    with pytest.raises(InputError, match="there is no run 'other'"):
        Result.load("other")


def test_every_name_is_there() -> None:
    assert all(hasattr(evo_libra, name) for name in evo_libra.__all__)
