"""The real command, in a real shell's way: files, exit codes, interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from command import COMMAND, run, run_json
from designs import design_file
from patience import ended, run_to_end, wait_for

from evo_libra.ui.tables.references import comparison

DESIGN = "RI(4)@chiplet:250_FC(8)@package:125_RI(4)@node:60_SW(32)@pod:20"


def test_search_leaves_a_complete_folder_and_prints_one_object(tmp_path: Path) -> None:
    found = run_json(tmp_path, "search", "gpt3-4k", "--evaluations", "2000", "--plot")
    assert {"front", "evaluations", "wall_s", "result"} <= found.keys()
    assert found["evaluations"] == 2000
    assert {"design", "time_ms", "cost_usd"} <= found["front"][0].keys()
    folder = tmp_path / found["result"]
    assert {path.name for path in folder.iterdir()} >= {"front.parquet", "manifest.json", "done.json", "front.png"}
    shown = run_json(tmp_path, "front", found["result"])
    assert shown["front"] == found["front"]
    plain = run(tmp_path, "front", found["result"]).stdout
    assert "\x1b" not in plain
    assert "iteration time" in plain
    best = found["front"][0]
    again = run_json(tmp_path, "evaluate", "gpt3-4k", "--design", best["design"])
    assert again["time_ms"] == pytest.approx(best["time_ms"], rel=1e-12)
    assert again["cost_usd"] == pytest.approx(best["cost_usd"], rel=1e-12)


def test_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    fronts = []
    for out in ("a", "b"):
        found = run_json(tmp_path, "search", "gpt3-4k", "--seed", "0", "--evaluations", "3000", "--out", out)
        fronts.append((tmp_path / found["result"] / "front.parquet").read_bytes())
    assert fronts[0] == fronts[1]


def test_evaluate_breaks_time_and_cost_down(tmp_path: Path) -> None:
    found = run_json(tmp_path, "evaluate", "gpt3-4k", "--design", DESIGN)
    assert {"design", "time_ms", "cost_usd", "breakdown"} <= found.keys()
    parts = found["breakdown"]
    assert sum(d["cost_usd"] for d in parts["dimensions"]) == pytest.approx(found["cost_usd"])
    workload = parts["workloads"][0]
    total = workload["compute_ms"] + sum(c["time_ms"] for c in workload["collectives"])
    assert total == pytest.approx(found["time_ms"])
    for collective in workload["collectives"]:
        assert max(d["time_ms"] for d in collective["dimensions"]) == pytest.approx(collective["time_ms"])


def test_evaluate_for_reading_shows_units_and_fits_80_columns(tmp_path: Path) -> None:
    shown = run(tmp_path, "evaluate", "gpt3-4k", "--design", DESIGN).stdout
    assert "time by collective and dimension [ms]" in shown
    assert "cost by part [USD]" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "\u2026" not in shown


def test_a_design_that_breaks_a_limit_is_infeasible(tmp_path: Path) -> None:
    found = run_json(tmp_path, "evaluate", "gpt3-4k", "--design", DESIGN.replace(":20", ":200"), code=1)
    assert found["feasible"] is False
    assert "pod carries at most 100" in found["violations"][0]


@pytest.mark.slow
def test_starter_problem_runs_and_is_not_overwritten(tmp_path: Path) -> None:
    run(tmp_path, "init", "mine.yaml")
    assert run_json(tmp_path, "search", "mine.yaml", "--evaluations", "1300")["front"]
    assert "exists already" in run(tmp_path, "init", "mine.yaml", code=2).stderr


def test_catalog_and_schema_are_json(tmp_path: Path) -> None:
    assert "pod" in run_json(tmp_path, "catalog")["catalogs"]["libra"]["technologies"]
    schema = json.loads(run(tmp_path, "schema").stdout)
    keys = "name npus fabric workloads time objectives constraints bandwidth search"
    assert set(keys.split()) <= schema["properties"].keys()


def test_catalogues_of_parts_are_listed_with_their_figures_and_sources(tmp_path: Path) -> None:
    everything = run_json(tmp_path, "catalog")
    assert {"parts-2024", "wafer"} <= everything["parts_catalogs"].keys()
    assert everything["blocks"]["torus-3d"] == "TC"
    (tmp_path / "ours.yaml").write_text(
        "kind: parts\nname: ours\nsource: this test\nextends: parts-2024\nparts:\n  dac-400g: "
        "{kind: link, price_usd: {low: 1, value: 2.5, high: 4}, power_W: 0, source: quotation of May, year: 2026}\n"
    )
    own = run_json(tmp_path, "catalog", "ours.yaml")["parts_catalogs"]["ours"]
    assert own["parts"]["dac-400g"]["price_usd"] == {"low": 1, "value": 2.5, "high": 4}
    assert own["parts"]["optics-400g"] == everything["parts_catalogs"]["parts-2024"]["parts"]["optics-400g"]
    assert own["technologies"]["optics-400g"]["blocks"] == ["ring", "switch", "fat-tree", "ocs-rail"]
    shown = run(tmp_path, "catalog", "ours.yaml", "--sources").stdout
    assert "dac-400g (2026): quotation of May" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "did you mean 'parts-2024'?" in run(tmp_path, "catalog", "parts-2025", code=2).stderr


@pytest.mark.slow
def test_reference_designs_are_listed_and_stand_beside_a_front(tmp_path: Path) -> None:
    designs = run_json(tmp_path, "catalog", "designs")["designs"]
    assert designs == run_json(tmp_path, "catalog")["designs"]
    shown = run(tmp_path, "catalog", "designs").stdout
    assert all(name in shown and str(one["year"]) in shown for name, one in designs.items())
    asked = ["search", design_file("mixtral-8x7b-256"), "--evaluations", "2000"]
    rows = run_json(tmp_path, *asked)["references"]
    assert [row["name"] for row in rows] == ["dgx-h100-superpod", "rail-only-h100"]
    for row in rows:
        found = run_json(tmp_path, "evaluate", design_file("mixtral-8x7b-256"), "--design", row["design"])
        assert (row["time_ms"], row["cost_usd"]) == (pytest.approx(found["time_ms"], rel=1e-12), found["cost_usd"])
    shown = " ".join(run(tmp_path, *asked).stdout.split())
    assert all(f"{row['name']}: {comparison(row)}" in shown for row in rows)
    assert "references" not in run_json(tmp_path, "search", "gpt3-4k", "--evaluations", "1300")


def test_a_bill_of_materials_is_printed(tmp_path: Path) -> None:
    design = "FC(4)@nvlink4:150_FC(8)@nvlink4:175_RI(2)@nvlink4:100_SW(64)@optics-400g:100"
    wide = ["--set", "fabric.domains=any", "--set", "fabric.blocks=[fully-connected, ring, switch]"]
    asked = ["evaluate", "moe-4k", "--design", design, "--set", "objectives=[time, cost, power]", *wide]
    found = run_json(tmp_path, *asked)
    bill = found["breakdown"]["bill"]
    assert sum(row["cost_usd"] for row in bill) == pytest.approx(found["cost_usd"], abs=0.005)
    switches = {row["part"]: row["pieces"] for row in bill if row["item"] == "switch"}
    # 64 NPUs of a rail and one port fill a switch; 4096 / 64 rails of 2 ports.
    assert switches == {"switch-400g": 128}
    shown = run(tmp_path, *asked).stdout
    assert f"{found['cost_usd']:,.2f}" in shown
    assert found["power_kW"] == pytest.approx(sum(row["power_W"] for row in bill) / 1e3)
    assert "power  462.7 kW" in shown
    assert [(row["part"], row["idle_W"]) for row in bill if row["idle_W"] is not None] == [("nic-400g", 8192 * 18)]
    assert "147,456.0" in shown
    assert "\u2026" not in shown


@pytest.mark.parametrize(("words", "part"), [
    (["serch"], "search"),
    (["search", "gpt3-4k", "--evaluation", "1"], "--evaluation"),
    (["search", "missing.yaml"], "missing.yaml"),
    (["search", "gpt3-5k"], "gpt3-4k"),
    (["search", "gpt3-4k", "--engine", "nsga"], "nsga2"),
    (["search", "gpt3-4k", "--evaluations", "-5"], "at least 1"),
    (["search", "gpt3-4k", "--set", "npuss=3"], "did you mean 'npus'"),
    (["search", "gpt3-4k", "--set", "npus=4099"], "tp 16 does not divide"),
    (["search", "gpt3-4k", "--set", "workloads[0].compute_TFLOPS=-1"], "above 0"),
    (["search", "gpt3-4k", "--set", "workloads[0].compute_TFLOPS=.nan"], "finite"),
    (["search", "gpt3-4k", "--set", "fabric.blocks=[rings]"], "did you mean 'ring'"),
    (["search", "gpt3-4k", "--set", "npus=4093", "--set", "workloads[0].parallelism.tp=1", "--set",
      "fabric.blocks=[fully-connected]"], "4093 NPUs cannot be built"),
    (["evaluate", "gpt3-4k", "--design", "RI(4)@chiplet:250"], "4 NPUs"),
    (["evaluate", "gpt3-4k", "--design", "RX(4)"], "unknown block"),
    (["front", "nowhere"], "nowhere"),
    (["results", "status:foo"], "unknown status 'foo'; allowed: queued, running, paused, done, stale, failed"),
    (["results", "--out", "nowhere"], "there is no folder of results nowhere"),
    (["ui", "nowhere"], "there is no folder of results nowhere"),
])  # fmt: skip
def test_wrong_input_is_one_sentence_and_writes_nothing(tmp_path: Path, words: list[str], part: str) -> None:
    done = run(tmp_path, *words, code=2)
    assert part in done.stderr
    assert all(line.startswith("evo-libra: ") for line in done.stderr.splitlines())
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_before_the_first_run_the_default_folder_of_results_is_empty(tmp_path: Path) -> None:
    assert run_json(tmp_path, "results") == {"runs": [], "notes": []}
    assert "needs a terminal" in run(tmp_path, "ui", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_constraints_that_nothing_meets_end_with_1(tmp_path: Path) -> None:
    done = run(tmp_path, "search", "gpt3-4k", "--evaluations", "1300", "--set", "constraints=['time <= 1 us']", code=1)
    assert "meets the constraints" in done.stderr
    conflict = "constraints=['bw[0] <= 10 GB/s', 'bw[0] >= 20 GB/s']"
    assert "bw[0] >= 20 GB/s" in run(tmp_path, "search", "gpt3-4k", "--set", conflict, code=1).stderr


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [
    (signal.SIGINT, 130),
    pytest.param(signal.SIGTERM, 130, marks=pytest.mark.slow),
    pytest.param(signal.SIGKILL, -9, marks=pytest.mark.slow),
])  # fmt: skip
def test_a_stopped_search_keeps_its_work_and_goes_on_to_the_same_bytes(tmp_path: Path, number: int, code: int) -> None:
    words = [COMMAND, "search", "gpt3-4k", "--population", "50", "--out", "stopped"]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    words += ["--evaluations", "100000000"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, env=environment)
    wait_for(lambda: list(tmp_path.glob("stopped/*/*/checkpoint.npz")))
    process.send_signal(number)
    _, message = ended(process)
    assert process.returncode == code
    (folder,) = tmp_path.glob("stopped/*/*")
    assert not (folder / "done.json").exists()
    if number != signal.SIGKILL:
        assert b"--resume" in message
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["status"] == "interrupted"
        assert (folder / "front.parquet").exists()
    with np.load(folder / "checkpoint.npz") as data:
        done = json.loads(bytes(data["head"]).decode())["evaluations"]
    assert done > 0
    rest = ["search", "gpt3-4k", "--population", "50", "--evaluations", str(done + 5000)]
    resumed, straight = (
        tmp_path / run_json(tmp_path, *rest, "--out", *words)["result"]
        for words in (["stopped", "--resume"], ["straight"])
    )
    assert resumed != folder  # another budget is another run, which goes on from the work of this one
    events = [json.loads(line) for line in (resumed / "events.jsonl").read_text().splitlines()]
    assert (events[0]["kind"], events[0]["evaluations"]) == ("extended", done)
    assert (resumed / "done.json").exists()
    assert (resumed / "front.parquet").read_bytes() == (straight / "front.parquet").read_bytes()


@pytest.mark.slow
def test_resume_goes_on_with_an_interrupted_run_in_its_folder(tmp_path: Path) -> None:
    words = ["search", "gpt3-4k", "--population", "50", "--evaluations", "60000"]
    process = subprocess.Popen([COMMAND, *words], cwd=tmp_path, stderr=subprocess.DEVNULL)
    wait_for(lambda: list(tmp_path.glob("results/*/*/checkpoint.npz")))
    process.kill()
    ended(process)
    (folder,) = tmp_path.glob("results/*/*")
    found = run_json(tmp_path, *words, "--resume")
    assert tmp_path / found["result"] == folder
    assert json.loads((folder / "events.jsonl").read_text().splitlines()[0])["kind"] == "started"
    assert "resumed" in (folder / "run.log").read_text()
    assert not list(folder.glob("claim-*"))
    straight = run_json(tmp_path, *words, "--out", "straight")
    assert (folder / "front.parquet").read_bytes() == (tmp_path / straight["result"] / "front.parquet").read_bytes()
    again = run_json(tmp_path, *words, "--resume")
    assert again["front"] == found["front"]


def test_a_problem_in_python_is_searched(tmp_path: Path) -> None:
    (tmp_path / "problems").symlink_to(Path(__file__).parent.parent.parent / "problems")
    found = run_json(tmp_path, "search", "problems.two_tier:problem", "--evaluations", "2000")
    assert {"radix", "time_ms", "cost_usd"} <= found["front"][0].keys()


def test_problem_named_by_entry_point(tmp_path: Path) -> None:
    code = Path(__file__).parent.parent.parent / "problems" / "two_tier.py"
    (tmp_path / "two_tier.py").write_text(code.read_text())
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[evo_libra.problems]\nmy-two-tier = two_tier:problem\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [COMMAND, "search", "my-two-tier", "--evaluations", "500", "--json"]
    done = run_to_end(words, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["evaluations"] == 500


OPTIMIZE = ("optimize", "gpt3-4k", "--shape", "RI(4)_FC(8)_RI(4)_SW(32)")


def test_optimize_prints_the_optimum_and_what_holds_it_back(tmp_path: Path) -> None:
    found = run_json(tmp_path, *OPTIMIZE, "--total", "500", "--objective", "time")
    assert found["status"] == "optimal"
    np.testing.assert_allclose(found["bandwidth_GBps"], [338.449675, 84.612419, 58.157787, 18.780119], atol=1e-5)
    assert found["gap"] < 1e-9
    assert found["equal_split"] is None  # 125 GB/s each, and no pod has more than 100
    less = run_json(tmp_path, *OPTIMIZE, "--total", "300", "--objective", "time")
    assert less["speedup"] == pytest.approx(less["equal_split"]["time_ms"] / less["time_ms"])
    assert found["binding"][0]["limit"] == "sum(bw) == 500 GB/s"
    again = run_json(tmp_path, "evaluate", "gpt3-4k", "--design", found["design"])
    assert again["time_ms"] == pytest.approx(found["time_ms"], rel=1e-12)
    assert again["cost_usd"] == pytest.approx(found["cost_usd"], rel=1e-12)
    product = run_json(tmp_path, *OPTIMIZE, "--total", "300", "--objective", "time-cost")
    assert product["performance_per_cost"] > less["performance_per_cost"]
    shown = run(tmp_path, *OPTIMIZE, "--cost", "8e6").stdout
    assert "USD buy one second" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_optimize_says_what_has_no_answer(tmp_path: Path) -> None:
    found = run_json(tmp_path, *OPTIMIZE, "--total", "5000", code=1)
    assert (found["status"], found["conflict"]) == ("infeasible", ["sum(bw) == 5000 GB/s"])
    assert "can meet 'sum(bw) == 5000 GB/s'" in run(tmp_path, *OPTIMIZE, "--total", "5000", code=1).stderr
    nothing = ("--set", "bandwidth=search", "--set", "fabric.catalog=libra")
    assert run_json(tmp_path, *OPTIMIZE, *nothing, code=1)["status"] == "unbounded"
    assert "unbounded: nothing limits" in run(tmp_path, *OPTIMIZE, *nothing, code=1).stderr


def test_a_result_is_certified(tmp_path: Path) -> None:
    found = run_json(tmp_path, "search", "gpt3-4k", "--engine", "exhaustive", "--population", "50")
    proof = run_json(tmp_path, "certify", found["result"])
    assert proof["complete"] is True
    assert max(design["factor"] for design in proof["designs"]) < 1 + 1e-8
    assert [design["id"] for design in proof["designs"]] == [design["id"] for design in found["front"]]
    assert 0 < proof["missed_hypervolume"] < 0.05
    shown = run(tmp_path, "certify", found["result"]).stdout
    assert "misses at most" in shown
    assert max(map(len, shown.splitlines())) <= 110
    (tmp_path / "gpt3-4k.yaml").write_text("")
    other = run(tmp_path, "certify", found["result"], "--problem", "msft-1t-4k", code=2)
    assert "not the one of the result" in other.stderr


@pytest.mark.slow
def test_a_stopped_proof_keeps_its_bound(tmp_path: Path) -> None:
    # Its proof takes half a minute.
    large = ["npus=18432", "bandwidth=ports", "fabric={catalog: parts-2024, domains: any, max_dimensions: 4}"]
    sets = [word for value in large for word in ("--set", value)]
    found = run_json(tmp_path, "search", "gpt3-4k", *sets, "--evaluations", "1500")
    process = subprocess.Popen(
        [COMMAND, "certify", found["result"], "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    # Seconds of its own work: on a busy machine it starts later.
    while process.poll() is None and psutil.Process(process.pid).cpu_times().user < 6.0:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, _ = ended(process)
    assert process.returncode == 130
    proof = json.loads(output)
    assert proof["rests_on"]["structures"] > 10**7
    assert 1 <= proof["largest_factor"] < 100
    timed = run_json(tmp_path, "certify", found["result"], "--seconds", "1")
    assert timed["rests_on"]["waiting"] > 0


@pytest.mark.slow
def test_a_result_is_rescored(tmp_path: Path) -> None:
    found = run_json(tmp_path, "search", "gpt3-4k", "--evaluations", "2000")
    asked = ["rescore", found["result"], "--time", "astra"]
    assert "latency_ns" in run(tmp_path, *asked, code=2).stderr
    rescored = run_json(tmp_path, *asked, "--set", "time.latency_ns=500")
    assert {row["id"] for row in rescored["designs"]} == {row["id"] for row in found["front"]}
    assert all(row["time_ms_rescored"] > row["time_ms"] for row in rescored["designs"])
    assert (tmp_path / rescored["rescored"]).is_file()
    shown = run(tmp_path, *asked, "--set", "time.latency_ns=500").stdout
    assert "change their rank" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("name", ["front.parquet", "done.json", "checkpoint.npz"])
def test_a_damaged_result_is_shown_as_such(tmp_path: Path, name: str) -> None:
    result = run_json(tmp_path, "search", "gpt3-4k", "--evaluations", "500")["result"]
    path = tmp_path / result
    assert run_json(path.parent, "show", path.name)["damaged"] == []
    path = tmp_path / result / name
    if name == "checkpoint.npz":  # which a search that has finished does not have
        path.write_bytes(b"begun")
        (tmp_path / result / "done.json").unlink()
    else:
        path.write_bytes(path.read_bytes()[:-5])
    found = run_json(tmp_path, "show", result, code=1)
    assert (found["run"]["status"], found["damaged"]) == ("damaged", [name])
    status = run(tmp_path, "show", result, code=1).stdout.splitlines()[1]
    assert status == f"status        damaged: {name}; evo-libra run does the run again"
    if name == "front.parquet":
        told = run(tmp_path, "compare", result, "seed=zero", code=2).stderr
        assert told == "evo-libra: character 6 of 'seed=zero': 'zero' is no number; for a text write seed:zero\n"
        assert "front.parquet is damaged" in run(tmp_path, "front", result, code=2).stderr


BROKEN = """
from evo_libra.errors import InputError
from evo_libra.searching.conformance import SampleProblem


class Broken(SampleProblem):
    def evaluate_genes(self, genes):
        raise InputError("no luck")


problem = Broken()
"""


def test_a_problem_none_of_whose_designs_can_be_evaluated_has_failed(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN.replace("InputError(", "RuntimeError("))
    words = ("search", "broken:problem", "--engine", "nsga2", "--population", "20", "--evaluations", "60")
    assert run(tmp_path, *words, code=1).stderr.startswith(
        "evo-libra: the search failed: none of the 60 designs of 'sample' could be evaluated, the first because "
        "RuntimeError: no luck; see results/sample/"
    )
    (tmp_path / "fails.yaml").write_text("problem: broken:problem\nengines: nsga2\nevaluations: 60\nseeds: 1\n")
    told = run_json(tmp_path, "run", "fails.yaml", "--trust-code", "--workers", "0", code=3)
    assert "none of the 60 designs" in told["failures"][0]["error"]


def test_a_run_that_fails_before_it_begins_is_shown_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "fails.yaml").write_text("problem: broken:problem\nengines: nsga2\nevaluations: 100\nseeds: 0\n")
    told = run_json(tmp_path, "run", "fails.yaml", "--trust-code", "--workers", "0", code=3)
    assert told["failed"] == 1
    (listed,) = run_json(tmp_path, "results")["runs"]
    shown = run_json(tmp_path, "show", listed["id"])
    assert (shown["run"]["status"], shown["run"]["error"]) == ("failed", "no luck")
    assert "no luck" in (tmp_path / listed["folder"] / "run.log").read_text()
    told = run(tmp_path, "show", listed["folder"]).stdout.splitlines()
    assert told[:2] == [f"run           {listed['folder']}", "status        failed: no luck"]
