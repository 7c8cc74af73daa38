"""Small problems for the tests of runs and batches."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evo_libra.experiment.execution.job import Job
from evo_libra.experiment.run.origin import origin_of
from evo_libra.experiment.run.record import program
from evo_libra.experiment.run.spec import RunSpec, run_of
from evo_libra.named_code import ANY, trust

FAILING = '''
"""A problem that does what its environment says before it evaluates or compares designs."""
import os
import signal
import time
from pathlib import Path

from problems.two_tier import TwoTier


class Unsteady(TwoTier):
    name = "unsteady"

    def evaluate_genes(self, genes):
        marks = Path(__file__).parent
        if (marks / "die").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        if (marks / "sleep").exists():
            time.sleep(float((marks / "sleep").read_text()))
        return super().evaluate_genes(genes)

    def design_rows(self, genes):
        if (Path(__file__).parent / "raise").exists():
            raise RuntimeError("no luck today")
        return genes


problem = Unsteady()
'''


@pytest.fixture(autouse=True)
def trusting(own_trust: None) -> None:  # noqa: ARG001 - it ends with the test
    """Trust the code of the tests' own files; `tests/end_to_end/test_named_code.py` trusts none."""
    trust(ANY)


@pytest.fixture
def make() -> Callable[..., RunSpec]:
    """Return what makes runs of a small problem."""

    def run(**settings: object) -> RunSpec:
        return run_of(origin_of("gpt3-4k", []), **{"evaluations": 1000, "population": 100, **settings})

    return run


@pytest.fixture
def newer_program(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what makes this process another version of the program."""

    def change() -> None:
        for name, module in list(sys.modules.items()):
            if name.startswith("evo_libra.experiment.") and getattr(module, "program", None) is program:
                monkeypatch.setattr(module, "program", lambda: "newer")

    return change


@pytest.fixture
def job(tmp_path: Path) -> Job:
    results = tmp_path / "results"
    results.mkdir()
    return Job(str(results), "batch")


@pytest.fixture
def unsteady(tmp_path: Path) -> Callable[..., RunSpec]:
    """Return what makes runs of a problem that raises or sleeps when a file tells it to; the files are its folder's."""
    (tmp_path / "unsteady.py").write_text(FAILING)
    (tmp_path / "problems").symlink_to(Path(__file__).parents[2] / "problems")

    def run(**settings: object) -> RunSpec:
        origin = origin_of("unsteady:problem", [], tmp_path)
        return run_of(origin, **{"evaluations": 400, "population": 100, **settings})

    return run
