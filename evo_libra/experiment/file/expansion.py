"""From an experiment file to its runs."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evo_libra.errors import EngineError, InputError, Mistake
from evo_libra.experiment.execution.search_loop import check
from evo_libra.experiment.execution.start import genes_digest, genes_from
from evo_libra.experiment.file.include import folder_of, read_with_includes
from evo_libra.experiment.file.schema import SHARED, EngineSpec, ExperimentSpec, RunsSpec
from evo_libra.experiment.run.origin import Origin, build, code_of, origin_of, refuse_code, source_of
from evo_libra.experiment.run.spec import Experiment, RunSpec, run_of
from evo_libra.files.mistakes import KeyPath, short
from evo_libra.files.source import Source, validate
from evo_libra.problem.file.registry import problem_names


def planned_run(origin: Origin, folder: Path | None = None, *, run_code: bool = True, **settings: Any) -> RunSpec:  # noqa: ANN401 - see `run_of`
    """Return a run of a problem, checked.

    Parameters
    ----------
    origin : of the problem.
    folder : what ``start_from`` is relative to; the current folder when left out.
    run_code : run the code of a problem or an engine that is named as ``module:object``.
    settings : as for `run_of`, and ``start_from``: where an earlier front is, or several are.

    Raises
    ------
    InputError : as for `run_of` and `check`, or there is code that is not to be run.
    """
    start = _start_files(settings.pop("start_from", None))
    if origin.data is None and not run_code:
        refuse_code(code_of(origin.name), "it")
    spec = run_of(origin, **settings)
    if not run_code:
        refuse_code(code_of("", spec.engine), "it", EngineError)
    problem = build(origin)
    if start:
        paths = [(folder or Path()) / one for one in start]
        genes = genes_from(problem, paths)
        stable = tuple(str(path.resolve()) for path in paths)
        spec = replace(spec, start_from=stable, start_digest=genes_digest(genes))
    try:
        check(spec, problem)
    except EngineError as error:
        if origin.data is None or settings.get("engine") is not None:
            raise
        source = source_of(origin)
        raise EngineError(source.mistake(_ENGINE, mistake.message) for mistake in error.mistakes) from None
    return spec


_ENGINE = ("search", "engine")


def _start_files(value: str | Path | Sequence[str | Path] | None) -> Sequence[str | Path]:
    if value is None:
        return ()
    return (value,) if isinstance(value, (str, Path)) else value


MOST_RUNS = 100_000
_MOST_MISTAKES = 20
_ENOUGH = 500
_LABEL = 40


@dataclass(frozen=True)
class _Variant:
    """One problem of an experiment: where it and its changes were written."""

    problem: str
    place: KeyPath
    assignments: tuple[tuple[str, Any, KeyPath], ...]
    label: str


def load_experiment(path: Path, *, run_code: bool = True) -> Experiment:
    """Read an experiment file and validate every run of it.

    Parameters
    ----------
    path : of the file.
    run_code : run the code of problems and engines that it names as ``module:object``; such runs cannot be validated
        without.

    Raises
    ------
    InputError : the file or one of its problems is wrong, or names code that is not to be run; the mistakes of up to 20
        runs are named.
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
        for run in _runs(source, where, label, block, mistakes, run_code=run_code):
            found.setdefault(run.id, run)
            if len(found) > MOST_RUNS:
                raise InputError(source.mistake(where, f"there are more than {MOST_RUNS:,} runs"))
    if mistakes:
        raise InputError(_once(mistakes))
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


def _runs(
    source: Source, where: KeyPath, name: str, block: RunsSpec, mistakes: list[Mistake], *, run_code: bool
) -> Iterator[RunSpec]:  # fmt: skip
    for variant in _variants(source, where, name, block):
        try:
            origin = _origin(source, variant)
            yield from _of_origin(source, where, origin, variant, block, mistakes, run_code=run_code)
        except InputError as error:
            mistakes += [_placed(source, where, variant, mistake) for mistake in error.mistakes]
        if len(mistakes) > _ENOUGH:
            return


def _of_origin(
    source: Source,
    where: KeyPath,
    origin: Origin,
    variant: _Variant,
    block: RunsSpec,
    mistakes: list[Mistake],
    *,
    run_code: bool,
) -> Iterator[RunSpec]:
    budgets: Sequence[int | None] = _several(block.evaluations) or [None]
    folder = folder_of(source, _place(source, where, "start_from"))
    same = {key: getattr(block, key) for key in SHARED}
    for place, own in _engines(source, where, block):
        try:
            asked = {**same, **own}
            first = planned_run(origin, folder, run_code=run_code, **asked)
        except EngineError as error:
            if place is None:
                raise InputError([replace(mistake, key="search.engine") for mistake in error.mistakes]) from None
            mistakes.append(source.mistake(place, f"{error}{_in(variant)}"))
            continue
        # Seeds outside, so that runs that can go on from one another follow each other.
        for seed in _seeds(block, first.seed):
            for budget in sorted(budget or first.evaluations for budget in budgets):
                yield first.varied(seed=seed, evaluations=budget, label=variant.label)


def _engines(source: Source, where: KeyPath, block: RunsSpec) -> Iterator[tuple[KeyPath | None, dict[str, Any]]]:
    """Yield what is said of each engine, with the place of its name; of the problem's own nothing is."""
    at = _place(source, where, "engines")
    if block.engines is None:
        yield None, {}
        return
    if isinstance(block.engines, str):
        yield at, {"engine": block.engines}
        return
    for index, engine in enumerate(block.engines):
        if isinstance(engine, EngineSpec):
            yield (
                (*at, index, "engine"),
                {key: value for key, value in engine.model_dump().items() if value is not None},
            )
        else:
            yield (*at, index), {"engine": engine}


def _seeds(block: RunsSpec, own: int) -> list[int]:
    firsts = _several(block.seeds) or [own]
    return list(dict.fromkeys(first + n for first in firsts for n in range(block.repeats or 1)))


def _several(value: Any) -> list[Any]:  # noqa: ANN401 - one or many of anything
    if value is None:
        return []
    return list(value) if isinstance(value, tuple) else [value]


def _variants(source: Source, where: KeyPath, name: str, block: RunsSpec) -> Iterator[_Variant]:
    problem_at = _place(source, where, "problem")
    if block.problem is None:
        raise InputError(source.mistake(where, "a required key is missing: problem"))
    problems = _several(block.problem)
    for index, problem in enumerate(problems):
        place = (*problem_at, index) if isinstance(block.problem, tuple) else problem_at
        for changes, varied in _changes(source, where, block):
            parts = [name, *(_shown(key, value) for key, value in varied)]
            yield _Variant(problem, place, changes, ", ".join(part for part in parts if part))


def _changes(
    source: Source, where: KeyPath, block: RunsSpec
) -> Iterator[tuple[tuple[tuple[str, Any, KeyPath], ...], list[tuple[str, Any]]]]:
    """Yield the assignments of each variant with their places, and those of them that tell variants apart."""
    fixed = [(key, value, (*_place(source, where, "set", key),)) for key, value in (block.set or {}).items()]
    axes: list[list[list[tuple[str, Any, KeyPath]]]] = []
    for key, values in (block.grid or {}).items():
        at = _place(source, where, "grid", key)
        axes.append([[(key, value, (*at, index))] for index, value in enumerate(values)])
    if block.zip:
        _same_lengths(source, where, block.zip)
        at = _place(source, where, "zip")
        count = len(next(iter(block.zip.values())))
        axes.append([[(key, values[n], (*at, key, n)) for key, values in block.zip.items()] for n in range(count)])
    if block.list:
        at = _place(source, where, "list")
        axes.append([[(key, value, (*at, n, key)) for key, value in row.items()] for n, row in enumerate(block.list)])
    _refuse_twice(source, axes)
    for chosen in itertools.product(*axes):
        varied = [one for part in chosen for one in part]
        yield (*fixed, *varied), [(key, value) for key, value, _ in varied]


def _refuse_twice(source: Source, axes: Sequence[Sequence[Sequence[tuple[str, Any, KeyPath]]]]) -> None:
    """Refuse a key that several of grid, zip and list vary; one of its values would be lost."""
    seen: set[str] = set()
    for axis in axes:
        places = {key: at for part in axis for key, _, at in part}
        if twice := sorted(seen & places.keys()):
            message = f"{twice[0]} is varied twice; only one of grid, zip and list may do it"
            raise InputError(source.mistake(places[twice[0]], message))
        seen |= places.keys()


def _same_lengths(source: Source, where: KeyPath, columns: Mapping[str, Sequence[Any]]) -> None:
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise InputError(source.mistake(_place(source, where, "zip"), f"lists of one length are needed: {found}"))


def _place(source: Source, where: KeyPath, *keys: str) -> KeyPath:
    """Return where a set of runs has a value: in its own mapping, or at the top of the file."""
    own = (*where, *keys)
    return own if own in source.places else keys


def _shown(key: str, value: Any) -> str:  # noqa: ANN401 - data of a file
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{key.rpartition('.')[2]}={short(text, _LABEL)}"


def _origin(source: Source, variant: _Variant) -> Origin:
    words = [f"{key}={json.dumps(value)}" for key, value, _ in variant.assignments]
    return origin_of(variant.problem, words, folder_of(source, variant.place))


def _placed(source: Source, where: KeyPath, variant: _Variant, mistake: Mistake) -> Mistake:
    """Return a mistake as one of the experiment file: at the setting or the change it is about, else at the problem."""
    if not mistake.file and mistake.key in SHARED:
        return source.mistake(_place(source, where, mistake.key), f"{mistake.message}{_in(variant)}")
    changed = [place for key, _, place in variant.assignments if _is_within(mistake.key, key)]
    inner = replace(mistake, file="", line=None, column=None) if changed else mistake
    return source.mistake(changed[-1] if changed else variant.place, f"{inner}{_in(variant)}")


def _in(variant: _Variant) -> str:
    return f" (in {variant.label})" if variant.label else ""


def _is_within(key: str, changed: str) -> bool:
    return key == changed or key.startswith((f"{changed}.", f"{changed}["))


def _once(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Return the first of those mistakes that several variants share."""
    shared = {(one.file, one.line, one.column, one.message.rsplit(" (in ", 1)[0]): one for one in reversed(mistakes)}
    return list(reversed(shared.values()))[:_MOST_MISTAKES]
