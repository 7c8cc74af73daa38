from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evo_libra import search
from evo_libra.errors import InputError
from evo_libra.named_code import ANY, own_trust, trust
from evo_libra.searching.conformance import SampleProblem
from evo_libra.searching.engines.nsga import RandomEngine
from evo_libra.searching.registry import engine_names, load_engine

MODULE = """
from evo_libra.searching.engines.nsga import RandomEngine


class Mine(RandomEngine):
    def __init__(self, problem):
        super().__init__()
        self.problem = problem


def make(problem):
    return Mine(problem)


def no_engine(problem):
    return 3


def without_problem():
    return RandomEngine()


number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "my_engines.py").write_text(MODULE)
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[evo_libra.engines]\nmine = my_engines:Mine\nlost = nowhere:engine\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with own_trust():
        trust(ANY)
        yield tmp_path
    sys.modules.pop("my_engines", None)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["mine", "my_engines:Mine", "my_engines:make"])
def test_an_engine_of_ones_own_is_made_for_the_problem(name: str) -> None:
    sample = SampleProblem()
    engine = load_engine(name, sample)
    assert type(engine).__name__ == "Mine"
    assert engine.problem is sample  # type: ignore[attr-defined]
    front = search(sample, engine=name, evaluations=100, population=20)
    assert front.frame.equals(search(sample, engine=RandomEngine(), evaluations=100, population=20).frame)


@pytest.mark.usefixtures("folder")
def test_installed_engines_are_listed() -> None:
    assert {"mine", "lost"} <= set(engine_names())


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "message"), [
    ("lost", "'lost' cannot be imported: No module named 'nowhere'"),
    ("nowhere:make", "'nowhere:make' cannot be imported"),
    ("my_engines:nothing", "has no attribute 'nothing'"),
    ("my_engines:number", "must be a function of the problem; it is a int"),
    ("my_engines:without_problem", "must be a function of the problem: too many positional arguments"),
    ("my_engines:no_engine", "returns no engine: its int has no start, ask, tell"),
    ("mina", "unknown engine 'mina'.*did you mean 'mine'"),
    ("pymoo:nsga", "unknown engine 'pymoo:nsga'.*did you mean 'pymoo:nsga"),
])  # fmt: skip
def test_what_is_no_engine_is_told(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_engine(name, SampleProblem())
