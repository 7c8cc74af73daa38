"""Traces whose nodes are known: what the quick reader returns is what the thorough one does, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.chakra.known import KnownNodes
from evo_libra.chakra.read import read_trace
from evo_libra.errors import InputError

FILES = sorted((Path(__file__).parents[1] / "golden" / "chakra").rglob("*.et"))


def reader() -> KnownNodes:
    return KnownNodes(nodes=10**6, dependencies=10**7, size=10**9)


def test_golden_traces_are_those_of_the_thorough_reader_and_are_read_quickly() -> None:
    known = reader()
    quick = [known.trace(path) for path in FILES]
    assert sum(one is not None for one in quick) > len(FILES) // 2
    for path, found in zip(FILES, quick, strict=True):
        if found is not None:
            assert (found[0], tuple(found[1])) == read_trace(path)
            assert known.trace(path) == found


def test_ids_that_are_cut_off_are_left_to_the_thorough_reader(tmp_path: Path) -> None:
    damaged = tmp_path / "trace.0.et"
    data = next(path for path in FILES if b"*\x01\x00" in path.read_bytes()).read_bytes()
    damaged.write_bytes(data.replace(b"*\x01\x00", b"*\x01\xe7", 1))
    assert reader().trace(damaged) is None
    with pytest.raises(InputError):
        read_trace(damaged)


@given(
    st.sampled_from(FILES),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=3),
    st.integers(0, 200),
)
def test_damaged_traces_are_no_others(
    tmp_path_factory: pytest.TempPathFactory, path: Path, flips: list[tuple[int, int]], cut: int
) -> None:
    data = bytearray(path.read_bytes()[:3000])
    for place, byte in flips:
        data[place % len(data)] = byte
    damaged = tmp_path_factory.mktemp("damaged") / "trace.0.et"
    damaged.write_bytes(bytes(data[: len(data) - cut % len(data)]))
    found = reader().trace(damaged)
    try:
        thorough = read_trace(damaged)
    except InputError:
        assert found is None
    else:
        assert found is None or (found[0], tuple(found[1])) == thorough
