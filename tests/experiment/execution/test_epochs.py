"""Islands whose epochs are lived by the workers of a Dask scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from patience import wait_for

from evo_libra.experiment.execution.job import Job, Report
from evo_libra.experiment.execution.local_worker import local_cluster
from evo_libra.experiment.execution.scheduler import OnScheduler
from evo_libra.experiment.execution.worker import perform
from evo_libra.experiment.run.origin import origin_of
from evo_libra.experiment.run.spec import RunSpec, run_of
from evo_libra.experiment.store.folder import FRONT

MORTAL = '''
"""A problem whose first epoch on another worker kills that worker; the run waits for that, and for one that lives."""
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from evo_libra.searching.conformance import SampleProblem

HERE = Path(__file__).parent


def wait_for(mark):
    while not (HERE / mark).exists():
        time.sleep(0.005)


def task():
    if "distributed.worker" not in sys.modules:
        return ""
    from distributed import get_worker

    try:
        return str(get_worker().get_current_task())
    except ValueError:
        return ""


@dataclass(frozen=True)
class Mortal(SampleProblem):
    name: str = "mortal"

    def evaluate_genes(self, genes):
        if "run-" in task() and genes.shape[1] <= 10:  # a generation, not the sample for the scale
            wait_for("died")
            wait_for("lived")
        elif "run_epoch" in task():
            try:
                (HERE / "died").touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                (HERE / "lived").touch()
        return super().evaluate_genes(genes)


problem = Mortal()
'''


@pytest.fixture
def mortal(tmp_path: Path) -> RunSpec:
    (tmp_path / "mortal.py").write_text(MORTAL)
    origin = origin_of("mortal:problem", [], tmp_path)
    return run_of(origin, engine="nsga2", evaluations=2000, population=10, islands=3, seed=5)


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[OnScheduler]:
    found = local_cluster(3, tmp_path)
    try:
        yield found
    finally:
        found.close()


@pytest.mark.slow
def test_islands_of_a_batch_outlive_the_workers_that_live_their_epochs(
    mortal: RunSpec, job: Job, tmp_path: Path, executor: OnScheduler
) -> None:
    straight = replace(job, results=str(tmp_path / "straight"))
    Path(straight.results).mkdir()
    assert perform(mortal, straight).ending == "done"
    wait_for(lambda: executor.workers() == 3)
    executor.submit(mortal.id, mortal.data(), asdict(job))
    ended = list[Any]()
    wait_for(lambda: ended.extend(executor.poll(0.1)) or ended)
    ((run_id, report),) = ended
    assert isinstance(report, Report)
    assert (run_id, report.ending, report.error) == (mortal.id, "done", "")
    assert (tmp_path / "died").exists()
    assert (tmp_path / "lived").exists()
    fronts = [(Path(where.results) / mortal.id / FRONT).read_bytes() for where in (straight, job)]
    assert fronts[0] == fronts[1]
