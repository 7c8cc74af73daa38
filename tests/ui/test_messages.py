"""What the commands say of wrong input: the same place and the same words, whichever command reads a file."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from evo_libra import search
from evo_libra.files import mistakes
from evo_libra.front.front import Front
from evo_libra.problem.protocol import COST, TIME
from evo_libra.ui.commands.application import run
from evo_libra.ui.commands.front import show_front
from evo_libra.ui.commands.init import STARTER

sys.path.insert(0, str(Path(__file__).parents[2]))
from problems.two_tier import TwoTier

Say = Callable[..., str]
GOLDEN = Path(__file__).parents[1] / "golden" / "chakra"
PLACE = f"mine.yaml:{1 + [line.strip()[:11] for line in STARTER.splitlines()].index('parallelism')}:5"


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Return what runs a command line in a temporary folder, and gives what it says of wrong input."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str, code: int = 2) -> str:
        assert run([*words]) == code
        return capsys.readouterr().err.replace("evo-libra: ", "").strip()

    return command


def problem(text: str = STARTER, name: str = "mine.yaml", **values: str) -> None:
    """Write the starter problem, or another one, with values of its own lines."""
    lines = [
        next((f"{key}: {value}" for key, value in values.items() if line.startswith(f"{key}:")), line)
        for line in text.splitlines()
    ]
    Path(name).write_text("\n".join(lines))


@pytest.mark.parametrize("words", [
    ["search"], ["evaluate", "--design", "RI(4)"], ["optimize"], ["bench", "--engines", "nsga2"],
])  # fmt: skip
def test_every_command_gives_the_line_of_a_late_mistake(say: Say, words: list[str]) -> None:
    problem(npus="4099")
    said = say(words[0], "mine.yaml", *words[1:])
    assert said == f"{PLACE}: workloads[0].parallelism: tp 16 does not divide the 4099 NPUs; 1 and 4099 do"


@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_batch_gives_the_line_in_the_problem_too(say: Say, command: str) -> None:
    problem(npus="4099")
    Path("batches").mkdir()
    Path("batches/exp.yaml").write_text("problem: ../mine.yaml\n")
    said = say(command, "batches/exp.yaml")
    assert said.startswith(f"batches/exp.yaml:1:1: problem: batches/../{PLACE}: workloads[0].parallelism: ")


@pytest.mark.parametrize("command", ["plan", "run"])
def test_the_name_of_a_problem_is_no_experiment(say: Say, command: str) -> None:
    said = "'gpt3-4k' is a problem; use `evo-libra search gpt3-4k`, or give the path of an experiment file"
    assert say(command, "gpt3-4k") == said
    assert say(command, "gpt3-5k") == "gpt3-5k: cannot be read: no such file or directory"


def test_files_that_a_problem_names_are_shown_as_the_user_gave_them(say: Say) -> None:
    Path("prices.yaml").write_text("name: 3\n")
    problem(STARTER.replace("catalog: libra-cosearch", "catalog: prices.yaml"))
    Path("exp.yaml").write_text("problem: mine.yaml\n")
    direct = say("search", "mine.yaml").splitlines()
    assert [line[:16] for line in direct] == ["prices.yaml:1:1:"] * 3
    assert say("plan", "exp.yaml").splitlines() == [f"exp.yaml:1:1: problem: {line}" for line in direct]


def test_a_front_to_start_from_is_shown_as_the_user_gave_it(say: Say) -> None:
    needed = "there is no nowhere; the folder of a run or the file of a front is needed"
    assert say("search", "gpt3-4k", "--start-from", "nowhere") == f"start_from: {needed}"
    Path("exp.yaml").write_text("problem: gpt3-4k\nstart_from: nowhere\n")
    assert say("plan", "exp.yaml") == f"exp.yaml:2:1: start_from: {needed}"


KINDS = {
    "mine.yaml": "this is a problem file; use `evo-libra search`",
    "exp.yaml": "this is an experiment file; use `evo-libra run`",
    "prices.yaml": "this is a catalogue; use it as `fabric.catalog` of a problem file",
    "trace.0.et": "this is an execution trace; use it as `trace` of a workload, or `evo-libra workload show`",
    "unnamed": "this is an execution trace; use it as `trace` of a workload, or `evo-libra workload show`",
    "manifest.json": "this is the manifest of a run; use its folder",
    "front.parquet": "this is a Parquet file; use the folder of the run that it belongs to",
    "index.sqlite": "this is a database; use the folder of the run that it belongs to",
    "there": "this is a folder; a file is needed",
}
OWN = {"plan": "exp.yaml", "run": "exp.yaml", "search": "mine.yaml", "optimize": "mine.yaml", "catalog": "prices.yaml"}


def write_every_kind() -> None:
    problem()
    Path("exp.yaml").write_text("problem: gpt3-4k\nseeds: [0, 1]\n")
    Path("prices.yaml").write_text("name: ours\nsource: here\ntechnologies: {pod: {link_usd_per_GBps: 1}}\n")
    trace = next(GOLDEN.glob("*/trace.0.et")).read_bytes()
    Path("trace.0.et").write_bytes(trace)
    Path("unnamed").write_bytes(trace)
    Path("manifest.json").write_text('{"hash": "0", "program": "p", "engine": "nsga2", "problem": {}}')
    pl.DataFrame({"time_ms": [1.0]}).write_parquet("front.parquet")
    Path("index.sqlite").write_bytes(b"SQLite format 3\0" + bytes(84))
    Path("there").mkdir()


@pytest.mark.parametrize("command", OWN)
def test_the_wrong_kind_of_file_is_named_with_what_it_is_for(say: Say, command: str) -> None:
    write_every_kind()
    for file, words in KINDS.items():
        if file != OWN[command] and (command != "catalog" or file.endswith(".yaml")):
            # A name without ending or folder is that of a problem, not of a file.
            assert say(command, f"./{file}") == f"{file}: {words}"


def test_a_file_that_is_no_trace_is_named_with_what_it_is_for(say: Say) -> None:
    write_every_kind()
    for file in ("mine.yaml", "exp.yaml", "front.parquet", "manifest.json"):
        assert say("workload", "show", file) == f"{file}: {KINDS[file]}"
    Path("broken.et").write_bytes(b"\x85" * 40)
    assert "this is" not in say("workload", "show", "broken.et").replace("this is no trace", "")


@pytest.mark.parametrize("command", ["front", "show", "certify", "rescore", "prices", "reproduce", "compare"])
def test_the_folder_of_a_run_is_asked_for_where_a_file_is_given(say: Say, command: str) -> None:
    write_every_kind()
    Path("manifest.json").unlink()
    more = ["--time", "astra"] if command == "rescore" else []
    needed = "here the folder of a run is needed"
    assert say(command, "mine.yaml", *more) == f"mine.yaml: {KINDS['mine.yaml']}; {needed}"
    assert say(command, "trace.0.et", *more) == f"trace.0.et: {KINDS['trace.0.et']}; {needed}"
    if command != "compare":
        manifest = Path("results/gpt3-4k/nsga2-0/manifest.json")
        manifest.parent.mkdir(parents=True)
        manifest.write_text("{}")
        assert say(command, str(manifest), *more) == (
            f"{manifest} is a file of a run; use the run's folder, {manifest.parent}"
        )


@pytest.mark.slow
@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_file_in_the_place_of_results_is_named_as_the_user_gave_it(say: Say, out: str) -> None:
    Path("file").touch()
    Path("exp.yaml").write_text("problem: gpt3-4k\n")
    bench = ["bench", "gpt3-4k", "--engines", "nsga2"]
    for words in (
        ["search", "gpt3-4k"],
        ["run", "exp.yaml"],
        ["run", "exp.yaml", "--detach"],
        ["plan", "exp.yaml"],
        bench,
    ):
        part = "it" if out == "file" else "file"
        assert say(*words, "--out", out) == f"{out} is no folder of results: {part} is a file"


def test_a_named_pipe_is_refused_at_once(say: Say) -> None:
    os.mkfifo("pipe")
    os.mkfifo("pipe.yaml")
    Path("problem.yaml").write_text(
        "name: x\nnpus: 16\nfabric: {catalog: pipe.yaml, max_dimensions: 2}\nworkloads:\n"
        "  - {file: pipe, parallelism: {tp: 4}}\n  - {name: b, trace: pipe, groups: pipe}\ntime: libra\n"
    )
    for words in (["search", "./pipe.yaml"], ["plan", "pipe.yaml"], ["evaluate", "problem.yaml", "--design", "RI(16)"]):
        assert "not a regular file" in say(*words)


@pytest.mark.slow
def test_a_folder_with_one_run_in_it_is_that_run(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    search = ["search", "gpt3-4k", "--evaluations", "100", "--population", "50", "--no-plot", "--json"]
    say(*search, code=0)
    for name in ("results", "results/gpt3-4k", "gpt3-4k", "smsemoa"):
        assert run(["front", name, "--json"]) == run(["show", name, "--json"]) == 0
        front, shown = map(json.loads, capsys.readouterr().out.splitlines())
        assert len(front["front"]) == shown["run"]["front_size"]
    say(*search, "--seed", "1", code=0)
    several = say("front", "results")
    assert several.startswith("results has 2 runs, such as results/gpt3-4k/smsemoa-")
    near = say("front", "gtp3-4k/smsemoa")
    assert near.startswith("there is no run 'gtp3-4k/smsemoa' in results; the nearest are gpt3-4k/smsemoa-")
    assert near.count("-e100-s") == 2
    assert say("show", "x", "--out", ".") == "there is no run 'x' in ., which has no runs"


@pytest.mark.slow
def test_names_that_look_like_options_go_after_two_dashes(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    say("search", "gpt3-4k", "--evaluations", "100", "--population", "50", "--no-plot", code=0)
    run_folder = next(Path("results/gpt3-4k").iterdir())
    run_folder.parent.rename("results/--json-4k")
    for command in ("show", "front"):
        for name in ("--json-4k", f"--json-4k/{run_folder.name}"):
            said = say(command, name)
            assert said.startswith(f"Unknown option: {name}".split("/")[0])
            assert said.endswith("; a name that begins with a dash goes after `--`")
            assert run([command, "--", name]) == 0
            assert capsys.readouterr().out
    assert run(["results", "--json", "--", "-gpt3"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["id"].startswith("--json-4k/")


MANY = """\
name: my cluster
npus: 64
fabric:
  catalog: libra-cosearch
  technologies: [chiplet, nod]
workloads:
  - model: gpt-4
    parallelism: {tp: 4}
  - model: resnet-50
    parallelism: {tp: 5}
time: {model: libra, chunks: 4, latency_ns: 5}
objectives: [time, tco]
constraints: ["cost < 5 MUSD", "bw[0] <= 5 parsec"]
bandwidth: {min_GBps: 5, max_GBps: 1}
search: {population: 1}
"""


def test_all_mistakes_of_a_file_are_said_in_one_go(say: Say) -> None:
    Path("mine.yaml").write_text(MANY)
    said = say("search", "mine.yaml").splitlines()
    lines = [int(one.split(":")[1]) for one in said]
    assert lines == sorted(lines)
    assert {1, 5, 7, 9, 10, 11, 12, 14, 15} - set(lines) <= {9, 12}
    assert sum(line == 11 for line in lines) == 2
    assert "letters, digits, dots, dashes and underscores" in said[0]
    Path("mine.yaml").write_text(MANY.replace("chiplet, nod]", "chiplet, node]"))
    said = say("search", "mine.yaml").splitlines()
    assert any("'<' is no relation; '<=' is" in one for one in said)
    assert any("parsec" in one for one in said)


WORKLOADS = """\
name: mine
npus: 64
fabric: {catalog: libra-cosearch, max_dimensions: many}
workloads:
  - model: gpt-3-libr
    parallelism: {tp: 17}
    memory_GBps: 3
    groups: groups.json
  - generator: {kind: moe, layers: 2, sequence: 4, batch: 4, hidden: 4, expert_hidden: 3, experts: 3, top_k: 4}
    parallelism: {ep: 2}
    compute_scale: 3
  - {trace: nowhere, parallelism: {tp: 4}, compute_TFLOPS: 3, compute_scale: 1}
  - {model: gpt-3-libra, compute_TFLOPS: 3, colour: red}
  - {file: nowhere.txt, parallelism: {tp: 3}, compute_TFLOPS: 3}
constraints: ["bw[7] < 3 GB/s"]
"""


def test_all_mistakes_of_a_workload_are_said_in_one_go_and_none_hides_those_of_others(say: Say) -> None:
    Path("mine.yaml").write_text(WORKLOADS)
    said = say("search", "mine.yaml").splitlines()
    keys = [one.split(": ")[1].removeprefix("workloads") for one in said if one.startswith("mine.yaml:")]
    assert keys == [
        "fabric.max_dimensions",
        "[0].model", "[0].parallelism", "[0].memory_GBps", "[0].groups",
        "[1]", "[1].generator.top_k", "[1].parallelism", "[1].parallelism.ep", "[1].compute_scale",
        "[2]", "[2].trace", "[2].parallelism", "[2].compute_scale", "[3].colour",
        "[4].file", "[4].parallelism", "[4].compute_TFLOPS",
        "constraints[0]",
    ]  # fmt: skip
    assert len(said) == len(keys)
    # A key that is missing hides what is in its workload alone.
    Path("mine.yaml").write_text(WORKLOADS.replace(" expert_hidden: 3,", ""))
    left = [one.split(": ")[1].removeprefix("workloads") for one in say("search", "mine.yaml").splitlines()]
    assert left == [*keys[:5], "[1].generator.expert_hidden", *keys[10:]]


def test_what_depends_on_a_mistake_is_not_said(say: Say) -> None:
    parts = "fabric: {catalog: parts-2024, max_dimensions: 2}"
    problem(
        STARTER.split("fabric:")[0] + parts + "\n\nworkloads:" + STARTER.split("workloads:")[1].split("bandwidth:")[0]
    )
    with Path("mine.yaml").open("a") as file:
        file.write("\nbandwidth: prots\n")
    (said,) = say("search", "mine.yaml").splitlines()
    assert "did you mean 'ports'" in said


def test_two_designs_are_one_too_many(say: Say) -> None:
    said = say("evaluate", "results", "--id", "3", "--design", "RI(4)")
    assert said == "--design and --id both name a design; give one of the two"


def test_lists_of_what_is_allowed_are_complete_and_without_doubles(say: Say) -> None:
    problem(STARTER.replace("libra-cosearch ", "libra-2 "))
    known = "libra, libra-cosearch, luwu-2024, parts-2024, products-2025, wafer"
    assert f"allowed: {known}, or the path of a .yaml file" in say("search", "mine.yaml")
    said = say("search", "moe-4k", "--set", "constraints=['bw[pod] <= 5 GB/s']")
    allowed = said.split("allowed: ")[1].split("; did")[0].split(", ")
    assert len(allowed) == len(set(allowed)) > 1


def test_a_block_that_nothing_builds_is_an_error(say: Say) -> None:
    said = say("search", "gpt3-4k", "--set", "fabric.blocks=[ring, torus-3d]")
    assert said.endswith("fabric.blocks[1]: no technology that is chosen can build torus-3d")
    said = say("search", "moe-4k", "--set", "fabric.blocks=[switch, fred-a]")
    assert "no technology that is chosen can build fred-a" in said


def test_a_span_that_is_the_reason_is_named(say: Say) -> None:
    wide = ("--set", "fabric.domains=any", "--set", "fabric.technologies=[nvlink4]", "--set", "fabric.blocks=[ring]")
    said = say("search", "moe-4k", *wide)
    assert "nvlink4 any" not in said
    assert re.search(r"\(nvlink4 \d+ with all inside it\)", said)


@pytest.mark.slow
def test_no_regular_expression_is_shown(say: Say) -> None:
    text = Path(mistakes.__file__).parents[1]
    patterns = {
        found for path in text.rglob("*.py") for found in re.findall(r'\bpattern=r?"([^"]+)"', path.read_text())
    }
    assert patterns
    assert patterns <= mistakes._PATTERNS.keys()  # noqa: SLF001 - a fact of the source
    assert "^" not in say("search", "gpt3-4k", "--set", "name=-x")


def table_of(text: str) -> tuple[int, int]:
    """Return how many designs the title of a table names, and how many rows it has."""
    titled = re.search(r": (\d+) of \d+ designs? on the front", text)
    assert titled is not None
    return int(titled[1]), len(re.findall(r"^│ +\d+ │", text, re.MULTILINE))


@pytest.mark.slow
def test_the_title_of_a_front_counts_the_rows_of_its_table(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    say("search", "gpt3-4k", "--evaluations", "400", "--population", "100", "--no-plot", "--json", code=0)
    for rows in (1, 7, 12, 40, 1000):
        assert run(["front", "results", "--rows", str(rows)]) == 0
        named, shown = table_of(capsys.readouterr().out)
        assert named == shown


def test_designs_of_a_problem_in_python_are_told_by_what_it_says_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    problem = TwoTier()
    front = search(problem, evaluations=200, population=50)
    show_front(front, problem.objectives, problem.name, rows=5)
    assert re.search(r"radix=\d+, fast_GBps=[\d.,]+", " ".join(capsys.readouterr().out.split()))


@pytest.mark.parametrize(
    ("factor", "column"), [(1e-9, "time_ns"), (1.0, "time_ms"), (1e6, "time_h"), (1e7, "time_d"), (1e9, "time_years")]
)
def test_times_choose_their_unit(capsys: pytest.CaptureFixture[str], factor: float, column: str) -> None:
    frame = pl.DataFrame({"id": [0, 1], "time_ms": [150 * factor, 100 * factor], "cost_usd": [1.0, 2.0]})
    show_front(Front(frame, ("time_ms", "cost_usd")), (TIME, COST), "some", rows=5)
    shown = capsys.readouterr().out
    name, _, unit = column.partition("_")  # the head of a column is folded where designs are words
    assert re.search(rf" {name} .*\n.* {unit} ", shown)
    assert "e+" not in shown.split("some:")[1]


def test_a_breakdown_chooses_units_too(capsys: pytest.CaptureFixture[str]) -> None:
    design = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"
    assert run(["evaluate", "gpt3-4k", "--design", design, "--set", "workloads[0].compute_TFLOPS=1e-6"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"time  [\d.]+ (d|years)\n", shown)
    assert " ms of it compute" not in shown


@pytest.mark.slow
def test_a_plan_counts_what_starting_takes(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    Path("exp.yaml").write_text("problem: gpt3-4k\nevaluations: 200\npopulation: 50\n")
    assert run(["plan", "exp.yaml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["start_s"] > 0.2  # two interpreters with NumPy
    assert found["wall_s"] == pytest.approx(found["start_s"] + found["core_s"] / found["workers"])
    assert run(["plan", "exp.yaml", "--workers", "0"]) == 0
    assert re.search(r"with 0 workers, [\d.]+ s of it to start", capsys.readouterr().out)
    say("search", "gpt3-4k", "--evaluations", "200", "--population", "50", "--no-plot", code=0)
    assert run(["plan", "exp.yaml", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["to_run"], done["wall_s"]) == (0, 0)


@pytest.mark.slow
def test_a_search_that_finds_nothing_says_what_the_nearest_design_breaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for engine, looked in (("exhaustive", ""), ("nsga2", " among 650 evaluated ones")):
        asked = ["search", "dense-1k", "--set", "constraints=[time <= 0.001 ms]", "--engine", engine]
        assert run([*asked, "--evaluations", "650", "--out", str(tmp_path / engine)]) == 1
        error = capsys.readouterr().err.splitlines()[-1]
        # The least violation is that of the fastest design, which is the same whatever a search has evaluated.
        assert error.startswith(f"evo-libra: no design meets the constraints{looked}; the nearest of all (exact), ")
        assert ": the constraint 'time <= 0.001 ms' is broken: 266.6 of 0.001 ms" in error
        assert error.endswith(
            "; loosen them" if engine == "exhaustive" else "; loosen them, or give more --evaluations"
        )


@pytest.mark.slow
@pytest.mark.parametrize(("model", "numba", "seconds", "said"), [
    ("astra", False, 0.0, True),
    ("libra", False, 0.0, False),
    ("astra", True, 0.0, False),
    ("astra", False, 1e9, False),
])  # fmt: skip
def test_a_long_search_says_what_numba_would_bring(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, *, numba: bool,
    seconds: float, said: bool,
) -> None:  # fmt: skip
    command = importlib.import_module("evo_libra.ui.commands.search")
    monkeypatch.setattr(command, "is_installed", lambda _name: numba)
    monkeypatch.setattr(command, "_LONG_SECONDS", seconds)
    words = ["search", "gpt3-4k", "--evaluations", "100", "--no-plot", "--out", str(tmp_path)]
    time = "{model: astra, latency_ns: 500}" if model == "astra" else "libra"
    assert run([*words, "--set", f"time={time}"]) == 0
    assert ("pip install 'evo-libra[fast]'" in capsys.readouterr().out) == said
