"""Killed at any generation and resumed from what is on disk, every engine ends with the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo_libra import load_problem
from evo_libra.experiment.store.folder import FRONT, RunFolder
from evo_libra.experiment.store.search_state import read_checkpoint, write_checkpoint
from evo_libra.front.front import front_of
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.generations import generations
from evo_libra.searching.loop import Snapshot
from evo_libra.searching.registry import DETERMINISTIC, engine_names, load_engine

EVALUATIONS = 110  # Five generations and a cut one.


def run(problem: SearchProblem, engine: str, resume: Snapshot | None = None) -> list[Snapshot]:
    chosen = load_engine(engine, problem)
    return list(generations(problem, chosen, population=20, seed=3, evaluations=EVALUATIONS, resume=resume))


def written(folder: RunFolder, problem: SearchProblem, last: Snapshot) -> bytes:
    folder.write(FRONT, front_of(problem, last.archive).write)
    return (folder.path / FRONT).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in engine_names() if "agemoea" not in name])
def test_every_engine_resumes_from_every_checkpoint_to_the_same_bytes(tmp_path: Path, name: str) -> None:
    problem: SearchProblem = load_problem("gpt3-4k") if name in DETERMINISTIC else SampleProblem()
    straight = run(problem, name)
    expected = written(RunFolder(tmp_path / "straight"), problem, straight[-1])
    folder = RunFolder(tmp_path / "stopped")
    for snapshot in straight[:-1]:
        write_checkpoint(folder, snapshot, "digest")
        resumed = run(problem, name, read_checkpoint(folder, "digest"))
        assert written(folder, problem, resumed[-1]) == expected
        assert resumed[-1].evaluations == straight[-1].evaluations
    assert len(straight) > 1
