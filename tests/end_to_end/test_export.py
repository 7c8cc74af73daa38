"""A front to ASTRA-sim and back, by the real commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import call, run, run_json

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.problem.problem import Problem

SMALL = ("--set", "npus=64", "--set", "workloads[0].parallelism={tp: 4}")
ASTRA = ("--time", "astra", "--set", "time.latency_ns=500")


@pytest.mark.slow
def test_a_front_goes_to_astra_sim_and_comes_back(tmp_path: Path) -> None:
    # With bandwidths that are solved for, which is LIBRA's time.
    searched = run_json(
        tmp_path,
        "search",
        "gpt3-4k",
        *SMALL,
        "--set",
        "bandwidth={mode: optimal, max_GBps: 700}",
        "--evaluations",
        "200",
    )
    result, row = searched["result"], searched["front"][0]
    out = tmp_path / "out"
    with pytest.raises(InputError, match="give --time astra"):
        call("export", tmp_path / result, 0, "--astra-sim", out)
    with pytest.raises(InputError, match="ids are 0 to"):
        call("export", tmp_path / result, 99999, "--astra-sim", out, *ASTRA)
    with pytest.raises(InputError, match="the latency of chiplet, package, node, pod is required"):
        call("export", tmp_path / result, 0, "--astra-sim", out, "--time", "astra")
    assert not out.exists()

    exported = run_json(tmp_path, "export", result, "0", "--astra-sim", "out", *ASTRA)
    workload = exported["workloads"][0]
    assert (exported["searched_model"], exported["exported_model"]) == ("libra", "astra")
    assert workload["searched_ms"] == pytest.approx(row["time_ms"])
    assert workload["ratio"] == pytest.approx(workload["predicted_ns"] / 1e6 / row["time_ms"])
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "README.md", "groups.json", "memory.json", "network.yml", "system.json", "traces",
    }  # fmt: skip
    assert len(list((tmp_path / "out" / "traces").iterdir())) == 64
    assert str(workload["predicted_ns"]) in (tmp_path / "out" / "README.md").read_text()

    files = ("--network", "out/network.yml", "--system", "out/system.json")
    found = run_json(tmp_path, "import", *files, "--problem", "back.yaml")
    assert (found["npus"], found["notices"]) == (64, [])
    assert all("one message after the other" in sentence for sentence in found["without_counterpart"])
    assert found["time"]["latency_ns"] == 500
    assert [part.split("@")[0] for part in found["design"].split("_")] == [
        part.split("@")[0] for part in row["design"].split("_")
    ]
    problem = load_problem(str(tmp_path / "back.yaml"))
    assert isinstance(problem, Problem)
    assert problem.evaluate(found["design"]).objectives[0, 0] > problem.time.loops[0].workload.compute > 0
    for name in ("back.yaml", "back.yml", "back.txt"):
        with pytest.raises(InputError, match="exists already" if name != "back.txt" else "ends in .yaml"):
            call(
                "import",
                "--network",
                tmp_path / files[1],
                "--system",
                tmp_path / files[3],
                "--problem",
                tmp_path / name,
            )
    assert sorted(path.name for path in tmp_path.glob("back*")) == ["back.catalog.yaml", "back.yaml"]


@pytest.mark.slow
def test_the_time_that_is_set_is_exported(tmp_path: Path) -> None:
    words = ("export", "--design", "FC(4)@chiplet:250_SW(16)@pod:20", "--problem", "gpt3-4k", *SMALL)
    latency = ("--set", "time.latency_ns=500")
    found = [
        run_json(tmp_path, *words, "--astra-sim", name, *time, *latency)
        for name, time in (("a", ("--time", "astra")), ("b", ("--set", "time.model=astra")))
    ]
    assert found[1] == {**found[0], "folder": "b"}
    for time in ((), ("--set", "time.model=libra"), ("--set", "time=libra")):
        with pytest.raises(InputError, match="give --time astra"):
            call(*words, "--astra-sim", tmp_path / "c", *time)
    with pytest.raises(InputError, match=r"unknown time model 'astrra'; .* did you mean 'astra'"):
        call(*words, "--astra-sim", tmp_path / "c", "--set", "time.model=astrra")


@pytest.mark.parametrize("name", ["2024", "true", "null", "1e3", "0x10", "2024-01-01", "no"])
def test_imported_problems_may_be_named_like_numbers(tmp_path: Path, name: str) -> None:
    rows = {f"{collective}-implementation": ["ring"] for collective in ("all-reduce", "all-gather", "reduce-scatter")}
    rows["all-to-all-implementation"] = ["ring"]
    (tmp_path / "network.yml").write_text(
        "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n"
    )
    keys = {"preferred-dataset-splits": 1, "collective-optimization": "baseline", "local-mem-bw": 50, **rows}
    (tmp_path / "system.json").write_text(json.dumps(keys))
    files = ("--network", tmp_path / "network.yml", "--system", tmp_path / "system.json")
    call("import", *files, "--problem", tmp_path / f"{name}.yaml")
    assert load_problem(str(tmp_path / f"{name}.yaml")).name == name


@pytest.mark.slow
def test_a_design_in_the_notation_is_told_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design, out = "FC(4)@chiplet:250_SW(16)@pod:20", tmp_path / "out"
    words = ("--time", "themis", "--problem", "gpt3-4k", *SMALL, "--set", "time.latency_ns=500")
    call("export", "--design", design, "--astra-sim", out, *words)
    shown = capsys.readouterr().out
    assert "ASTRA-sim       " in shown
    assert "with scheduler  " in shown
    assert "No released ASTRA-sim 2 reads" in shown
    assert str(out / "README.md") in shown
    call("import", "--network", out / "network.yml", "--system", out / "system.json")
    told = capsys.readouterr().out
    assert "FC(4)@link:250_SW(16)@link:20" in told
    assert "scheduler: offline-greedy" in told
    assert "passed over:" in told


@pytest.mark.parametrize("given", [
    (), ("--design", "RI(4)"), ("r", 0, "--design", "RI(4)", "--problem", "p"),
    ("--id", 0, "--design", "RI(4)", "--problem", "p"),
])  # fmt: skip
def test_a_design_comes_from_one_place(given: tuple[object, ...]) -> None:
    with pytest.raises(InputError, match="a design is needed"):
        call("export", *given, "--astra-sim", "out")


def test_wrong_files_of_astra_sim_are_told_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "network.yml").write_text("topology: [ Ring ]\nnpus_count: [ 1 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n")
    (tmp_path / "system.json").write_text("{}")
    words = ("import", "--network", "network.yml", "--system", "system.json")
    done = run(tmp_path, *words, code=2)
    assert done.stderr.startswith("evo-libra: network.yml:2:15: npus_count[0]: found 1 (number)")
    assert done.stdout == ""
