"""Results that are moved together with the files of their problem say what they said, by every command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import call, call_json, options, sets
from designs import design_file

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.experiment.results.reproduction import reproduce
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem

LAYERS = "HYBRID_TRANSFORMER\n1\na -1 1000 ALLREDUCE 4096 2000 ALLREDUCE 4096 3000 ALLREDUCE 1000000 0\n"
PROBLEM = """\
name: relative
npus: 16
fabric: {catalog: parts.yaml, max_dimensions: 2, blocks: [ring, switch], technologies: [nvlink4, copper-400g]}
workloads: [{file: layers/w.txt, parallelism: {tp: 4}}]
bandwidth: ports
"""
NUMBERS = {"engine": "nsga2", "evaluations": 200, "population": 40, "seed": 0}
SET = ["workloads[0].weight=3"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a problem that reads files beside it and a result of it, moved since the run."""
    here = tmp_path / "here"
    (here / "layers").mkdir(parents=True)
    (here / "layers" / "w.txt").write_text(LAYERS)
    (here / "parts.yaml").write_text("kind: parts\nname: own\nsource: none\nextends: parts-2024\n")
    (here / "p.yaml").write_text(PROBLEM)
    call("search", here / "p.yaml", *options(NUMBERS), "--out", here / "results", *sets(SET), "--json")
    return here.rename(tmp_path / "there")


def result_in(project: Path) -> tuple[Path, Front]:
    (result,) = (project / "results" / "relative").iterdir()
    return result, RunFolder(result).read_front()


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, "p.yaml"])
def test_every_command_reads_a_result_that_has_moved(project: Path, name: str | None) -> None:
    result, front = result_in(project)
    named = () if name is None else ("--problem", project / name)
    times = front.frame["time_ms"].to_list()
    found = call_json("rescore", result, "--time", "libra", *named)
    assert [row["time_ms_rescored"] for row in found["designs"]] == pytest.approx(times, rel=1e-12, abs=0)
    found = call_json("prices", result, "--scenarios", 3, *named)
    costs = front.frame["cost_usd"].to_list()
    assert [row["cost_value_usd"] for row in found["designs"]] == pytest.approx(costs, rel=1e-12, abs=0)
    assert len(call_json("certify", result, *named, *sets(SET if name else []))["designs"]) == len(front)
    found = call_json("export", result, 0, "--astra-sim", project / "out", "--time", "astra", *named)
    assert found["design"].startswith(front.frame["design"][0].split("_")[0])


@pytest.mark.slow
def test_a_design_of_a_result_that_has_moved_is_worth_what_it_was(project: Path) -> None:
    result, front = result_in(project)
    for row in front.frame.to_dicts():
        numbered = call_json("evaluate", result, "--id", row["id"])
        written = call_json("evaluate", project / "p.yaml", "--design", row["design"], *sets(SET))
        for found in (numbered, written):
            assert [found[key] for key in front.objectives] == pytest.approx(
                [row[key] for key in front.objectives], rel=1e-12, abs=0
            )
    assert reproduce(RunFolder(result))[1].identical


def test_a_result_whose_problem_file_is_gone_needs_it_no_more(project: Path) -> None:
    result, front = result_in(project)
    (project / "p.yaml").unlink()
    assert len(call_json("rescore", result, "--time", "astra")["designs"]) == len(front)


@pytest.mark.slow
def test_files_of_another_problem_where_the_run_found_its_own_do_not_stand_for_them(project: Path) -> None:
    result, front = result_in(project)
    old = project.parent / "here"
    (old / "layers").mkdir(parents=True)
    (old / "layers" / "w.txt").write_text(LAYERS.replace("4096", "8192"))
    (old / "parts.yaml").write_text((project / "parts.yaml").read_text())
    found = call_json("rescore", result, "--time", "libra")
    assert [row["time_ms_rescored"] for row in found["designs"]] == front.frame["time_ms"].to_list()


@pytest.mark.slow
def test_a_result_that_has_moved_without_the_files_of_its_problem_says_so(project: Path) -> None:
    result, _ = result_in(project)
    alone = result.rename(project.parent / "alone")
    with pytest.raises(InputError, match=r"(?s)parts\.yaml.*name it with --problem"):
        call("rescore", alone, "--time", "libra")
    named = project / "p.yaml"
    assert call_json("rescore", alone, "--time", "libra", "--problem", named)["designs"]
    with pytest.raises(InputError, match="not the one of the result"):
        call("rescore", alone, "--time", "libra", "--problem", "gpt3-4k")


@pytest.mark.slow
def test_lanes_that_were_solved_for_are_no_whole_ones_under_another_time(tmp_path: Path) -> None:
    changes = ["npus=64", "bandwidth=optimal", "fabric.blocks=[ring, switch]"]
    found = call_json("search", design_file("dlrm-1k-parts"), *options(NUMBERS), "--out", tmp_path, *sets(changes))
    row = found["front"][-1]
    evaluated = call_json("evaluate", found["result"], "--id", row["id"])
    assert "bill" not in evaluated["breakdown"]
    each = sum(one["cost_usd"] for one in evaluated["breakdown"]["dimensions"])
    assert each == pytest.approx(row["cost_usd"], rel=1e-12, abs=0)
    with pytest.raises(InputError, match="whole parts"):
        call("prices", found["result"])
    designs = call_json("rescore", found["result"], "--time", "astra")["designs"]
    problem = load_problem(design_file("dlrm-1k-parts"), changes)
    assert isinstance(problem, Problem)
    population = problem.read([row["design"] for row in designs])
    ports = population.bandwidth / np.array([kit.port_rate for kit in problem.pricing.kits])[population.technology]
    whole = (np.abs(ports - np.rint(ports)) < 1e-6).all(axis=0).tolist()
    assert len(set(whole)) == 2
    assert [row["feasible"] for row in designs] == whole
