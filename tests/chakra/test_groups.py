"""Files of communicator groups."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from effort import costly
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evo_libra.chakra.groups import parse_groups, read_groups, write_groups
from evo_libra.errors import InputError

GOLDEN = Path(__file__).parents[1] / "golden" / "chakra"
NAMES = st.integers(1, 10**6).map(str)
MEMBERS = st.lists(st.integers(0, 10**6), min_size=1, max_size=5, unique=True).map(tuple)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=50)
@given(groups=st.dictionaries(NAMES, MEMBERS, max_size=5))
def test_what_is_written_is_read(tmp_path: Path, groups: dict[str, tuple[int, ...]]) -> None:
    write_groups(tmp_path / "groups.json", groups)
    assert read_groups(tmp_path / "groups.json") == groups


def test_groups_of_a_sample(tmp_path: Path) -> None:
    groups = json.loads((GOLDEN / "gpipe_golden" / "decoded_and_result.json").read_text())["comm_groups"]
    write_groups(tmp_path / "groups.json", groups)
    assert (tmp_path / "groups.json").read_text() == '{"1": [0, 1], "2": [2, 3], "3": [4, 5], "4": [6, 7]}\n'
    assert read_groups(tmp_path / "groups.json", npus=8)["4"] == (6, 7)


@pytest.mark.parametrize(("text", "expected"), [
    ("", "g:1:1: is not JSON: expecting value"),
    ('{"1": [0, 1],\n "2": [2 3]}', "g:2:10: is not JSON: expecting ',' delimiter"),
    ("[[0, 1]]", 'g: is no file of groups: it must be an object of lists of NPUs, as {"1": [0, 1]}'),
    ('{"0": [0, 1]}', "g: group '0': must be named by a positive number; 0 is all NPUs"),
    ('{"tp": [0, 1]}', "g: group 'tp': must be named by a positive number"),
    ('{"01": [0, 1]}', "g: group '01': must be named by a positive number"),
    ('{"1": [0, 1], "1": [2, 3]}', "g: group '1': is there twice"),
    ('{"1": []}', "g: group '1': must be a list of at least one NPU"),
    ('{"1": 5}', "g: group '1': must be a list of at least one NPU"),
    ('{"1": {"a": 1}}', "g: group '1': must be a list of at least one NPU"),
    ('{"1": [0, -1]}', "g: group '1': has the member -1; NPUs are whole numbers from 0 on"),
    ('{"1": [0, 1.0]}', "g: group '1': has the member 1.0; NPUs are whole numbers from 0 on"),
    ('{"1": [0, true]}', "g: group '1': has the member True; NPUs are whole numbers from 0 on"),
    ('{"1": [0, "a\\nb"]}', r"g: group '1': has the member a\nb; NPUs are whole numbers from 0 on"),
    ('{"1": [0, 4]}', "g: group '1': has NPU 4, but there are 4: 0 to 3"),
    ('{"1": [3, 0, 3]}', "g: group '1': has NPU 3 twice"),
    ("[" * 100_000, "g: is no file of groups: it has a number or a nesting that is too long"),
    ('{"1": [' + "9" * 10_000 + "]}", "g: is no file of groups: it has a number or a nesting that is too long"),
    ('{"0": [0], "1": [7]}',
     ("g: group '0': must be named by a positive number; 0 is all NPUs\n"
      "g: group '1': has NPU 7, but there are 4: 0 to 3")),
])  # fmt: skip
def test_what_is_wrong_is_said(text: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_groups(text, "g", npus=4)
    assert str(caught.value) == expected


@given(text=st.text(max_size=30) | st.text(list('{}[]":,01 \n'), max_size=30))
@costly(100)
def test_any_text_is_groups_or_an_input_error(text: str) -> None:
    try:
        groups = parse_groups(text, "g")
    except InputError as error:
        assert str(error).startswith("g:")
    else:
        assert all(name.isdigit() and members for name, members in groups.items())


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: no such file"):
        read_groups(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"cannot be written: .*directory"):
        write_groups(tmp_path, {"1": [0]})
    with pytest.raises(InputError, match="group '0': must be named by a positive number"):
        write_groups(tmp_path / "groups.json", {"0": [0]})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "latin.json").write_bytes(b'{"1": [0]}\xff')
    with pytest.raises(InputError, match=r"is not UTF-8 text \(byte 11\)"):
        read_groups(tmp_path / "latin.json")
