"""No name in a file has this program import a module, whatever the command, until ``--trust-code`` allows it."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command import call, own_modules, process_json
from patience import wait_for
from ruamel.yaml import YAML

from evo_libra.errors import EvoLibraError
from evo_libra.experiment.results.catalogue import Catalogue
from evo_libra.experiment.run.origin import build, origin_of
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.ui.commands.names import COMMANDS
from evo_libra.ui.terminal import new_run

ROOT = Path(__file__).parents[2]
CODE = "evilmod:x"
MODULE = """
from pathlib import Path
(Path(__file__).parent / "sprung").touch()
from problems.two_tier import problem as x
from evo_libra.searching.engines.nsga import nsga2


def make(problem):
    return nsga2()
"""
ENGINE, PROBLEM = "evilmod:make", "evilmod:x"
BUDGET = ("--evaluations", 60, "--population", 20, "--seed", 1)
DESIGN = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"
SMALL = "evaluations: 60\npopulation: 20\n"

PROBLEMS = {
    "problem.yaml": {"search": {"engine": ENGINE, "evaluations": 60, "population": 20}},
    "time.yaml": {"time": CODE},
    "model.yaml": {"time": {"model": CODE}},
    "block.yaml": {"fabric": {"catalog": "libra-cosearch", "blocks": [CODE]}},
    "catalog.yaml": {"fabric": {"catalog": CODE}},
    "own_catalog.yaml": {"fabric": {"catalog": "own.yaml"}},
    "npu.yaml": {"npu": CODE},
    "workload.yaml": {"workloads": [{"model": CODE}]},
    "model_file.yaml": {"workloads": [{"model": "layers.json", "parallelism": {"tp": 4}}]},
    "trace.yaml": {"workloads": [{"trace": CODE}]},
    "bandwidth.yaml": {"bandwidth": CODE},
}
"""Problem files by name: the keys in which each differs from a sound one."""

EXPERIMENTS = {
    "of_problem.yaml": f"problem: {PROBLEM}\n{SMALL}",
    "of_problems.yaml": f"problem: [gpt3-4k, '{PROBLEM}']\n{SMALL}",
    "of_engine.yaml": f"problem: gpt3-4k\nengines: {ENGINE}\n{SMALL}",
    "of_engines.yaml": f"problem: gpt3-4k\nengines: [nsga2, {{engine: '{ENGINE}', population: 20}}]\n{SMALL}",
    "of_runs.yaml": f"{SMALL}runs:\n  a: {{problem: gpt3-4k, engines: ['{ENGINE}']}}\n",
    "of_file.yaml": "problem: problem.yaml\n",
    "of_set.yaml": f"problem: gpt3-4k\nset: {{search.engine: '{ENGINE}'}}\n{SMALL}",
    "of_grid.yaml": f"problem: gpt3-4k\ngrid: {{search.engine: [nsga2, '{ENGINE}']}}\n{SMALL}",
    "of_include.yaml": "include: of_engine.yaml\nname: included\n",
}

LONG = ("deepseek-v3-2k", "buy-deepseek-v3-8k", "llama3-70b-serving", "dlrm-4k", "opt-175b-offload", "wafer-20")

OF_PROBLEM = (
    ("search", "{}", *BUDGET), ("bench", "{}", "--engines", "nsga2", *BUDGET[:4], "--seeds", 1, "--workers", 1),
    ("evaluate", "{}", "--design", DESIGN), ("explain", f"{{}}#{DESIGN}"), ("diff", f"{{}}#{DESIGN}", f"{{}}#{DESIGN}"),
    ("draw", "{}", "--design", DESIGN, "--to", "out.svg"), ("optimize", "{}", "--shape", "RI(4)_FC(8)_RI(4)_SW(32)"),
    ("export", f"{{}}#{DESIGN}", "--to", "bill-csv"), ("workload", "write", f"{{}}#{DESIGN}", "--out", "traces"),
    ("certify", "good", "--problem", "{}"), ("rescore", "good", "--time", "astra", "--problem", "{}"),
    ("prices", "good", "--problem", "{}"), ("recommend", "good", "--problem", "{}"),
    ("explain", "good#0", "--problem", "{}"), ("export", "good#0", "--to", "bill-csv", "--problem", "{}"),
    ("import", "{}"), ("plan", "{}"), ("run", "{}", "--workers", 0), ("results", "{}"), ("show", "{}"), ("front", "{}"),
    ("report", "{}"), ("compare", "{}", "good"), ("reproduce", "{}"), ("fit-npu", "{}", "--npu", "A100"),
    ("catalog", "{}"), ("validate", "{}"), ("workload", "show", "{}"), ("evaluate", "{}", "zcube(8, 2)"),
)  # fmt: skip
OF_EXPERIMENT = (("run", "{}", "--workers", 0), ("plan", "{}"))
OF_RESULT = (
    ("show", "{}"), ("front", "{}"), ("recommend", "{}"), ("explain", "{}#0"), ("diff", "{}#0", "{}#1"),
    ("draw", "{}#0", "--to", "out.svg"), ("evaluate", "{}#0"), ("optimize", "{}#0"),
    ("export", "{}#0", "--to", "bill-csv"),
    ("workload", "write", "{}#0", "--out", "traces"), ("certify", "{}"), ("rescore", "{}", "--time", "astra"),
    ("prices", "{}"), ("report", "{}", "--to", "page.html"), ("compare", "{}", "good"), ("reproduce", "{}"),
    ("results", "--out", "results"), ("search", "gpt3-4k", *BUDGET, "--start-from", "{}"),
    ("certify", "good", "--problem", "{}"),
)  # fmt: skip
OF_NOTHING = {"init", "schema", "ui", "mcp", "simulate"}
"""Commands that read no such file from the command line; the files that `ui` and `mcp` start have tests of
their own."""

RESULTS: dict[str, Callable[[dict[str, Any]], None]] = {
    "engine": lambda manifest: manifest.update(engine=ENGINE),
    "problem": lambda manifest: manifest["source"].update(problem=PROBLEM, data=None, set=[], folder=str(Path.cwd())),
    "both": lambda manifest: (
        manifest.update(engine=ENGINE),
        manifest["source"].update(problem=PROBLEM, data=None, set=[], folder=str(Path.cwd())),
    )[0],
    "data": lambda manifest: manifest["source"]["data"].update(search={"engine": ENGINE}),
}
"""Results by name: what is changed of the manifest of a sound one."""


def layers() -> dict[str, Any]:
    return {"architectures": [CODE], "model_type": CODE, "auto_map": {"AutoModel": CODE}, "num_hidden_layers": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("named_code")
    with contextlib.chdir(folder):
        write_files(folder)
        with contextlib.redirect_stdout(io.StringIO()):
            call("search", "gpt3-4k", *BUDGET)
        (run,) = folder.glob("results/gpt3-4k/*")
        shutil.copytree(run, "good")
        for name, change in RESULTS.items():
            shutil.copytree(run, f"odd/{name}")
            manifest = json.loads((run / "manifest.json").read_text())
            change(manifest)
            RunFolder(Path("odd", name)).write_json("manifest.json", manifest)
    return folder


def write_files(folder: Path) -> None:
    (folder / "evilmod.py").write_text(MODULE)
    (folder / "problems").symlink_to(ROOT / "problems")
    (folder / "layers.json").write_text(json.dumps(layers()))
    (folder / "own.yaml").write_text(
        f"extends: '{CODE}'\ntechnologies:\n  node: {{block: '{CODE}', blocks: ['{CODE}']}}\n"
    )
    sound = YAML(typ="safe").load((ROOT / "problems/gpt3-4k.yaml").read_text())
    for name, keys in PROBLEMS.items():
        (folder / name).write_text(json.dumps(sound | keys))
    for name, text in EXPERIMENTS.items():
        (folder / name).write_text(text)


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(made)
    with own_modules(made):
        yield made
    (made / "sprung").unlink(missing_ok=True)


def sprung(folder: Path) -> bool:
    return (folder / "sprung").exists() or "evilmod" in sys.modules


def outcome(words: tuple[object, ...], name: str) -> str:
    """Return what a command says where it fails, for a file or a result."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            call(*(str(word).replace("{}", name) for word in words))
    except EvoLibraError as error:
        return str(error)
    return ""


def test_the_tables_have_every_command() -> None:
    assert {str(words[0]) for words in (*OF_PROBLEM, *OF_EXPERIMENT, *OF_RESULT)} | OF_NOTHING == set(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("words", OF_PROBLEM, ids=lambda words: " ".join(map(str, words[:2])))
def test_no_problem_file_has_a_command_import_a_module(folder: Path, words: tuple[object, ...]) -> None:
    for name in PROBLEMS:
        said = outcome(words, name)
        assert not sprung(folder), (name, said)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_experiment_has_a_command_import_a_module(folder: Path, name: str) -> None:
    for words in OF_EXPERIMENT:
        assert "--trust-code" in outcome(words, name)
        assert not sprung(folder), words
    with pytest.raises(EvoLibraError, match="--trust-code"):
        new_run.checked(folder / name, folder / "results", [])
    assert not sprung(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_no_result_has_a_command_import_a_module(folder: Path, name: str) -> None:
    for words in OF_RESULT:
        said = outcome(words, f"odd/{name}")
        assert not sprung(folder), (words, said)
    with contextlib.closing(Catalogue.open(folder)) as catalogue:
        run = catalogue.find(f"odd/{name}")
        for start in (new_run.with_warning("Start?", run),):
            assert not sprung(folder), start
        with contextlib.suppress(EvoLibraError):
            new_run.file_of_search(run, [], folder / "results")
    assert not sprung(folder)


@pytest.mark.usefixtures("folder")
def test_the_sentence_has_the_place_of_the_name() -> None:
    said = "a file names code, evilmod:make; where you trust the file, --trust-code runs the code"
    assert outcome(("plan", "of_engines.yaml"), "") == f"of_engines.yaml:2:19: engines[1].engine: {said}"
    assert outcome(("search", "problem.yaml"), "").endswith(f": search.engine: {said}")
    assert outcome(("reproduce", "odd/engine"), "") == said
    assert outcome(("certify", "odd/problem"), "") == f"odd/problem: {said.replace('make', 'x')}"
    said = outcome(("certify", "odd/problem", "--trust-code"), "")
    assert "is written in Python" in said or "is another one" in said or "has changed" in said


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each text in the data of a file."""
    if isinstance(data, str):
        yield path
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield from leaves(value, (*path, key))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["gpt3-4k", "roce-128", *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)]
)
def test_no_text_of_a_shipped_problem_is_code(folder: Path, name: str) -> None:
    data = YAML(typ="safe").load((ROOT / f"problems/{name}.yaml").read_text())
    paths = list(leaves(data))
    assert len(paths) > 5
    for path in paths:
        changed = copy.deepcopy(data)
        at = changed
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = CODE
        (folder / "leaf.yaml").write_text(json.dumps(changed))
        with contextlib.suppress(EvoLibraError):
            build(origin_of("leaf.yaml", []))
        assert not sprung(folder), path


ALLOWED = (
    ("search", "problem.yaml", *BUDGET), ("run", "of_engines.yaml", "--workers", 0), ("plan", "of_problem.yaml"),
    ("run", "of_file.yaml", "--workers", 0), ("reproduce", "odd/engine"), ("reproduce", "odd/both"),
    ("certify", "odd/problem"), ("rescore", "odd/problem", "--time", "astra"), ("prices", "odd/problem"),
    ("export", "odd/problem#0", "--to", "bill-csv"), ("explain", "odd/problem#0"),
    ("diff", "odd/problem#0", "odd/problem#1"), ("draw", "odd/problem#0"), ("evaluate", "odd/problem#0"),
    ("optimize", "odd/problem#0"), ("front", "odd/problem", "--systems"),
    ("workload", "write", "odd/problem#0", "--out", "traces"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", ALLOWED, ids=lambda words: " ".join(map(str, words[:2])))
def test_the_option_allows_it(folder: Path, words: tuple[object, ...]) -> None:
    assert "where you trust" in outcome(words, "")
    assert not sprung(folder)
    assert "where you trust" not in outcome((*words, "--trust-code"), "")
    assert sprung(folder)
    # Another command is asked again.
    (folder / "sprung").unlink()
    assert "where you trust" in outcome(words, "")


NAMED = (
    ("search", PROBLEM, *BUDGET), ("search", "gpt3-4k", "--engine", ENGINE, *BUDGET),
    ("bench", "gpt3-4k", "--engines", ENGINE, "--seeds", 1, *BUDGET[:4], "--workers", 1),
    ("search", PROBLEM, *BUDGET, "--workers", 1), ("search", "gpt3-4k", "--engine", ENGINE, *BUDGET, "--islands", 2),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", NAMED, ids=lambda words: " ".join(map(str, words[:4])))
def test_code_that_the_command_line_names_is_run(folder: Path, words: tuple[object, ...]) -> None:
    assert outcome(words, "") == ""
    assert sprung(folder)


@pytest.mark.slow
def test_the_workers_of_a_batch_run_what_its_user_trusts(folder: Path) -> None:
    started = process_json(
        folder, "run", "of_engines.yaml", "--workers", "1", "--detach", "--trust-code", "--out", "batch"
    )
    wait_for(lambda: "2 done" in (folder / started["log"]).read_text())
    assert sprung(folder)
