"""Whether a run gives its front again."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evo_libra.errors import InputError
from evo_libra.experiment.execution.search_loop import in_processes, snapshots, with_processes
from evo_libra.experiment.run.record import git_state, machine, program, versions
from evo_libra.experiment.run.spec import RunSpec
from evo_libra.experiment.store.folder import DONE, FRONT, MANIFEST, RunFolder
from evo_libra.experiment.store.stored_runs import rebuild_run
from evo_libra.files.integrity import checksum
from evo_libra.front.archive import Archive
from evo_libra.front.front import Front, front_of
from evo_libra.named_code import refuse_untrusted
from evo_libra.searching.evaluation.parallel import ExpensiveProblem
from evo_libra.searching.loop import Snapshot


@dataclass(frozen=True)
class Reproduction:
    """A run compared with its repetition.

    Attributes
    ----------
    identical : whether the files of the fronts are the same, byte for byte.
    before, now : designs on the fronts.
    difference : largest relative difference of an objective between designs at the same place; None for other sizes.
    changed : what has changed since, of versions, program, git state and machine: then and now.
    """

    identical: bool
    before: int
    now: int
    difference: float | None
    changed: dict[str, tuple[str, str]]


def reproduce(
    folder: RunFolder, on_generation: Callable[[Snapshot], None] = lambda _snapshot: None
) -> tuple[RunSpec, Reproduction]:
    """Do a finished run again, in memory, and compare; the folder is left as it is.

    An `InputError` refuses a run whose problem cannot be built as it was, or that names code which is not trusted.
    """
    manifest, before = folder.read_json(MANIFEST), folder.read_front()
    if not folder.done:
        raise InputError(f"{folder.path} is not finished; only finished runs can be reproduced")
    spec, problem = rebuild_run(folder)
    refuse_untrusted(spec.code)
    if spec.asynchronous:
        raise InputError(
            f"{folder.path} was asynchronous: chance decided the order of its designs, so it cannot be reproduced"
        )
    archive, end = Archive.empty(len(problem.genome), len(problem.objectives)), folder.read_json(DONE)["evaluations"]
    # A clock that ended the run would end it elsewhere now; its evaluations end it there again.
    searched = with_processes(spec, problem, None, retry=False)
    processes = searched if isinstance(searched, ExpensiveProblem) else nullcontext()
    with closing(snapshots(replace(spec, seconds=None), searched, place=in_processes)) as loop, processes:
        for snapshot in loop:
            archive = snapshot.archive
            on_generation(snapshot)
            if snapshot.evaluations >= end:
                break
    now = front_of(problem, archive.thinned(spec.epsilon))
    same = _checksum_of(now) == checksum(folder.path / FRONT)
    return spec, Reproduction(same, len(before), len(now), _difference(before, now), _changes(manifest))


def _checksum_of(front: Front) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FRONT
        front.write(path)
        return checksum(path)


def _difference(before: Front, now: Front) -> float | None:
    if len(before) != len(now) or before.objectives != now.objectives:
        return None
    if not len(before):
        return 0.0
    old, new = (front.frame.select(front.objectives).to_numpy() for front in (before, now))
    return float(np.abs(new / old - 1.0).max())


def _changes(manifest: dict[str, Any]) -> dict[str, tuple[str, str]]:
    then = {**_flat(manifest), "program": manifest.get("program")}
    now = {**_flat({"versions": versions(), "git": git_state(), "machine": machine()}), "program": program()}
    return {key: (str(then.get(key)), str(now[key])) for key in now if then.get(key) != now[key]}


def _flat(data: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{part}.{key}": value
        for part in ("versions", "git", "machine")
        for key, value in (data.get(part) or {}).items()
    }
