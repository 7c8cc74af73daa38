"""From an experiment file to its runs."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evo_libra.errors import EngineError, InputError, Mistake
from evo_libra.experiment.execution.search_loop import planned_run
from evo_libra.experiment.file.schema import SHARED, EngineSpec, ExperimentSpec, RunsSpec, folder_of, read_with_includes
from evo_libra.experiment.run.origin import build, origin_of
from evo_libra.experiment.run.spec import Experiment, RunSpec
from evo_libra.files.mistakes import KeyPath, short
from evo_libra.files.source import Source, validate
from evo_libra.problem.file.registry import problem_names

MAX_RUNS = 100_000
_MAX_MISTAKES = 20
_ENOUGH = 500
_LABEL = 40

_Change = tuple[str, Any, KeyPath]
"""A key path of the problem file, its value, and where that was written."""


def load_experiment(path: Path) -> Experiment:
    """Read an experiment file and validate every run of it.

    Raises an `InputError` with the mistakes of up to 20 runs; code that the file names and the user does not trust is
    one.
    """
    if not os.path.exists(path) and str(path) in problem_names():  # noqa: PTH110 - false for what cannot be a path
        raise InputError(
            f"'{path}' is a problem; use `evo-libra search {path}`, or give the path of an experiment file"
        )
    source = read_with_includes(path)
    spec = validate(ExperimentSpec, source)
    name = spec.name or path.stem
    found: dict[str, RunSpec] = {}
    mistakes: list[Mistake] = []
    for where, label, block in _blocks(spec):
        for run in _Runs(source, where, label, block=block, mistakes=mistakes).runs():
            found.setdefault(run.id, run)
            if len(found) > MAX_RUNS:
                raise InputError(source.mistake(where, f"there are more than {MAX_RUNS:,} runs"))
    if mistakes:
        raise InputError(_different(mistakes))
    runs = tuple(run.varied(experiment=name) for run in found.values())
    return Experiment(name, path, runs, spec.checkpoint_s)


def _blocks(spec: ExperimentSpec) -> Iterator[tuple[KeyPath, str, RunsSpec]]:
    """Yield each set of runs with what it takes from the top of the file."""
    top = {key: getattr(spec, key) for key in RunsSpec.model_fields}
    if spec.runs is None:
        yield (), "", RunsSpec.model_construct(**top)
        return
    for name, block in spec.runs.items():
        own = {key: value for key in RunsSpec.model_fields if (value := getattr(block, key)) is not None}
        if top["set"] and block.set:
            own["set"] = {**top["set"], **block.set}
        yield ("runs", name), name, RunsSpec.model_construct(**{**top, **own})


def _different(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Return the first of those mistakes that several variants share."""
    shared = {(one.file, one.line, one.column, one.message.rsplit(" (in ", 1)[0]): one for one in reversed(mistakes)}
    return list(reversed(shared.values()))[:_MAX_MISTAKES]


@dataclass(frozen=True)
class _Variant:
    """One problem of an experiment: where it and its changes were written."""

    problem: str
    place: KeyPath
    changes: tuple[_Change, ...]
    label: str

    @property
    def words(self) -> str:
        """The end of a sentence about it."""
        return f" (in {self.label})" if self.label else ""


@dataclass(frozen=True)
class _Runs:
    """A set of runs of an experiment file: its place, name and keys, and the mistakes of its variants."""

    source: Source
    where: KeyPath
    name: str
    block: RunsSpec
    mistakes: list[Mistake] = field(default_factory=list)

    def runs(self) -> Iterator[RunSpec]:
        """Yield the sound runs; those of a variant that differ only in seed and budget follow each other."""
        for variant in self._variants():
            try:
                yield from self._of_variant(variant)
            except InputError as error:
                self.mistakes.extend(self._placed(variant, mistake) for mistake in error.mistakes)
            if len(self.mistakes) > _ENOUGH:
                return

    def _of_variant(self, variant: _Variant) -> Iterator[RunSpec]:
        block = self.block
        words = [f"{key}={json.dumps(value)}" for key, value, _ in variant.changes]
        origin = origin_of(variant.problem, words, folder_of(self.source, variant.place))
        problem = build(origin)
        # A budget is settled with: the engine `auto` depends on it.
        budgets = [{"evaluations": one} for one in _several(block.evaluations)] or [{}]
        folder = folder_of(self.source, self._place("start_from"))
        shared = {key: getattr(block, key) for key in SHARED}
        for place, own in self._engines():
            try:
                plans = [planned_run(origin, problem, folder, **{**shared, **own, **budget}) for budget in budgets]
            except EngineError as error:
                if place is None:
                    raise InputError([replace(mistake, key="search.engine") for mistake in error.mistakes]) from None
                self.mistakes.append(self.source.mistake(place, f"{error}{variant.words}"))
                continue
            # Seeds outside, so that runs that can go on from one another follow each other.
            firsts = _several(block.seeds) or [plans[0].seed]
            for seed in dict.fromkeys(one + n for one in firsts for n in range(block.repeats or 1)):
                for plan in sorted(plans, key=lambda one: one.evaluations):
                    yield plan.varied(seed=seed, evaluations=plan.evaluations, label=variant.label)

    def _engines(self) -> Iterator[tuple[KeyPath | None, dict[str, Any]]]:
        """Yield what is said of each engine, with the place of its name; of the problem's own nothing is."""
        at, engines = self._place("engines"), self.block.engines
        if engines is None:
            yield None, {}
        elif isinstance(engines, str):
            yield at, {"engine": engines}
        else:
            for index, engine in enumerate(engines):
                if isinstance(engine, EngineSpec):
                    yield (*at, index, "engine"), engine.model_dump(exclude_none=True)
                else:
                    yield (*at, index), {"engine": engine}

    def _variants(self) -> Iterator[_Variant]:
        at, problem = self._place("problem"), self.block.problem
        if problem is None:
            raise InputError(self.source.mistake(self.where, "a required key is missing: problem"))
        for index, one in enumerate(_several(problem)):
            place = (*at, index) if isinstance(problem, tuple) else at
            for fixed, varied in self._changes():
                parts = [self.name, *(_shown(key, value) for key, value, _ in varied)]
                yield _Variant(one, place, (*fixed, *varied), ", ".join(filter(None, parts)))

    def _changes(self) -> Iterator[tuple[list[_Change], list[_Change]]]:
        """Yield the changes of each variant: those of all variants, and those that tell variants apart."""
        block = self.block
        fixed = [(key, value, self._place("set", key)) for key, value in (block.set or {}).items()]
        axes: list[list[list[_Change]]] = []
        for key, values in (block.grid or {}).items():
            at = self._place("grid", key)
            axes.append([[(key, value, (*at, index))] for index, value in enumerate(values)])
        if block.zip:
            at, count = self._place("zip"), self._zipped()
            axes.append([[(key, values[n], (*at, key, n)) for key, values in block.zip.items()] for n in range(count)])
        if block.list:
            at = self._place("list")
            rows = enumerate(block.list)
            axes.append([[(key, value, (*at, n, key)) for key, value in row.items()] for n, row in rows])
        self._refuse_twice(axes)
        for chosen in itertools.product(*axes):
            yield fixed, [one for part in chosen for one in part]

    def _zipped(self) -> int:
        """Return the length that all lists below ``zip`` have."""
        lengths = {key: len(values) for key, values in (self.block.zip or {}).items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{key} has {length}" for key, length in lengths.items())
            raise InputError(self.source.mistake(self._place("zip"), f"lists of one length are needed: {found}"))
        return next(iter(lengths.values()))

    def _refuse_twice(self, axes: Sequence[Sequence[Sequence[_Change]]]) -> None:
        """Refuse a key that several of grid, zip and list vary; one of its values would be lost."""
        seen: set[str] = set()
        for axis in axes:
            places = {key: at for part in axis for key, _, at in part}
            if twice := sorted(seen & places.keys()):
                message = f"{twice[0]} is varied twice; only one of grid, zip and list may do it"
                raise InputError(self.source.mistake(places[twice[0]], message))
            seen |= places.keys()

    def _place(self, *keys: str) -> KeyPath:
        """Return where the set has a value: in its own mapping, or at the top of the file."""
        own = (*self.where, *keys)
        return own if own in self.source.places else keys

    def _placed(self, variant: _Variant, mistake: Mistake) -> Mistake:
        """Return a mistake as one of the experiment file: at the setting or change it is about, or at the problem."""
        if not mistake.file and mistake.key in SHARED:
            return self.source.mistake(self._place(mistake.key), f"{mistake.message}{variant.words}")
        changed = [place for key, _, place in variant.changes if _is_within(mistake.key, key)]
        inner = replace(mistake, file="", line=None, column=None) if changed else mistake
        return self.source.mistake(changed[-1] if changed else variant.place, f"{inner}{variant.words}")


def _several(value: Any) -> list[Any]:  # noqa: ANN401 - one or many of anything
    if value is None:
        return []
    return list(value) if isinstance(value, tuple) else [value]


def _shown(key: str, value: Any) -> str:  # noqa: ANN401 - data of a file
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{key.rpartition('.')[2]}={short(text, _LABEL)}"


def _is_within(key: str, changed: str) -> bool:
    return key == changed or key.startswith((f"{changed}.", f"{changed}["))
