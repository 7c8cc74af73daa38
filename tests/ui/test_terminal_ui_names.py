"""Names of runs that stay different where there is little room for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from evo_libra.experiment.run.record import RunRecord
from evo_libra.ui.terminal.queue_view import distinct, run_names

NAMES = st.lists(st.text("ab0 -", min_size=1, max_size=24), max_size=30)


@given(NAMES, st.integers(4, 24))
def test_different_names_stay_different_and_fit(names: list[str], width: int) -> None:
    short = distinct(names, width)
    assert set(short) == set(names)
    assert len(set(short.values())) == len(short)
    assert all(len(name) <= width for name in short.values())


@given(NAMES)
def test_names_that_fit_are_whole(names: list[str]) -> None:
    assert distinct(names, 24) == {name: name for name in names}


def test_a_run_says_its_engine_where_all_have_the_same() -> None:
    run = SimpleNamespace(id="a", problem="gpt3-4k", name="", engine="nsga2", seed=3)
    assert run_names([cast("RunRecord", run)]) == {"a": "gpt3-4k nsga2 s3"}
