"""One table of commands and addresses, without holes: what one command takes for a run or a design, all take."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import call, run, run_process

from evo_libra.errors import InputError
from evo_libra.experiment.results.naming import run_folder
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.ui.commands.names import COMMANDS

ROOT = Path(__file__).parents[2]
SEARCH = ("--evaluations", 60, "--population", 20)
DESIGN = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"

OF_RUN = {
    "show": (), "front": ("--rows", 2), "recommend": ("--seconds", 0), "certify": ("--seconds", 0), "reproduce": (),
    "rescore": ("--time", "libra"), "prices": ("--scenarios", 2), "report": ("--seconds", 0),
}  # fmt: skip
"""Commands that take a run, with the options that they need."""

OF_DESIGN = {"explain": (), "evaluate": (), "draw": (), "optimize": (), "export": ("--to", "graphviz")}
"""Commands that take a design; it stands after its run or problem, too."""

OTHERS = {
    "search": "a problem, and runs to start from", "bench": "a problem", "compare": "several runs",
    "diff": "two designs", "workload": "a design of a problem in Python, whose designs are genes",
    "run": "an experiment", "plan": "an experiment", "ui": "a folder of results", "results": "a folder of results",
    "init": "a file to write", "schema": "no file", "import": "files of other programs", "catalog": "a word",
    "fit-npu": "tables", "validate": "groups of figures",
    "mcp": "a folder", "simulate": "files of ASTRA-sim",
}  # fmt: skip

RUNS = [
    "r1/last", "r1/gpt3-4k/last", "r1/gpt3-4k", "last", "gpt3-4k/last", "results/last", "results/gpt3-4k/last",
    "FOLDER", "PART", "r1/PART",
]  # fmt: skip
DESIGNS = ["{}#0", "{}#knee", "{}#fastest", "{}#cheapest", f"{{}}#{DESIGN}", "{}"]
BEHIND = ["0", "knee", DESIGN]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("addresses")
    for seed, out in ((1, "r1"), (2, "results"), (3, "results")):
        run(folder, "search", "gpt3-4k", *SEARCH, "--seed", seed, "--out", out)
    (folder / "mine.yaml").write_text((ROOT / "problems/gpt3-4k.yaml").read_text())
    return folder


@pytest.fixture(autouse=True)
def there(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(made)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def address(name: str) -> str:
    """Return a name of a run in the folder of the tests."""
    (first,) = Path("r1/gpt3-4k").glob("*-s1")
    return name.replace("FOLDER", str(first)).replace("r1/PART", f"r1/{first.name[-9:]}").replace("PART", "e60-s2")


def done(*words: object) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        assert call(*words) in (0, 1)
    assert "Warning" not in err.getvalue()
    return out.getvalue()


@pytest.mark.slow
def test_the_tables_have_every_command() -> None:
    assert {*OF_RUN, *OF_DESIGN, *OTHERS} == set(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("command", OF_RUN)
def test_every_command_of_runs_takes_every_name(command: str) -> None:
    for name in RUNS:
        if command == "prices":  # a problem with parts takes longer
            with pytest.raises(InputError, match="prices are drawn for parts; the catalogue 'libra-cosearch'"):
                done(command, address(name), *OF_RUN[command])
        else:
            assert done(command, address(name), *OF_RUN[command]), name


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_several_runs_are_named_in_the_same_way(name: str) -> None:
    other = "results/last" if "r1" in name or name == "FOLDER" else "r1/last"
    assert "hypervolume" in done("compare", address(name), other)
    assert done("diff", f"{address(name)}#0", f"{address(other)}#0")
    assert done("search", "gpt3-4k", *SEARCH, "--seed", 9, "--start-from", address(name), "--out", "warm")


@pytest.mark.slow
@pytest.mark.parametrize("command", OF_DESIGN)
@pytest.mark.parametrize("name", ["r1/last", "last", "FOLDER", "PART"])
def test_every_command_of_designs_takes_every_address(command: str, name: str) -> None:
    for design in DESIGNS:
        done(command, design.format(address(name)), *OF_DESIGN[command])
    for design in BEHIND:
        done(command, address(name), design, *OF_DESIGN[command])


@pytest.mark.slow
def test_commands_of_designs_take_those_of_fabrics() -> None:
    """Of a run alone, too; `explain` and `draw` say what shows one."""
    run(Path(), "search", "fabric-256", "--evaluations", 100, "--population", 50, "--out", "fabrics")
    for design in ("fabrics/last", "fabrics/last#0", "fabric-256#zcube(16, 2)"):
        assert done("evaluate", design)
        assert done("export", design, "--to", "graphviz")
        for command in ("explain", "draw"):
            with pytest.raises(InputError, match=r"`evo-libra (evaluate|export)"):
                done(command, design)


@pytest.mark.slow
@pytest.mark.parametrize("command", OF_DESIGN)
def test_every_command_of_designs_takes_designs_of_problems(command: str) -> None:
    for problem in ("gpt3-4k", "mine.yaml"):
        done(command, f"{problem}#{DESIGN}", *OF_DESIGN[command])
        done(command, problem, DESIGN, *OF_DESIGN[command])


def test_a_name_means_one_run() -> None:
    assert run_folder(address("PART")) == run_folder("results/e60-s2")
    assert RunFolder(run_folder("r1/last")).path == RunFolder(run_folder(address("FOLDER"))).path


NOISY = """
import numpy as np
from problems.two_tier import TwoTier


class Noisy(TwoTier):
    name = "noisy"

    def evaluate_genes(self, genes):
        np.ones(2) / np.zeros(2)
        return super().evaluate_genes(genes)


problem = Noisy()
"""


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), pytest.param(("--workers", "1"), marks=pytest.mark.slow)])
def test_no_warning_of_numpy_reaches_a_user(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    (tmp_path / "problems").symlink_to(ROOT / "problems")
    assert "Warning" not in run_process(tmp_path, "search", "noisy:problem", *SEARCH, *words).stderr
