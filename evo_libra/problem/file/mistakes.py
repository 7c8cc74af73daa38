"""All mistakes of a problem file at once: its stages are tried one by one, each where its keys have no mistakes."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from evo_libra.errors import InputError, Mistake
from evo_libra.files.integrity import opened
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source, key_path, validate
from evo_libra.problem.file.spec import ProblemSpec, WorkloadSpec
from evo_libra.workload.layers.generators import DlrmSpec, MoeSpec, TableSpec, TransformerSpec

if TYPE_CHECKING:
    from evo_libra.network.catalog.accelerator import Accelerator
    from evo_libra.problem.file.orders import OrderLoader

T = TypeVar("T")
_WORKLOAD = re.compile(r"workloads\[\d+\]")
_TOP = re.compile(r"workloads\[\d+\]|[^.\[]+")
_INSTEAD: dict[str, Any] = {"name": "unnamed", "npus": 2, "fabric": {"catalog": "libra"}, "workloads": [{}]}
"""Values that stand for required keys with mistakes; no stage that reads such a key is tried."""
_ROUNDS = 3
"""Keys that have mistakes, those at the top that need them, and such as pydantic has not come to before."""


@dataclass(frozen=True)
class ProblemFile:
    """A problem file by its schema; its source knows the place of every key, and paths are relative to its folder.

    `orders` reads the products of a file that asks for an order; it is None where the file asks for a design. `instead`
    has accelerators in place of those of the same name.
    """

    source: Source
    folder: Path
    spec: ProblemSpec
    orders: OrderLoader | None = None
    instead: Mapping[str, Accelerator] = field(default_factory=dict)

    @staticmethod
    def of(source: Source, folder: Path) -> ProblemFile:
        """Return the file of some data; an `InputError` says that the data does not follow the schema."""
        return ProblemFile(source, folder, validate(ProblemSpec, source))

    def fail(self, path: KeyPath, message: str) -> InputError:
        """Return the error for a key of the file."""
        return InputError(self.source.mistake(path, message))

    def readable(self, place: KeyPath, name: str) -> Path:
        """Return the path of a file that the problem file names at a place, where it can be opened."""
        file = self.folder / name
        try:
            opened(file).close()
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise self.fail(place, f"{file} cannot be read: {reason}") from None
        return file


class Gather:
    """Tries stages one after the other, and collects their mistakes."""

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def attempt(self, stage: Callable[[], T]) -> T | None:
        """Return the result of a function; None where it raises an InputError, whose mistakes are kept."""
        try:
            return stage()
        except InputError as error:
            self.mistakes += error.mistakes
            return None

    def check(self) -> None:
        """Raise an `InputError` with the mistakes that were found, if any."""
        if self.mistakes:
            raise InputError(self.mistakes)


class Stages:
    """Tries stages, and collects their mistakes and those that the schema finds.

    `spec` has the contents of the file without the keys that have mistakes. An `InputError` says that too little is
    left.
    """

    def __init__(self, source: Source) -> None:
        self._file, self._wrong, self._found = source.file, frozenset[str](), Gather()
        try:
            self.spec = validate(ProblemSpec, source)
        except InputError as error:
            self._found.mistakes += error.mistakes
            self.spec, self._wrong = _what_is_right(source, error)

    def attempt(self, stage: Callable[[], T], *keys: str) -> T | None:
        """Return the result of a stage; None where it finds mistakes, or where a key that it reads has some."""
        if any(_overlap(wrong, key) for wrong in self._wrong for key in keys):
            return None
        return self._found.attempt(stage)

    def error(self, first: InputError) -> InputError:
        """Return the error with all mistakes in the order of the file, those of the first error included."""
        found = dict.fromkeys([*first.mistakes, *self._found.mistakes])
        return InputError(sorted(found, key=self._order))

    def _order(self, mistake: Mistake) -> tuple[bool, float, float]:
        if mistake.file != self._file:
            return True, 0, 0
        return False, mistake.line or math.inf, mistake.column or math.inf


def _overlap(one: str, other: str) -> bool:
    """Return whether one key holds the other, or is it."""
    return any(a == b or a.startswith((f"{b}.", f"{b}[")) for a, b in ((one, other), (other, one)))


def _what_is_right(source: Source, error: InputError) -> tuple[ProblemSpec, frozenset[str]]:
    """Return the contents of a file without the keys that have mistakes, and these keys.

    A key that is needed is left out with the workload, or the key at the top of the file, that holds it.
    """
    wrong = frozenset(one.key for one in error.mistakes)
    if "" in wrong:
        raise error  # More mistakes than are named, or one of the whole file.
    for _ in range(_ROUNDS):
        try:
            return validate(ProblemSpec, _without(source, wrong)), wrong
        except InputError as more:
            error = more
            wrong |= {found[0] for one in more.mistakes if (found := _TOP.match(one.key))}
    raise error


def _without(source: Source, keys: frozenset[str]) -> Source:
    """Return a problem file without some of its keys."""
    data = copy.deepcopy(source.data)
    for key in sorted(keys, reverse=True):  # inner keys come first
        if key in _INSTEAD:
            data[key] = _INSTEAD[key]
        elif _WORKLOAD.fullmatch(key):
            data["workloads"][key_path(key)[1]] = {}
        else:
            _drop(data, key_path(key))
    return replace(source, data=data)


def _drop(data: Any, path: KeyPath) -> None:  # noqa: ANN401 - any data of a file
    """Remove the innermost key of a path from data, with the whole list where the path ends in one."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    for part in path[:-1]:
        there = part in data if isinstance(data, dict) else isinstance(data, list) and part in range(len(data))
        if not there:
            return
        data = data[part]
    if path and isinstance(data, dict):
        data.pop(path[-1], None)


Model = TransformerSpec | MoeSpec | DlrmSpec | TableSpec


def trace_mistakes(spec: WorkloadSpec) -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys of a workload with a trace that are not right, and why."""
    if spec.parallelism:
        yield ("parallelism",), "a trace has its own groups; they are given as a file, by 'groups'"
    if spec.tp_domain is not None:
        yield ("tp_domain",), "this key belongs to tables of layers"
    if (spec.compute_TFLOPS is None) != (spec.memory_GBps is None):
        yield (), "a roofline needs both compute_TFLOPS and memory_GBps; recorded times need neither"
    if spec.compute_TFLOPS is not None and spec.compute_scale is not None:
        yield ("compute_scale",), "a roofline has compute_TFLOPS; compute_scale is for recorded times"


def layer_mistakes(spec: WorkloadSpec, model: Model | None, degrees: dict[str, int]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the keys of a workload without a trace that are not right, and why."""
    yield from _mistakes_of_groups(spec)
    if spec.tp_domain is not None and "tp" not in degrees:
        yield ("tp_domain",), "this workload has no tensor parallel group: the key 'tp' of parallelism is needed"
    for key in ("groups", "memory_GBps") if spec.trace is None else ():
        if getattr(spec, key) is not None:
            yield (key,), "this key belongs to a trace"
    if isinstance(model, TableSpec):
        if spec.compute_TFLOPS is not None:
            yield ("compute_TFLOPS",), "a table has its own compute times; compute_scale multiplies them"
    elif model is not None:
        if spec.compute_TFLOPS is None:
            yield (), "the key 'compute_TFLOPS' is required, the compute rate of one NPU in TFLOP/s; 234 is usual"
        if spec.compute_scale is not None:
            yield ("compute_scale",), "a generated workload has compute_TFLOPS, not compute_scale"
    yield from _mistakes_of_degrees(model, degrees)


def _mistakes_of_groups(spec: WorkloadSpec) -> Iterator[tuple[KeyPath, str]]:
    """Yield the process groups that only training steps have."""
    for group, degree in dict(spec.parallelism).items():
        if group in ("cp", "pp", "vp"):
            yield ("parallelism", group), "this group belongs to training steps: the key 'training' is needed"
        elif not isinstance(degree, int):
            yield ("parallelism", group), "only training steps leave degrees open: the key 'training' is needed"


def _mistakes_of_degrees(model: Model | None, degrees: dict[str, int]) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(model, TransformerSpec | MoeSpec) and "tp" not in degrees:
        yield ("parallelism",), "the key 'tp' is required, the NPUs of a tensor-parallel group; 1 for none"
    if isinstance(model, MoeSpec):
        if model.experts % degrees.get("ep", 1):
            yield ("parallelism", "ep"), f"found {degrees['ep']}; it must divide the {model.experts} experts"
        if model.top_k > model.experts:
            yield ("generator", "top_k"), f"found {model.top_k}; there are {model.experts} experts"
