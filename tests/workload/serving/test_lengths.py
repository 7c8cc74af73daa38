"""Lengths of requests: their averages, and files of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evo_libra.errors import InputError
from evo_libra.workload.serving.lengths import exponential_lengths, fixed_lengths, read_lengths


def test_fixed_lengths_are_the_lengths() -> None:
    found = fixed_lengths(1000, 500)
    assert (found.prompt, found.answer, found.context, found.longest) == (1000, 500, 1250, 1500)


def test_exponential_lengths_have_their_means_and_longer_contexts() -> None:
    """A token belongs to a long answer more often: answers have twice their mean from the view of their tokens."""
    found = exponential_lengths(1000, 500)
    assert found.prompt == pytest.approx(1000, rel=0.01)
    assert found.answer == pytest.approx(500, rel=0.01)
    assert found.context == pytest.approx(1000 + 500, rel=0.03)
    assert found.longest == pytest.approx(1000 + 2 * 500, rel=0.03)


def test_a_file_has_a_request_in_each_row(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("output,input,who\n2,10,a\n6,30,b\n")
    found = read_lengths(tmp_path / "r.csv")
    np.testing.assert_array_equal(found.prompts, [10, 30])
    assert (found.prompt, found.answer) == (20, 4)
    assert found.context == (2 * (10 + 1) + 6 * (30 + 3)) / 8
    prompts, answers = found.drawn(np.random.default_rng(0), 50)
    assert set(zip(prompts.tolist(), answers.tolist(), strict=True)) == {(10, 2), (30, 6)}


@pytest.mark.parametrize(("text", "part"), [
    ("", "the columns input and output are needed, found no rows"),
    ("in,out\n1,2\n", "the columns input and output are needed, found in, out"),
    ("input,output\n10,5\n10,1\n", "r.csv:3: found input 10 and output 1; whole numbers of tokens are needed"),
    ("input,output\n1e3,5\n", "r.csv:2: found input 1e3 and output 5"),
    ("input,output\n10\n", "found input 10 and output nothing"),
])  # fmt: skip
def test_what_is_wrong_in_a_file_is_told(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_lengths(tmp_path / "r.csv")
    assert part in str(caught.value)


def test_a_cell_that_is_too_long_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("a" * 200_000)
    with pytest.raises(InputError, match="is no table of values with commas: field larger than field limit"):
        read_lengths(tmp_path / "r.csv")
