"""Names of runs that stay different where there is little room for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evo_libra.ui.terminal.queue_view import distinct

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
