"""What has to agree with what: the rows of fronts, however they came about, with designs evaluated by themselves."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from command import call, options, sets

from evo_libra import load_problem, search
from evo_libra.arrays import FloatArray, Population
from evo_libra.bandwidth.solve import optimal_bandwidth
from evo_libra.errors import InputError
from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.execution.search_loop import planned_run
from evo_libra.experiment.execution.worker import perform
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.experiment.run.origin import build, origin_of
from evo_libra.experiment.run.spec import spec_of
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.experiment.store.stored_runs import rebuild_run
from evo_libra.explain.explain import explain
from evo_libra.explain.rescore import rescore
from evo_libra.files.integrity import canonical_hash
from evo_libra.front.front import Front
from evo_libra.problem.allocate import program_for
from evo_libra.problem.designs import genes_of
from evo_libra.problem.faults import LEAST
from evo_libra.problem.file.registry import with_time
from evo_libra.problem.problem import Problem

EQUAL, NEARLY = 1e-12, 1e-9
BOUND = 1e-9
"""Bounds are of programs that are solved to about that."""


@dataclass(frozen=True)
class Asked:
    """A search that is to be done in some way.

    Attributes
    ----------
    name : of the problem, or the path of its file.
    changes : of the problem.
    numbers : engine, evaluations, population, seed.
    folder : where to keep what comes of it.
    """

    name: str
    changes: Sequence[str]
    numbers: Mapping[str, Any]
    folder: Path


Found = tuple[Front, RunFolder | None]


def in_python(asked: Asked) -> Found:
    return search(load_problem(asked.name, asked.changes), **asked.numbers), None


def by_command(asked: Asked) -> Found:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(InputError):
        call("search", asked.name, *options(asked.numbers), "--out", asked.folder, *sets(asked.changes), "--json")
    folder = RunFolder(asked.folder / planned_run(origin_of(asked.name, asked.changes), **asked.numbers).id)
    return folder.read_front(), folder


def of_a_batch(asked: Asked) -> Found:
    numbers = {**asked.numbers, "engines": asked.numbers["engine"], "seeds": asked.numbers["seed"]}
    words = {key: value for key, value in numbers.items() if key not in ("engine", "seed")}
    changed = dict(change.split("=", 1) for change in asked.changes)
    said = "".join(f"  {json.dumps(key)}: {value}\n" for key, value in changed.items())
    asked.folder.mkdir(parents=True, exist_ok=True)
    (asked.folder / "e.yaml").write_text(
        "".join(f"{key}: {json.dumps(value)}\n" for key, value in {"problem": asked.name, **words}.items())
        + (f"set:\n{said}" if said else "")
    )
    (spec,) = load_experiment(asked.folder / "e.yaml").runs
    return _performed(asked, spec)


def resumed(asked: Asked) -> Found:
    spec, reached = planned_run(origin_of(asked.name, asked.changes), **asked.numbers), [False]

    def watch(*_: object) -> None:
        reached[0] = True

    job = _job(asked)
    perform(spec, job, interrupted=lambda: reached[0], watch=watch)
    return _performed(asked, spec)


def on_islands(asked: Asked) -> Found:
    numbers = {**asked.numbers, "islands": 2}
    if numbers["engine"] not in ("nsga2", "nsga3"):
        numbers["engine"] = "nsga2"
    return _performed(asked, planned_run(origin_of(asked.name, asked.changes), **numbers))


def in_workers(asked: Asked) -> Found:
    return _performed(asked, planned_run(origin_of(asked.name, asked.changes), **asked.numbers, workers=2))


WAYS: dict[str, Callable[[Asked], Found]] = {
    "python": in_python, "command": by_command, "batch": of_a_batch, "resumed": resumed, "islands": on_islands,
}  # fmt: skip
"""Those that take no processes."""


def _job(asked: Asked) -> Job:
    results = asked.folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    return Job(str(results), "batch")


def _performed(asked: Asked, spec: Any) -> Found:
    job = _job(asked)
    report = perform(spec, job)
    assert report.ending == "done", report.error
    folder = RunFolder(Path(job.results) / spec.id)
    return folder.read_front(), folder


def check(front: Front, problem: Problem) -> int:
    """Check all that has to agree of a front and its problem, which is to be a fresh one; return its rows."""
    if not len(front):
        return 0
    designs = front.frame["design"].to_list()
    population = problem.read(designs)
    again = problem.evaluate(designs)
    same(again.objectives / scales(problem), values(front))
    assert (again.violation <= 0).all()
    assert list(map(str, problem.fabrics(population))) == designs
    _check_parts(problem, population, again.objectives)
    _check_bound(problem, population, again.objectives)
    return len(front)


def scales(problem: Problem) -> FloatArray:
    return np.array([[objective.scale] for objective in problem.objectives])


def values(front: Front) -> FloatArray:
    return np.asarray(front.frame.select(front.objectives).to_numpy().T)


def same(found: FloatArray, said: FloatArray) -> None:
    np.testing.assert_allclose(found, said, rtol=EQUAL, atol=0)


def check_same_time(front: Front, problem: Problem, asked: Asked) -> None:
    """Check that a front does not move when it is looked at under its own time."""
    if not len(front):
        return
    time = problem.spec["time"]
    model = time if isinstance(time, str) else time["model"]
    again = rescore(front, load_problem(asked.name, [*asked.changes, *with_time(problem, model)]))
    for name in front.objectives:
        same(again.frame[f"{name}_rescored"].to_numpy(), again.frame[name].to_numpy())
    assert again.frame["feasible"].all()
    assert not again.dropped


def check_result(folder: RunFolder, problem: Problem) -> None:
    """Check a result: the problem of its manifest is the problem, and an id is its row."""
    manifest, front = folder.read_json(MANIFEST), folder.read_front()
    assert canonical_hash(problem.identity()) == canonical_hash(manifest["problem"])
    # As a tool leaves it that sorts keys: what has an order has it in a list.
    sorted_again = spec_of(json.loads(json.dumps(manifest, sort_keys=True))).origin
    rebuilt = build(replace(sorted_again, folder=rebuild_run(folder)[0].origin.folder))
    assert isinstance(rebuilt, Problem)
    assert canonical_hash(rebuilt.identity()) == canonical_hash(manifest["problem"])
    if len(front):
        same(rebuilt.evaluate(front.frame["design"].to_list()).objectives / scales(rebuilt), values(front))
        _check_id(folder, front)


def _check_id(folder: RunFolder, front: Front) -> None:
    row = front.frame[len(front) // 2].to_dicts()[0]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert call("evaluate", folder.path, "--id", row["id"], "--json") == 0
    found = json.loads(printed.getvalue())
    same(np.array([found[name] for name in front.objectives]), np.array([row[name] for name in front.objectives]))


def _check_parts(problem: Problem, population: Population, objectives: FloatArray) -> None:
    """Check that cost and time are the sums of what they are made of, of a few designs."""
    names = [objective.name for objective in problem.objectives]
    for n in np.unique(np.linspace(0, len(population) - 1, 3).round().astype(int)):
        parts = explain(problem, population.select([n]))
        cost = sum(one["cost_usd"] for one in parts["dimensions"])
        spares = parts.get("faults", {}).get("spares", {"cost_usd": 0.0})["cost_usd"]
        np.testing.assert_allclose(cost + spares, objectives[names.index("cost"), n], rtol=EQUAL)
        _check_shares(parts, objectives[:, n], names)
        if "bill" in parts:
            np.testing.assert_allclose(sum(row["cost_usd"] for row in parts["bill"]), cost, rtol=EQUAL)
        time = sum(one["weight"] * one["time_ms"] for one in parts["workloads"])
        np.testing.assert_allclose(time / 1e3, objectives[names.index("time"), n], rtol=EQUAL)


def _check_shares(parts: Mapping[str, Any], objectives: FloatArray, names: Sequence[str]) -> None:
    """Check that the useful time of a breakdown is what the objectives under failures come from."""
    if "faults" not in parts:
        return
    useful = max(parts["faults"]["time_shares"]["useful"], LEAST)
    if "useful-share" in names:
        np.testing.assert_allclose(1.0 / useful, objectives[names.index("useful-share")], rtol=NEARLY)
    if "goodput" in names:
        time = objectives[names.index("time")]
        np.testing.assert_allclose(time / useful, objectives[names.index("goodput")], rtol=NEARLY)


def _check_bound(problem: Problem, population: Population, objectives: FloatArray) -> None:
    """Check that no design is faster than its bound, where there is one."""
    names = [objective.name for objective in problem.objectives]
    try:
        relaxed = problem.relaxed()
        structure, gene = _skeleton(problem, population)
        designs = replace(relaxed.pricing.topologies(structure, gene), plan=population.plans)
        program = program_for(relaxed.traffic, relaxed.constraints, designs, objectives[names.index("cost")])
    except InputError:
        return  # chunks that may be faster than LIBRA's time, or traces
    time = objectives[names.index("time")]
    assert (optimal_bandwidth(program).bound <= time * (1 + BOUND)).all()


def _skeleton(problem: Problem, population: Population) -> tuple[Any, Any]:
    genes = genes_of(problem, population)
    depth = len(problem.choices)
    return genes[0].astype(np.int64), genes[1 : 1 + depth].astype(np.int64)


def moved(asked: Asked, folder: RunFolder, to: Path) -> tuple[Asked, RunFolder]:
    """Move the folder of a problem and its results."""
    source = Path(asked.name).parent
    source.rename(to)
    inside = folder.path.relative_to(source)
    return replace(asked, name=str(to / Path(asked.name).name)), RunFolder(to / inside)
