from __future__ import annotations

from pathlib import Path

import pytest

from evo_libra.errors import InputError
from evo_libra.experiment.file.expansion import load_experiment
from evo_libra.network.catalog.parts import load_parts
from evo_libra.problem.file.registry import load_problem

PROBLEM = """
name: old
npus: 64
fabric: {catalog: parts-2024, technologies: [nvlink4]}
workloads: [{model: gpt-3-libra, parallelism: {tp: 8}, compute_TFLOPS: 400}]
objectives: [time, cost]
tco: {years: 4, usd_per_kWh: 0.1, pue: 1.3}
bandwidth: ports
constraints: [tco <= 3 MUSD]
"""


def refused(folder: Path, problem: str, *assignments: str) -> list[str]:
    (folder / "problem.yaml").write_text(problem)
    with pytest.raises(InputError) as caught:
        load_problem(str(folder / "problem.yaml"), assignments)
    return [mistake.message for mistake in caught.value.mistakes]


@pytest.mark.parametrize(
    ("new", "old", "told"),
    [
        ("[time, cost]", "[time, ownership]", "'ownership' is now called 'tco'"),
        ("[nvlink4]}", "[nvlink4], blocks: [any-to-any]}", "'any-to-any' is now called 'fat-tree'"),
        ("tco: {", "ownership: {", "the key 'ownership' is now called 'tco'"),
        ("bandwidth: ports", "bandwidth: lanes", "'lanes' is now called 'ports'"),
        ("bandwidth: ports", "bandwidth: {mode: lanes}", "'lanes' is now called 'ports'"),
        ("[tco <=", "[ownership <=", "the name 'ownership' is now called 'tco'"),
    ],
)
def test_an_old_name_in_a_problem_is_told_with_the_new_one(tmp_path: Path, new: str, old: str, told: str) -> None:
    assert new in PROBLEM
    assert any(message.endswith(told) for message in refused(tmp_path, PROBLEM.replace(new, old)))


def test_an_old_name_that_is_set_is_told_with_the_new_one(tmp_path: Path) -> None:
    assert refused(tmp_path, PROBLEM, "bandwidth=lanes") == ["'lanes' is now called 'ports'"]
    assert refused(tmp_path, PROBLEM, "ownership.years=3") == ["the key 'ownership' is now called 'tco'"]


def test_an_old_name_in_an_experiment_is_told_with_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    (tmp_path / "batch.yaml").write_text("problem: problem.yaml\ngrid: {bandwidth: [lanes]}\n")
    with pytest.raises(InputError, match="'lanes' is now called 'ports'"):
        load_experiment(tmp_path / "batch.yaml")


def test_old_keys_of_a_catalogue_are_told_with_the_new_ones(tmp_path: Path) -> None:
    figures = "latency_ns: 5, blocks: [ring], source: s, year: 2025"
    (tmp_path / "old.yaml").write_text(
        f"kind: parts\nname: old\nsource: s\ntechnologies:\n  board: {{lane_GBps: 10, lanes: 4, span: 8, {figures}}}\n"
    )
    with pytest.raises(InputError) as caught:
        load_parts("old.yaml", tmp_path)
    assert [mistake.message for mistake in caught.value.mistakes] == [
        "the key 'lane_GBps' is now called 'port_GBps'",
        "the key 'lanes' is now called 'ports'",
        "the key 'span' is now called 'domain_size'",
    ]
