from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.plugins.repurpose import weights_file
from evo_libra.plugins.repurpose.weights_file import random_perceptron, read_perceptron

GOOD: Mapping[str, Any] = {
    "W1": np.eye(3, 4), "b1": np.zeros(3), "W2": np.ones((2, 3), dtype=np.float32), "inputs": np.ones((5, 4)),
    "held_out_inputs": np.ones((2, 4), dtype=np.uint8), "held_out_labels": np.array([0, 1], dtype=np.uint8),
}  # fmt: skip


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", **GOOD)
    found = read_perceptron(tmp_path / "w.npz")
    assert [layer.weights.shape for layer in found.layers] == [(3, 4), (2, 3)]
    assert found.layers[1].bias is None
    assert found.held_out is not None
    assert found.error_rate() == 0.5
    np.savez_compressed(tmp_path / "packed.npz", **GOOD)
    assert read_perceptron(tmp_path / "packed.npz").digest == found.digest
    np.savez(tmp_path / "other.npz", **{**GOOD, "W2": 2.0 * np.ones((2, 3))})
    assert read_perceptron(tmp_path / "other.npz").digest != found.digest


@pytest.mark.parametrize(("changes", "sentence"), [
    ({"W1": None}, "W1: is missing; the arrays are W1, b1"),
    ({"W1": None, "W2": None, "b1": None}, "W1: is missing"),
    ({"inputs": None}, "inputs: is missing"),
    ({"held_out_labels": None}, "held_out_labels: is missing"),
    ({"W2": np.ones((2, 4))}, "W2: has 4 inputs, but W1 has 3 outputs"),
    ({"b1": np.ones(2)}, "b1: has 2 values, but W1 has 3 outputs"),
    ({"inputs": np.ones((5, 3))}, "inputs: has 3 inputs a sample, W1 has 4"),
    ({"W1": np.full((3, 4), np.nan)}, "W1: has NaN or infinity"),
    ({"inputs": np.full((5, 4), np.inf)}, "inputs: has NaN or infinity"),
    ({"W1": np.ones((3, 4), dtype=complex)}, "W1: is of complex128; real numbers are needed"),
    ({"W1": np.array([["a"]])}, "W1: is of <U1; real numbers are needed"),
    ({"W1": np.ones(3)}, "W1: has the shape (3,)"),
    ({"W1": np.ones((0, 4))}, "W1: has the shape (0, 4)"),
    ({"W1": np.array([[object()]])}, "W1: has Python objects, which are never loaded"),
    ({"held_out_labels": np.array([0, 2])}, "labels are the outputs 0 to 1"),
    ({"held_out_labels": np.array([0.0, 1.0])}, "whole numbers are needed"),
    ({"held_out_labels": np.array([0])}, "has 1 labels for 2 samples"),
    ({"input": np.ones((5, 4))}, "unknown array 'input'"),
    ({"W1": np.zeros((3, 4))}, "a layer cannot be partitioned: its outputs are 0"),
])  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence(tmp_path: Path, changes: Mapping[str, Any], sentence: str) -> None:
    arrays = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    np.savez(tmp_path / "w.npz", **arrays)
    with pytest.raises(InputError) as error:
        read_perceptron(tmp_path / "w.npz")
    assert sentence in str(error.value)
    assert "w.npz" in str(error.value)


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="cannot be read: no such file"):
        read_perceptron(tmp_path / "none.npz")
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(InputError, match=r"is no \.npz file"):
        read_perceptron(tmp_path / "one.npy")
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as packed:
        packed.writestr("W1", "text")
    with pytest.raises(InputError, match="is no array"):
        read_perceptron(tmp_path / "text.npz")
    np.savez(tmp_path / "w.npz", **GOOD)
    monkeypatch.setattr(weights_file, "MAX_BYTES", 100)
    with pytest.raises(InputError, match="of arrays, more than"):
        read_perceptron(tmp_path / "w.npz")


@given(st.integers(0, 2**16), st.integers(0, 7))
def test_damage_is_an_error_of_one_sentence_or_harmless(place: int, bit: int) -> None:
    file = io.BytesIO()
    np.savez(file, **GOOD)
    raw = bytearray(file.getvalue())
    raw[place % len(raw)] ^= 1 << bit
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "w.npz"
        path.write_bytes(raw)
        try:
            found = read_perceptron(path)
        except InputError:
            return
    assert found.layers[0].weights.shape == (3, 4)


def test_random_weights_follow_from_their_sizes() -> None:
    assert random_perceptron((4, 3, 2)).digest == random_perceptron((4, 3, 2)).digest
    assert random_perceptron((4, 3, 2)).digest != random_perceptron((4, 3, 2), seed=1).digest
