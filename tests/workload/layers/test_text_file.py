from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.collective import Collective
from evo_libra.errors import InputError
from evo_libra.workload.layers.text_file import parse_astra_sim_text, read_astra_sim_text

LAYER = "conv -1 10 ALLGATHER 64 20 ALLTOALL 128 30 REDUCESCATTER 256 5"


def parse(text: str) -> object:
    return parse_astra_sim_text(text, "w.txt", "w")


def test_columns_and_groups() -> None:
    workload = parse_astra_sim_text(f"HYBRID_TRANSFORMER\n1\n{LAYER}\n", "w.txt", "w")
    (layer,) = workload.layers
    assert [phase.compute for phase in layer.phases] == pytest.approx([10e-9, 20e-9, 30e-9])
    assert [phase.size for phase in layer.phases] == [64, 128, 256]
    assert [phase.group for phase in layer.phases] == ["tp", "tp", "dp"]
    assert [phase.collective for phase in layer.phases] == [
        Collective.ALL_GATHER, Collective.ALL_TO_ALL, Collective.REDUCE_SCATTER,
    ]  # fmt: skip
    assert workload.compute == pytest.approx(60e-9)


@pytest.mark.parametrize(("text", "line", "part"), [
    ("DATA", None, "starts with"),
    (f"DATTA\n1\n{LAYER}", 1, "did you mean 'DATA'"),
    (f"DATA\nx\n{LAYER}", 2, "'x' is no number of layers"),
    (f"DATA\n2\n{LAYER}", 2, "2 layers are announced, but 1 follow"),
    (f"DATA\n1\n{LAYER} 7", 3, "12 columns, this line has 13"),
    (f"DATA\n1\n{LAYER.replace('10', '-1', 1)}", 3, "'-1'"),
    (f"DATA\n1\n{LAYER.replace('10', 'nan', 1)}", 3, "'nan'"),
    (f"DATA\n1\n{LAYER.replace('ALLTOALL', 'ALLTOAL')}", 3, "did you mean 'ALLTOALL'"),
    (f"DATA\n1\n{LAYER.replace('128', '0')}", 3, "0 bytes"),
])  # fmt: skip
def test_a_wrong_line_is_named(text: str, line: int | None, part: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    (mistake,) = caught.value.mistakes
    assert mistake.line == line
    assert part in str(mistake)


def test_every_wrong_line_is_named() -> None:
    with pytest.raises(InputError) as caught:
        parse(f"DATA\n3\n{LAYER} 1\n{LAYER}\nconv x\n")
    assert [mistake.line for mistake in caught.value.mistakes] == [3, 5]


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_astra_sim_text(tmp_path / "none.txt")


@given(st.text(max_size=200) | st.lists(st.sampled_from(["DATA", "1", "2", LAYER, "x", ""])).map("\n".join))
def test_any_text_is_a_workload_or_an_input_error(text: str) -> None:
    try:
        assert parse_astra_sim_text(text, "w.txt", "w").layers
    except InputError as error:
        assert error.mistakes
