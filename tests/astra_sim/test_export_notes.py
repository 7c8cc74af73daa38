"""What an export tells of itself: what may stop the simulator, and what is done while one waits."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evo_libra import load_problem
from evo_libra.astra_sim.export import export_design
from evo_libra.astra_sim.readme import KNOWN_FOR, Exported
from evo_libra.problem.problem import Problem
from evo_libra.timing.quirks import AT_ZERO, ONE_DIMENSION_GROUPS, sentence_of

WHOLE = "RI(4)@chiplet:256_FC(4)@package:100_SW(4)@pod:50"
FIRST = {
    "collective": "layer -1 0 ALLREDUCE 1048576 3 NONE 0 3 NONE 0 1",
    "compute": "layer -1 9 NONE 0 3 NONE 0 3 NONE 0 1",
}


def exported_loop(folder: Path, layer: str, time: str, design: str = WHOLE, tp: int = 4) -> Exported:
    """Return the export of one layer of a text file, whose tensor parallel all-reduce comes after the computation."""
    (folder / "loop.txt").write_text(f"HYBRID_TRANSFORMER\n1\n{layer}\n")
    (folder / "loop.yaml").write_text(
        f"name: loop\nnpus: 64\nfabric: {{catalog: libra}}\n"
        f"workloads: [{{file: loop.txt, parallelism: {{tp: {tp}}}}}]\ntime: {{model: astra, latency_ns: 500, {time}}}\n"
    )
    problem = load_problem(str(folder / "loop.yaml"))
    assert isinstance(problem, Problem)
    return export_design(problem, design, folder / "out")


@pytest.mark.parametrize(("first", "delay", "design", "told"), [
    ("collective", 0, WHOLE, True), ("collective", 1, WHOLE, False), ("compute", 0, WHOLE, False),
    ("collective", 0, "FC(8)@chiplet:256_SW(8)@pod:50", False),  # a list of members, which has a delay of its own
])  # fmt: skip
def test_a_trace_that_begins_with_a_collective_without_delay_is_told(
    tmp_path: Path, first: str, delay: int, design: str, *, told: bool
) -> None:
    exported = exported_loop(tmp_path, FIRST[first], f"endpoint_delay_ns: {delay}", design)
    assert (sentence_of(AT_ZERO) in exported.differences) == told
    assert (sentence_of(AT_ZERO) in (tmp_path / "out" / "README.md").read_text()) == told


def test_the_page_names_the_versions_that_exports_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "astra-sim.md").read_text().partition("\n## ")[0]
    versions = set(re.findall(r"\b[0-9a-f]{7}\b", KNOWN_FOR))
    assert len(versions) == 3
    assert versions == set(re.findall(r"`([0-9a-f]{7})`", page))


def test_the_readme_tells_how_many_files_are_open(tmp_path: Path) -> None:
    exported_loop(tmp_path, FIRST["compute"], "chunks: 2")
    text = (tmp_path / "out" / "README.md").read_text()
    assert "A run keeps about 64 files open, one for each NPU; where fewer are allowed (`ulimit -n`), it ends" in text


def test_lines_may_be_lost_where_groups_are_parts_of_one_dimension(tmp_path: Path) -> None:
    exported = exported_loop(tmp_path, FIRST["collective"], "chunks: 2", "SW(64)@pod:50")
    assert ONE_DIMENSION_GROUPS.sentence in exported.differences
    assert "may crash at the end of a run" in ONE_DIMENSION_GROUPS.sentence
    assert "lines `finished` may be lost" in ONE_DIMENSION_GROUPS.sentence


def test_what_is_done_is_told_with_the_collectives_that_take_long(tmp_path: Path) -> None:
    keys = ["npus=64", "workloads[0].parallelism={tp: 4}", "time={model: themis, latency_ns: 5}"]
    problem = load_problem("gpt3-4k", keys)
    assert isinstance(problem, Problem)
    told: list[str] = []
    export_design(problem, WHOLE, tmp_path / "out", tell=told.append)
    predicted = [
        f"predicting gpt-3-libra: an {what} bytes in 64 chunks"
        for what in ("all-reduce of 805,306,368", "all-gather of 201,326,592", "all-reduce of 1,811,939,328")
    ]
    assert told[:3] == [
        "writing the traces of gpt-3-libra",
        "timing the design as the problem does",
        "reading the traces of gpt-3-libra",
    ]
    # Each collective once, and once more with the scheduler.
    assert sorted(told[3:]) == sorted(predicted * 2)
