"""Odd and large input: one sentence each, after little work and in little memory."""

from __future__ import annotations

import difflib
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from evo_libra import search
from evo_libra.chakra.trace import Kind, Metadata, Node
from evo_libra.chakra.write import write_trace
from evo_libra.errors import InputError
from evo_libra.files import source, yaml_reader
from evo_libra.problem.protocol import Evaluation
from evo_libra.ui.commands.application import run
from evo_libra.ui.commands.init import STARTER

sys.path.insert(0, str(Path(__file__).parents[2]))
from problems.two_tier import TwoTier

Say = Callable[..., str]
LONG = "n" * 300


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Return what runs a command line in a temporary folder, and gives what it says of wrong input."""
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> str:
        assert run([*words]) in (1, 2)
        return capsys.readouterr().err.replace("evo-libra: ", "").strip()

    return command


@pytest.mark.parametrize("words", [["search", "gpt3-4k", "--evaluations", "8.5"], ["import", "x", "--npus", "8.5"]])
def test_a_count_is_not_rounded(say: Say, words: list[str]) -> None:
    assert say(*words) == f"Invalid value for {words[-2]}: found 8.5; a whole number is needed"


@pytest.mark.slow
def test_text_that_aliases_repeat_counts_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_reader, "MAX_BYTES", 1_000_000)  # half: the reader of YAML is slow
    bomb = f"a: &a '{'x' * 40_000}'\nb: [{', '.join(['*a'] * 1_500)}]\n"  # 60 MB
    tracemalloc.start()
    with pytest.raises(InputError, match="more than 1 MB of text, that which aliases repeat included"):
        source.parse_source(bomb, "f")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8e6


@pytest.mark.slow
@pytest.mark.parametrize(("command", "text"), [("search", STARTER), ("plan", "problem: gpt3-4k\n")])
def test_of_thousands_of_unknown_keys_the_first_are_named(
    say: Say, monkeypatch: pytest.MonkeyPatch, command: str, text: str
) -> None:
    compared = []
    monkeypatch.setattr(difflib, "get_close_matches", lambda *_, **__: compared.append(1) or [])
    Path("many.yaml").write_text(text + "".join(f"unknown_key_{n}: {n}\n" for n in range(5000)))
    said = say(command, "many.yaml").splitlines()
    assert len(said) == 51
    assert "unknown key 'unknown_key_0'" in said[0]
    assert said[-1] == "many.yaml: and 4,950 mistakes more"
    assert len(compared) <= 10 * 50  # not with every key, and thousands of times


@pytest.mark.slow
@pytest.mark.parametrize("name", ['"a\\0b"', LONG])
def test_names_that_no_file_can_have(say: Say, name: str) -> None:
    starter = STARTER.replace("catalog: libra-cosearch ", "catalog: libra ")
    Path("catalog.yaml").write_text(STARTER.replace("libra-cosearch ", f"{name[:-1]}.yaml{name[-1]} "))
    workload = "model: gpt-3-libra ", "parallelism: {tp: 16} ", "compute_TFLOPS: 234 "
    assert all(part in starter for part in workload)
    file = starter.replace(workload[0], f"file: {name} ").replace(workload[2], "# ")
    Path("file.yaml").write_text(file)
    Path("trace.yaml").write_text(file.replace("file: ", "trace: ").replace(workload[1], "# "))
    Path("include.yaml").write_text(f"problem: gpt3-4k\ninclude: {name}\n")
    Path("problem.yaml").write_text(f"problem: {name}\n")
    Path("start.yaml").write_text(f"problem: gpt3-4k\nstart_from: {name}\n")
    for file in ("catalog", "file", "trace"):
        assert len(say("search", f"{file}.yaml").splitlines()) == 1
    for file in ("include", "problem", "start"):
        assert say("plan", f"{file}.yaml").startswith(f"{file}.yaml:")


@pytest.mark.parametrize("words", [
    ["search"], ["evaluate", "--design", "x"], ["optimize"], ["bench", "--engines", "nsga2"], ["front"], ["show"],
    ["plan"], ["run"], ["ui"], ["results", "--out"], ["workload", "show"], ["catalog"], ["init"], ["compare"],
    ["search", "gpt3-4k", "--start-from"], ["search", "gpt3-4k", "--evaluations", "100", "--no-plot", "--out"],
])  # fmt: skip
@pytest.mark.parametrize("ending", ["", ".yaml"])
def test_names_that_are_too_long_are_one_sentence(say: Say, words: list[str], ending: str) -> None:
    at = 2 if words[:2] == ["workload", "show"] else len(words) if words[-1] in ("--out", "--start-from") else 1
    said = say(*words[:at], f"{LONG}{ending}", *words[at:])
    assert len(said.splitlines()) == 1
    assert "nnn" in said


def test_a_trace_of_metadata_alone_is_refused(say: Say) -> None:
    write_trace(Path("empty.0.et"), Metadata("0.0.4"), [Node(1, "nothing", Kind.METADATA)])
    text = STARTER.replace("model: gpt-3-libra ", "trace: empty ").replace("    parallelism", "    # ")
    Path("mine.yaml").write_text(text.replace("    compute_TFLOPS", "    # "))
    said = say("search", "mine.yaml")
    assert said == "mine.yaml:21:5: workloads[0].trace: the trace has metadata alone; there is nothing to time"


def test_a_bandwidth_of_next_to_nothing_is_refused(say: Say) -> None:
    Path("mine.yaml").write_text(STARTER.replace("min_GBps: 1,", "min_GBps: 5e-324,"))
    assert "min_GBps: found 5e-324 (number), a number of at least 1e-15 is needed" in say("search", "mine.yaml")


class Free(TwoTier):
    name = "free"

    def evaluate_genes(self, genes: np.ndarray) -> Evaluation:
        found = super().evaluate_genes(genes)
        return Evaluation(found.objectives * np.array([[1.0], [0.0]]), found.violation)


@pytest.mark.parametrize("engine", ["nsga2", "random", "pymoo:nsga2"])
def test_an_objective_of_zero_is_one_sentence(engine: str) -> None:
    with pytest.raises(InputError, match=r"network cost .* of a design of 'free' is 0; objectives must be above 0"):
        search(Free(), engine=engine, evaluations=100, population=20)


@pytest.mark.slow
def test_a_catalogue_without_prices_is_one_sentence(say: Say) -> None:
    free = "{link_usd_per_GBps: 0, switch_usd_per_GBps: 0, nic_usd_per_GBps: 0}"
    Path("free.yaml").write_text(f"name: free\nsource: here\ntechnologies: {{pod: {free}}}\n")
    Path("mine.yaml").write_text(
        STARTER.replace("libra-cosearch ", "free.yaml ").replace("one_dimension_per_technology: true", "")
    )
    for engine in ("nsga2", "exhaustive", "optimize"):
        assert "is 0; objectives must be above 0" in say("search", "mine.yaml", "--engine", engine)
