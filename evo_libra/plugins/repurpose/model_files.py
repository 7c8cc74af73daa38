"""Weights of perceptrons from files of other programs: ONNX and safetensors; nothing in them is executed.

Sources: the fields of ONNX's messages (onnx.proto, ONNX 1.23, 2026) and the layout of safetensors (Hugging Face, 2022).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError, Mistake, unusable

Arrays = dict[str, FloatArray]
"""``W1``, ``b1``, ... of the layers, weights as (outputs, inputs)."""

_FLOATS = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
_HEADER = 8
"""Bytes of the length of a header of safetensors."""
_NUMBERS = {1: np.float32, 10: np.float16, 11: np.float64}
"""Types of ONNX's tensors by their numbers."""
_PASSED = ("Flatten", "Identity", "Dropout", "Reshape", "Cast")
_AT_THE_END = ("Softmax", "LogSoftmax", "ArgMax")
_LABELLING = {*_AT_THE_END, "Identity", "Reshape", "Cast", "ArrayFeatureExtractor", "ZipMap"}
"""Nodes that may follow those at the end, as scikit-learn's converter writes them."""
_READ = "Gemm, MatMul, Add and Relu"


def arrays_of_safetensors(path: Path) -> Arrays:
    """Return the layers of a safetensors file: ``NAME.weight`` and ``NAME.bias``, in the order of the numbers in NAME.

    The file has no activations: rectified linear units are assumed between the layers.

    Raises
    ------
    InputError : the file cannot be read, is damaged, or has a tensor that is of no such layer.
    """
    tensors = dict(_tensors(path, _content(path)))
    names = sorted((name.removesuffix(".weight") for name in tensors if name.endswith(".weight")), key=_numbered)
    known = {f"{name}.{part}": f"{kind}{n}" for n, name in enumerate(names, 1) for part, kind in _PARTS}
    for name in tensors:
        if name not in known:
            raise _wrong(path, name, "is of no layer; layers are NAME.weight and NAME.bias")
    return {known[name]: tensor for name, tensor in tensors.items()}


_PARTS = (("weight", "W"), ("bias", "b"))


def _numbered(name: str) -> list[tuple[int, str]]:
    """Return what sorts names by their numbers: layer 10 comes after layer 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise unusable(path, "read", error) from None


def _tensors(path: Path, content: bytes) -> Iterator[tuple[str, FloatArray]]:
    end = _HEADER + int.from_bytes(content[:_HEADER], "little")
    try:
        header = json.loads(content[_HEADER:end] if end <= len(content) else b"")
        entries = {name: (one["dtype"], one["shape"], one["data_offsets"]) for name, one in header.items()
                   if name != "__metadata__"}  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError(Mistake("is no safetensors file", str(path))) from None
    for name, (kind, shape, offsets) in entries.items():
        try:
            first, last = offsets
            yield name, _numbers(content[end + first : end + last], kind).reshape(shape)
        except (ValueError, TypeError, KeyError):
            found = f"{kind} of the shape {shape}"
            raise _wrong(path, name, f"found {found}; F16, BF16, F32 or F64 as long as its shape is needed") from None


def _numbers(raw: bytes, kind: str) -> FloatArray:
    if kind == "BF16":  # the upper half of a number of 32 bits
        return _in_64_bits((np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32))
    return _in_64_bits(np.frombuffer(raw, _FLOATS[kind]))


def _in_64_bits(numbers: NDArray[np.floating[Any]]) -> FloatArray:
    """Return numbers of any size in 64 bits; a NaN that signals is one that whoever takes the numbers refuses."""
    with np.errstate(invalid="ignore"):
        return numbers.astype(np.float64)


def _wrong(path: Path, key: str, reason: str) -> InputError:
    return InputError(Mistake(reason, str(path), key=key))


@cache
def _model_class() -> Any:  # noqa: ANN401 - a class that protobuf makes
    """Return the message of an ONNX model with the fields that are read."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: PLC0415 - few need it

    file = descriptor_pb2.FileDescriptorProto(name="onnx_part.proto", package="onnx_part", syntax="proto3")
    kinds = descriptor_pb2.FieldDescriptorProto
    for message, fields in _FIELDS.items():
        described = file.message_type.add(name=message)
        for name, number, kind, repeated in fields:
            field = described.field.add(name=name, number=number, label=3 if repeated else 1)
            field.type = kinds.TYPE_MESSAGE if kind in _FIELDS else kinds.Type.Value(f"TYPE_{kind}")
            if kind in _FIELDS:
                field.type_name = f".onnx_part.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("onnx_part.Model"))


_FIELDS = {
    "Tensor": (
        ("dims", 1, "INT64", True), ("data_type", 2, "INT32", False), ("float_data", 4, "FLOAT", True),
        ("name", 8, "STRING", False), ("raw_data", 9, "BYTES", False), ("double_data", 10, "DOUBLE", True),
        ("data_location", 14, "INT32", False),
    ),
    "Attribute": (("name", 1, "STRING", False), ("f", 2, "FLOAT", False), ("i", 3, "INT64", False),
                  ("t", 5, "Tensor", False)),
    "Node": (("input", 1, "STRING", True), ("output", 2, "STRING", True), ("op_type", 4, "STRING", False),
             ("attribute", 5, "Attribute", True)),
    "Graph": (("node", 1, "Node", True), ("initializer", 5, "Tensor", True)),
    "Model": (("graph", 7, "Graph", False),),
}  # fmt: skip


def arrays_of_onnx(path: Path) -> Arrays:
    """Return the layers of an ONNX file whose nodes are a chain of products, biases and rectified linear units.

    Raises
    ------
    InputError : the file cannot be read, is damaged, or has a node that no perceptron has; the sentence names it.
    """
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - few need it

    model, content = _model_class()(), _content(path)
    try:
        model.ParseFromString(content)
    except DecodeError:
        raise InputError(Mistake("is no ONNX file", str(path))) from None
    known = {one.name: one for one in model.graph.initializer}
    known |= {node.output[0]: node.attribute[0].t for node in model.graph.node if _is_constant(node)}
    chain = _Chain({name: tensor for name, tensor in known.items() if tensor.data_type in _NUMBERS}, path)
    for place, node in enumerate(model.graph.node):
        if not _is_constant(node):
            chain.take(place, node)
    if not chain.arrays or chain.rectified:
        raise InputError(Mistake(f"ends in no product; networks of {_READ} are read", str(path)))
    return chain.arrays


def _is_constant(node: Any) -> bool:  # noqa: ANN401 - a message
    return bool(node.op_type == "Constant" and node.output and node.attribute)


class _Chain:
    """The layers of a graph, node by node.

    Attributes
    ----------
    arrays : of the layers so far.
    rectified : whether rectified linear units follow the last of them.
    """

    def __init__(self, tensors: Mapping[str, Any], path: Path) -> None:
        self.arrays: Arrays = {}
        self.rectified = self._ended = False
        self._tensors, self._path, self._value = tensors, path, ""
        self._steps: Mapping[str, Callable[[Any], None]] = {
            "Gemm": self._gemm, "MatMul": self._product, "Add": self._bias, "Relu": self._relu,
            **dict.fromkeys(_PASSED, lambda _: None), **dict.fromkeys(_AT_THE_END, self._end),
        }  # fmt: skip

    def take(self, place: int, node: Any) -> None:  # noqa: ANN401 - a message
        """Add a node that reads the value of the one before; raise an `InputError` for any other."""
        if not node.output:
            raise self._refusal(place, node, "it has no output")
        inputs = [name for name in node.input if name not in self._tensors]
        if self._ended and node.op_type in _LABELLING:
            return
        if node.op_type not in self._steps or self._ended:
            raise self._refusal(place, node, f"networks of {_READ}, in one chain, are read")
        if self.arrays and self._value not in inputs:
            raise self._refusal(place, node, "it does not read the node before, and only chains are read")
        try:
            self._steps[node.op_type](node)
        except (ValueError, KeyError, IndexError) as error:
            raise self._refusal(place, node, str(error)) from None
        self._value = node.output[0]

    def _refusal(self, place: int, node: Any, why: str) -> InputError:  # noqa: ANN401 - a message
        return InputError(Mistake(f"found {node.op_type}: {why}", str(self._path), key=f"node[{place}]"))

    def _weights(self, weights: FloatArray) -> None:
        if self.arrays and not self.rectified:
            raise ValueError("no Relu is between it and the product before")
        self.arrays[f"W{self._layers + 1}"] = weights
        self.rectified = False

    @property
    def _layers(self) -> int:
        return sum(name.startswith("W") for name in self.arrays)

    def _gemm(self, node: Any) -> None:  # noqa: ANN401 - a message
        given = {one.name: one for one in node.attribute}
        scales = [given[name].f for name in ("alpha", "beta") if name in given]
        if any(scale != 1.0 for scale in scales) or ("transA" in given and given["transA"].i):
            raise ValueError("alpha and beta have to be 1, and transA 0")
        weights = self._tensor(node.input[1])
        self._weights(weights if "transB" in given and given["transB"].i else weights.T)
        if len(node.input) > 2 and node.input[2]:  # noqa: PLR2004 - the bias is the third
            self.arrays[f"b{self._layers}"] = self._tensor(node.input[2]).reshape(-1)

    def _product(self, node: Any) -> None:  # noqa: ANN401 - a message
        self._weights(self._tensor(node.input[1]).T)

    def _bias(self, node: Any) -> None:  # noqa: ANN401 - a message
        (name,) = [name for name in node.input if name in self._tensors] or [node.input[1]]
        if not self.arrays or self.rectified or f"b{self._layers}" in self.arrays:
            raise ValueError("it follows no product")
        self.arrays[f"b{self._layers}"] = self._tensor(name).reshape(-1)

    def _relu(self, _: Any) -> None:  # noqa: ANN401 - a message
        if not self.arrays:
            raise ValueError("it follows no product")
        self.rectified = True

    def _end(self, _: Any) -> None:  # noqa: ANN401 - a message
        self._ended = True

    def _tensor(self, name: str) -> FloatArray:
        if name not in self._tensors:
            raise ValueError(f"'{name}' is no tensor of 16, 32 or 64 bits in the file")
        tensor = self._tensors[name]
        if tensor.data_location:
            raise ValueError(f"'{name}' lies in another file, which is not read")
        kind = _NUMBERS[tensor.data_type]
        found = np.frombuffer(tensor.raw_data, kind) if tensor.raw_data else np.array(
            tensor.double_data if kind is np.float64 else tensor.float_data
        )  # fmt: skip
        return _in_64_bits(found).reshape(tuple(tensor.dims))
