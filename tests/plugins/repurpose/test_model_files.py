"""Networks of other programs: files that onnx 1.23 and safetensors 0.8 wrote, and what they may not have.

`gemm.onnx` has the nodes that PyTorch writes for a Sequential, `matmul.onnx` those of Keras: Flatten, MatMul and Add of
64 bits, a Constant, a Softmax. All files have the same weights.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.plugins.repurpose.model_files import (
    Arrays,
    _in_64_bits,
    _model_class,
    arrays_of_onnx,
    arrays_of_safetensors,
)

DATA = Path(__file__).parent / "data"
ONNX, TENSORS = DATA / "gemm.onnx", DATA / "sequential.safetensors"
WEIGHTS = {
    "W1": [[0.125, -0.125, 0.625, 0.125], [-0.5, 0.375, 1.25, 1.0], [-0.75, -1.25, -0.625, 0.0]],
    "b1": [-2.375, -0.25, -1.25],
    "W2": [[-0.75, -0.5, -0.375], [0.375, 1.0, -0.125]],
    "b2": [1.375, -0.625],
}


@pytest.mark.parametrize(
    ("read", "name"),
    [(arrays_of_onnx, "gemm.onnx"), (arrays_of_onnx, "matmul.onnx"), (arrays_of_safetensors, "sequential.safetensors")],
)
def test_files_of_other_programs_have_the_same_layers(read: Callable[[Path], Arrays], name: str) -> None:
    assert {key: array.tolist() for key, array in read(DATA / name).items()} == WEIGHTS


def test_the_labels_of_a_converted_classifier_are_left_out() -> None:
    # skl2onnx 1.20 wrote it: Cast, MatMul, Add, Relu, MatMul, Add, Softmax, then ArgMax and the names of classes.
    found = arrays_of_onnx(DATA / "sklearn.onnx")
    assert {key: found[key].tolist() for key in ("W1", "b1")} == {key: WEIGHTS[key] for key in ("W1", "b1")}
    assert found["W2"].tolist() == [*WEIGHTS["W2"], [1.5, 0.25, -2.0]]
    assert found["b2"].tolist() == [*WEIGHTS["b2"], 0.5]


def test_a_product_behind_a_softmax_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(lambda graph: setattr(graph.node[1], "op_type", "Softmax")))
    with pytest.raises(InputError, match=r"node\[2\]: found Gemm"):
        arrays_of_onnx(path)


def test_a_problem_takes_weights_and_samples_from_two_files(tmp_path: Path) -> None:
    samples = tmp_path / "samples.npz"
    random = np.random.default_rng(0)
    np.savez(samples, inputs=random.normal(size=(20, 4)) + 2, held_out_inputs=np.ones((2, 4)), held_out_labels=[0, 1])
    found: list[Any] = [
        load_problem("repurpose", [f"weights={path}", f"samples={samples}", "workers=2"])
        for path in (ONNX, DATA / "matmul.onnx", TENSORS)
    ]
    assert len({json.dumps(dict(problem.identity())) for problem in found}) == 1
    assert [objective.name for objective in found[0].objectives] == ["traffic", "error", "imbalance", "error-rate"]
    with pytest.raises(InputError, match=r"samples: is needed: gemm\.onnx has weights"):
        load_problem("repurpose", [f"weights={ONNX}"])
    both = tmp_path / "both.npz"
    np.savez(both, inputs=np.ones((5, 4)), W1=np.ones((3, 4)))
    with pytest.raises(InputError, match="W1: is in the file of the weights, too"):
        load_problem("repurpose", [f"weights={ONNX}", f"samples={both}"])


def model(change: Callable[[Any], object]) -> bytes:
    """Return `gemm.onnx` with a change of its graph."""
    found = _model_class()()
    found.ParseFromString(ONNX.read_bytes())
    change(found.graph)
    return bytes(found.SerializeToString())


def attribute(graph: Any, name: str, value: float) -> None:
    (found,) = (one for one in graph.node[0].attribute if one.name == name)
    found.f, found.i = value, int(value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda graph: setattr(graph.node[1], "op_type", "Sigmoid"), r"node\[1\]: found Sigmoid: networks of Gemm"),
        (lambda graph: graph.node[1].input.__setitem__(0, "x"), r"node\[1\]: found Relu: it does not read"),
        (lambda graph: graph.node.__delitem__(1), "it does not read the node before"),
        (lambda graph: graph.node.__delitem__(2), "ends in no product"),
        (lambda graph: attribute(graph, "alpha", 0.5), "alpha and beta have to be 1"),
        (lambda graph: graph.initializer.__delitem__(0), r"'0\.weight' is no tensor of 16, 32 or 64 bits"),
        (lambda graph: setattr(graph.initializer[0], "data_type", 7), r"'0\.weight' is no tensor"),
        (lambda graph: setattr(graph.initializer[0], "data_location", 1), "lies in another file"),
        (lambda graph: graph.initializer[0].dims.__setitem__(0, 5), "cannot reshape"),
        (lambda graph: setattr(graph.node[1], "op_type", "Identity"), "no Relu is between it and the product before"),
    ],
)  # fmt: skip
def test_nodes_that_no_perceptron_has_are_named(tmp_path: Path, change: Callable[[Any], object], sentence: str) -> None:
    (tmp_path / "m.onnx").write_bytes(model(change))
    with pytest.raises(InputError, match=sentence):
        arrays_of_onnx(tmp_path / "m.onnx")


def tensors(tmp_path: Path, header: Mapping[str, Any], raw: bytes) -> Path:
    words = json.dumps(header).encode()
    path = tmp_path / "m.safetensors"
    path.write_bytes(len(words).to_bytes(8, "little") + words + raw)
    return path


def test_layers_go_by_their_numbers_and_numbers_may_have_16_bits(tmp_path: Path) -> None:
    # 1.5 is 0x3FC0 as bfloat16, and -2 is 0xC000 as float16.
    one = {"dtype": "BF16", "shape": [1, 1], "data_offsets": [0, 2]}
    two = {"dtype": "F16", "shape": [1, 1], "data_offsets": [2, 4]}
    path = tensors(tmp_path, {"fc10.weight": two, "fc9.weight": one}, b"\xc0\x3f\x00\xc0")
    assert {key: array.tolist() for key, array in arrays_of_safetensors(path).items()} == {
        "W1": [[1.5]],
        "W2": [[-2.0]],
    }


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("a.scale", {}, r"a\.scale: is of no layer"),
        ("a.weight", {"dtype": "I8"}, "found I8 of the shape"),
        ("a.weight", {"shape": [3, 1]}, "as long as its shape is needed"),
        ("a.weight", {"data_offsets": [0, 1]}, "as long as its shape is needed"),
        ("a.weight", {"data_offsets": None}, "as long as its shape is needed"),
    ],
)
def test_tensors_that_no_layer_has_are_named(
    tmp_path: Path, name: str, change: Mapping[str, Any], sentence: str
) -> None:
    entry = {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4], **change}
    with pytest.raises(InputError, match=sentence):
        arrays_of_safetensors(tensors(tmp_path, {name: entry}, bytes(4)))


@pytest.mark.parametrize(("read", "path"), [(arrays_of_onnx, ONNX), (arrays_of_safetensors, TENSORS)])
@given(place=st.integers(0, 2**16), bit=st.integers(0, 7), cut=st.integers(0, 2**16))
def test_damage_is_an_error_of_one_sentence_or_harmless(
    read: Callable[[Path], Arrays], path: Path, place: int, bit: int, cut: int
) -> None:
    raw = bytearray(path.read_bytes())
    raw[place % len(raw)] ^= 1 << bit
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / path.name
        damaged.write_bytes(raw[: max(cut % (2 * len(raw)), 1)])
        try:
            found = read(damaged)
        except InputError as error:
            assert "\n" not in str(error)
        else:
            assert all(array.dtype == np.float64 for array in found.values())


@pytest.mark.parametrize(("bits", "kind"), [(0x7F800001, "<f4"), (0x7C01, "<f2")])
def test_a_signalling_nan_is_read_without_a_warning(bits: int, kind: str) -> None:
    """One flipped bit of a weight made one, and NumPy warned of its cast."""
    raw = bits.to_bytes(int(kind[-1]), "little")
    assert np.isnan(_in_64_bits(np.frombuffer(raw, kind))).all()
