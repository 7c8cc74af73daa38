"""Trained weights and samples from files, checked; nothing in them is executed."""

from __future__ import annotations

import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError, Mistake, unknown, unusable
from evo_libra.plugins.repurpose.copies import energies_of
from evo_libra.plugins.repurpose.model_files import arrays_of_onnx, arrays_of_safetensors
from evo_libra.plugins.repurpose.perceptron import Labelled, Layer, Perceptron

MAX_BYTES = 10**9
"""Bytes of all arrays; a larger file is refused before its arrays are unpacked."""

_DAMAGE = (
    zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, OverflowError, MemoryError, NotImplementedError,
    RuntimeError, SyntaxError, TypeError, struct.error, tokenize.TokenError,
)  # fmt: skip
"""Errors of NumPy and its readers of archives and headers for damaged bytes."""

_INPUTS, _HELD_OUT, _LABELS = "inputs", "held_out_inputs", "held_out_labels"
_OF_LAYER = re.compile("[Wb][1-9][0-9]*")
_EXPECTED = f"W1, b1, W2, ..., {_INPUTS}, {_HELD_OUT} and {_LABELS}"


OTHERS: Mapping[str, Callable[[Path], Mapping[str, Any]]] = {
    ".onnx": arrays_of_onnx, ".safetensors": arrays_of_safetensors
}  # fmt: skip
"""Readers of files without samples, by the endings of their names."""


def read_perceptron(path: Path, samples: Path | None = None) -> Perceptron:
    """Read a perceptron from an ``.npz`` file, or its weights from an ONNX or safetensors file.

    ``W1``, ``W2``, ... are the weights (outputs, inputs) of the layers, ``b1``, ... their biases, where they have any.
    ``inputs`` are (samples, inputs) that errors are taken over. ``held_out_inputs`` and ``held_out_labels``, which may
    be left out, are samples for the error rate with the number of the right output of each. Samples may lie in an
    ``.npz`` file of their own; those of weights from another program do.

    Raises
    ------
    InputError : the file cannot be read or is no such file, an array is missing, is not of finite real numbers, has
        the wrong shape or does not fit the layer before it; all of these are listed.
    """
    arrays = _together(OTHERS.get(path.suffix, _arrays)(path), samples)
    mistakes = [Mistake(message, str(_file_of(key, path, samples)), key=key) for key, message in _mistakes(arrays)]
    if mistakes:
        raise InputError(mistakes)
    count = _layers(arrays)
    numbers = {key: np.asarray(value, dtype=np.float64) for key, value in arrays.items() if key != _LABELS}
    layers = tuple(Layer(numbers[f"W{n}"], numbers.get(f"b{n}")) for n in range(1, count + 1))
    labels = np.asarray(arrays[_LABELS], dtype=np.int64) if _LABELS in arrays else None
    held_out = None if labels is None else Labelled(numbers[_HELD_OUT], labels)
    network = Perceptron(layers, numbers[_INPUTS], held_out)
    try:
        energies_of(network)
    except ValueError as error:
        raise InputError(Mistake(f"a layer cannot be partitioned: {error}", str(path))) from None
    return network


def random_perceptron(sizes: tuple[int, ...], seed: int = 0, samples: int = 256) -> Perceptron:
    """Return a perceptron with layers of some sizes whose weights and inputs are drawn at random.

    Weights have the variance 2 / inputs, so that all layers have outputs of the same size; inputs are standard normal.

    >>> [layer.weights.shape for layer in random_perceptron((8, 6, 2)).layers]
    [(6, 8), (2, 6)]
    """
    random = np.random.Generator(np.random.PCG64(seed))
    layers = tuple(
        Layer(random.normal(0.0, np.sqrt(2.0 / inputs), (outputs, inputs)), np.zeros(outputs))
        for inputs, outputs in pairwise(sizes)
    )
    return Perceptron(layers, random.normal(size=(samples, sizes[0])))


def _file_of(key: str, path: Path, samples: Path | None) -> Path:
    """Return the file that an array is looked for in."""
    return samples if samples is not None and key in (_INPUTS, _HELD_OUT, _LABELS) else path


def _together(arrays: Mapping[str, Any], samples: Path | None) -> Mapping[str, Any]:
    if samples is None:
        return arrays
    more = _arrays(samples)
    if twice := sorted(set(arrays) & set(more)):
        raise InputError(Mistake("is in the file of the weights, too; one is needed", str(samples), key=twice[0]))
    return {**arrays, **more}


def _arrays(path: Path) -> Mapping[str, Any]:
    """Return the arrays of a file by their keys."""
    try:
        with zipfile.ZipFile(path) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > MAX_BYTES:
            reason = f"has {size / 1e9:.3g} GB of arrays, more than {MAX_BYTES / 1e9:.3g} GB"
            raise InputError(Mistake(reason, str(path)))
        with np.load(path, allow_pickle=False) as file:
            return {key: _array(path, file, key) for key in file.files}
    except OSError as error:
        raise unusable(path, "read", error) from None
    except _DAMAGE:
        raise InputError(Mistake(f"is no .npz file of arrays {_EXPECTED}", str(path))) from None


def _array(path: Path, file: Any, key: str) -> Any:  # noqa: ANN401 - NumPy's archive, and arrays of any type
    try:
        found = file[key]
    except _DAMAGE as error:
        reason = "has Python objects, which are never loaded" if "pickle" in str(error) else f"is damaged: {error}"
        raise InputError(Mistake(f"{reason}; arrays of numbers are needed", str(path), key=key)) from None
    if not isinstance(found, np.ndarray):
        raise InputError(Mistake("is no array", str(path), key=key))
    return found


def _layers(arrays: Mapping[str, Any]) -> int:
    return max((int(key[1:]) for key in arrays if key.startswith("W") and _OF_LAYER.fullmatch(key)), default=0)


def _mistakes(arrays: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the key of each wrong array, and why."""
    count = _layers(arrays)
    known = [f"{kind}{n}" for n in range(1, count + 1) for kind in "Wb"] + [_INPUTS, _HELD_OUT, _LABELS]
    for key in arrays:
        if key not in known:
            yield key, unknown("array", key, known or ["W1", "b1", _INPUTS])
    needed = [*(f"W{n}" for n in range(1, max(count, 1) + 1)), _INPUTS]
    together = [_HELD_OUT, _LABELS] if {_HELD_OUT, _LABELS} & set(arrays) else []
    missing = [key for key in (*needed, *together) if key not in arrays]
    for key in missing:
        yield key, f"is missing; the arrays are {_EXPECTED}"
    wrong = {key: reason for key in known if key in arrays and (reason := _reason(key, arrays[key]))}
    yield from wrong.items()
    if not missing and not wrong:
        yield from _misfits(arrays, count)


def _reason(key: str, array: Any) -> str:  # noqa: ANN401 - an array of any type
    """Return why an array alone is wrong; empty where it is not."""
    dimensions = 1 if key.startswith("b") or key == _LABELS else 2
    kinds = "iu" if key == _LABELS else "iuf"
    if array.dtype.kind not in kinds:
        return f"is of {array.dtype}; {'whole numbers' if key == _LABELS else 'real numbers'} are needed"
    if array.ndim != dimensions or 0 in array.shape:
        shape = "(samples,) or (outputs,)" if dimensions == 1 else "(outputs, inputs) or (samples, inputs)"
        return f"has the shape {array.shape}; {shape} is needed, none of them 0"
    if not np.isfinite(array).all():
        return "has NaN or infinity"
    return ""


def _misfits(arrays: Mapping[str, Any], count: int) -> Iterator[tuple[str, str]]:
    """Yield the key of each array that does not fit another one, and why."""
    width = arrays["W1"].shape[1]
    for key in (_INPUTS, _HELD_OUT):
        if key in arrays and arrays[key].shape[1] != width:
            yield key, f"has {arrays[key].shape[1]} inputs a sample, W1 has {width}"
    for n in range(1, count + 1):
        weights: FloatArray = arrays[f"W{n}"]
        if n > 1 and weights.shape[1] != len(arrays[f"W{n - 1}"]):
            yield f"W{n}", f"has {weights.shape[1]} inputs, but W{n - 1} has {len(arrays[f'W{n - 1}'])} outputs"
        bias = arrays.get(f"b{n}")
        if bias is not None and len(bias) != len(weights):
            yield f"b{n}", f"has {len(bias)} values, but W{n} has {len(weights)} outputs"
    labels = arrays.get(_LABELS)
    if labels is None:
        return
    if len(labels) != len(arrays[_HELD_OUT]):
        yield _LABELS, f"has {len(labels)} labels for {len(arrays[_HELD_OUT])} samples"
    if labels.min() < 0 or labels.max() >= len(arrays[f"W{count}"]):
        outputs = len(arrays[f"W{count}"])
        yield _LABELS, f"has {labels.min()} to {labels.max()}; labels are the outputs 0 to {outputs - 1}"
