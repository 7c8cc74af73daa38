"""ASTRA-sim's own input files in one command: recorded runs to the nanosecond, tables, timelines, quirks, mistakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra.astra_sim.operators import computed
from evo_libra.chakra.trace import CollectiveType, Node
from evo_libra.chakra.write import collective_node, compute_node, receive_node, send_node, write_traces
from evo_libra.ui.commands.application import run
from evo_libra.validation import astra

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "astra_graphs.json").read_text())
SMALL = 8
CASES = [
    case for case in GOLDEN["cases"]
    if prod(case["network"]["npus_count"]) <= SMALL and "inter-dimension-scheduling" not in case["system"]
]  # fmt: skip
SYSTEM = {
    "endpoint-delay": 10, "active-chunks-per-dimension": 1, "preferred-dataset-splits": 1, "local-mem-bw": 1600,
    "collective-optimization": "localBWAware",
    **{f"{name}-implementation": ["ring"] for name in ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")},
}  # fmt: skip
NETWORK = {"topology": ["Ring"], "npus_count": [4], "bandwidth": [50.0], "latency": [500.0]}


@dataclass(frozen=True)
class Inputs:
    """Files of one run in a folder."""

    folder: Path

    def write(
        self, traces: list[list[Node]], system: Mapping[str, Any], network: Mapping[str, Any],
        groups: Mapping[str, Any] | None = None, memory: Mapping[str, Any] | None = None,
    ) -> list[str]:  # fmt: skip
        """Write them; return the words of the command line."""
        write_traces(self.folder / "trace", traces)
        (self.folder / "system.json").write_text(json.dumps(system))
        (self.folder / "network.yml").write_text("".join(f"{key}: {json.dumps(row)}\n" for key, row in network.items()))
        words = [
            "simulate", f"--workload-configuration={self.folder / 'trace'}",
            f"--system-configuration={self.folder / 'system.json'}",
            f"--network-configuration={self.folder / 'network.yml'}",
        ]  # fmt: skip
        for name, content in (("comm-group", groups), ("remote-memory", memory)):
            if content:
                (self.folder / f"{name}.json").write_text(json.dumps(content))
                words.append(f"--{name}-configuration={self.folder / name}.json")
        return words


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return Inputs(tmp_path)


def output(capsys: pytest.CaptureFixture[str], words: list[str], code: int = 0) -> str:
    assert run(words) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def simulated(capsys: pytest.CaptureFixture[str], words: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output(capsys, [*words, "--json"]))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_recorded_runs_are_exact_from_their_files(
    case: dict[str, Any], inputs: Inputs, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = astra.traces_of(GOLDEN, case)
    traces *= prod(case["network"]["npus_count"]) // len(traces)  # one may be good for all
    words = inputs.write(traces, case["system"], case["network"], case["groups"], case.get("memory"))
    found = simulated(capsys, [*words, f"--num-queues-per-dim={case['queues']}"])
    finish = [npu["finish_ns"] for npu in found["npus"]]
    assert (max(finish), min(finish)) == (case["result"]["finish_ns"], case["result"]["min_finish_ns"])
    assert found["finish_ns"] == max(finish)
    if "per_npu_finish_ns" in case["result"]:
        assert finish == case["result"]["per_npu_finish_ns"]
    if "exposed_comm_ns_max" in case["result"]:
        assert max(npu["exposed_ns"] for npu in found["npus"]) == case["result"]["exposed_comm_ns_max"]


def test_there_are_enough_recorded_runs() -> None:
    assert len(CASES) == 67


def test_tables_of_a_small_run(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    """A ring all-reduce of 4,000 bytes on 4 NPUs: 10 + 6 (500 + floor(1000 / 53.687) + 10) + 3 * 3 * 0 = 3,178 ns."""
    trace = [
        compute_node(0, "layer1.forward", duration=2),
        collective_node(1, "layer1.gradient", CollectiveType.ALL_REDUCE, 4000, data=[0]),
        compute_node(2, "layer2.forward", duration=1, data=[0]),
    ]
    found = simulated(capsys, inputs.write([trace] * 4, SYSTEM, NETWORK))
    assert found["npus"][3] == {
        "npu": 3, "finish_ns": 5178, "exposed_ns": 2178, "compute_ns": 3000, "communication_ns": 3178, "cpu_ns": 0,
        "idle_ns": 0,
    }  # fmt: skip
    first, second = found["operators"]
    assert first == {
        "name": "layer*.gradient", "kind": "all-reduce", "bytes": 4000, "members": 4, "nodes": 4, "total_ns": 4 * 3178,
        "longest_ns": 3178, "exposed_ns": 4 * 2178,
    }  # fmt: skip
    assert (second["name"], second["kind"], second["nodes"], second["total_ns"]) == (
        "layer*.forward", "computation", 8, 4 * 3000,
    )  # fmt: skip
    # 6 messages of 1,000 bytes of each NPU, over one of two links of 50 GiB/s for 5,178 ns.
    (dimension,) = found["dimensions"]
    assert (dimension["sent_bytes_per_npu"], dimension["links_per_npu"]) == (6000, 2)
    assert dimension["utilisation"] == pytest.approx(6000 / (2 * 50 * 2**30 * 5178e-9))


def test_what_an_npu_computes_before_a_time() -> None:
    starts, ends = np.array([0.0, 10.0]), np.array([4.0, 12.0])
    assert computed(starts, ends, np.array([-1.0, 0.0, 10.0, 12.0])).tolist() == [0.0, 0.0, 4.0, 6.0]


def test_timelines_are_files(inputs: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = [compute_node(0, "a", duration=2), collective_node(1, "b", CollectiveType.ALL_GATHER, 4000, data=[0])]
    words = inputs.write([trace] * 4, SYSTEM, NETWORK)
    figure, events = tmp_path / "timeline.png", tmp_path / "timeline.json"
    text = output(capsys, [*words, "--timeline", str(figure), "--timeline", str(events)])
    assert f"wrote {figure}" in text.replace("\n", "")
    assert figure.read_bytes().startswith(b"\x89PNG")
    spans = [event for event in json.loads(events.read_text())["traceEvents"] if event["ph"] == "X"]
    assert [(span["name"], span["ts"], span["dur"], span["args"]["node"]) for span in spans] == [
        ("a", 0.0, 2.0, 0), ("b", 2.0, pytest.approx(3 * 0.584 + 0.01), 1),
    ]  # fmt: skip
    assert "it must end in .json, .png" in output(capsys, [*words, "--timeline", "x.txt"], code=2)


def test_quirks_have_sizes(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    network = {
        "topology": ["Switch", "Switch"],
        "npus_count": [4, 2],
        "bandwidth": [50.0, 400.0],
        "latency": [0.0, 0.0],
    }
    system = {
        **SYSTEM, "endpoint-delay": 50, "preferred-dataset-splits": 3, "inter-dimension-scheduling": "offlineGreedy",
        **{key: ["direct", "ring"] for key in SYSTEM if key.endswith("-implementation")},
    }  # fmt: skip
    trace = [
        collective_node(0, "a", CollectiveType.ALL_TO_ALL, 2**24),
        collective_node(1, "b", CollectiveType.ALL_REDUCE, 2**20, group="1"),
    ]
    message = {"source": 0, "destination": 5, "size": 2**20, "tag": 0}
    traces = [[*trace] for _ in range(8)]
    traces[0].append(send_node(2, "c", **message))
    traces[5].append(receive_node(2, "c", **message))
    for npu in (2, 3, 6, 7):
        traces[npu].pop()
    quirks = {
        quirk["quirk"]: quirk
        for quirk in simulated(capsys, inputs.write(traces, system, network, {"1": [0, 1, 4, 5]}))["quirks"]
    }
    assert set(quirks) == {
        "links-are-not-shared", "groups-as-rings", "group-endpoint-delay", "one-collective-at-a-time",
        "first-dimension-only", "whole-chunks", "scheduler-keys",
    }  # fmt: skip
    # The message is charged dimension 0 alone; in dimension 1 it takes 2^20 B / (400 * 2^30 / 1e9 B/ns).
    assert quirks["first-dimension-only"]["size_ns"] == 2441
    # Three messages go at once where the link takes one after the other: two thirds of what the NPU sends.
    assert quirks["links-are-not-shared"]["size_ns"] > 2 * 4 * 2**22 / (50 * 2**30 / 1e9) * 0.3
    assert "+40 ns" in quirks["group-endpoint-delay"]["size"]


def test_an_import_with_traces_evaluates_by_the_engine(
    inputs: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A roofline computes for floor(1e9 / min(1600e9 x 100, 1e12) x 1e9) = 1,000,000 ns; the engine runs both alike."""
    system = {**SYSTEM, "roofline-enabled": 1, "peak-perf": 1}
    trace = [
        compute_node(0, "a", operations=10**9, size=10**7),
        collective_node(1, "b", CollectiveType.ALL_GATHER, 4000, data=[0], group="3"),
    ]
    words = inputs.write([trace] * 4, system, NETWORK, {"3": [0, 1, 2, 3]})
    finish = simulated(capsys, words)["finish_ns"]
    files = [f"--{name}={tmp_path / file}" for name, file in (("network", "network.yml"), ("system", "system.json"))]
    problem = tmp_path / "problems" / "mine.yaml"
    problem.parent.mkdir()
    options = ["--traces", str(tmp_path / "trace"), "--groups", str(tmp_path / "comm-group.json")]
    output(capsys, ["import", *files, *options, "--problem", str(problem)])
    design = problem.read_text().split("'")[1]
    found = json.loads(output(capsys, ["evaluate", str(problem), "--design", design, "--json"]))
    (times,) = found["traces"]
    assert times == {"workload": "trace", "engine_ms": pytest.approx(finish / 1e6), "model_ms": found["time_ms"]}
    text = " ".join(output(capsys, ["evaluate", str(problem), "--design", design]).split())
    assert f"traces trace: {finish / 1e6:.6g} ms by the engine of traces, and" in text
    assert "--groups belongs to --traces" in output(capsys, ["import", *files, *options[2:]], code=2)


def test_a_straggler_is_slow_by_a_file(inputs: Inputs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """NPU 2 computes at 0.3 of the speed: 1,000 ns become 3,333, and the others wait for its messages."""
    trace = [
        compute_node(0, "a", duration=1),
        collective_node(1, "b", CollectiveType.ALL_GATHER, 4000, data=[0]),
    ]
    words = inputs.write([trace] * 4, SYSTEM, NETWORK)
    (tmp_path / "speeds.json").write_text('{"2": 0.3}')
    found = simulated(capsys, [*words, "--npu-speeds", str(tmp_path / "speeds.json")])
    assert [npu["compute_ns"] for npu in found["npus"]] == [1000, 1000, 3333, 1000]
    # Messages take floor(500 + 4000 / 53.687) = 574 ns. NPU 2 finds all of them and ends after four delays of 10 ns;
    # NPU 3 has its last one at 3,363 + 574, NPU 0 that of NPU 3 at 3,937 + 574, and NPU 1 that of NPU 0 574 + 10 later.
    assert [npu["finish_ns"] for npu in found["npus"]] == [4521, 5095, 3373, 3947]
    together = simulated(capsys, [*words, "--npu-speeds", str(tmp_path / "speeds.json"), "--members=together"])
    assert {npu["finish_ns"] for npu in together["npus"]} == {3333 + 10 + 3 * 584}
    (tmp_path / "speeds.json").write_text('{"2": 0, "9": 1}')
    text = output(capsys, [*words, "--npu-speeds", str(tmp_path / "speeds.json")], code=2)
    assert "2: found 0; a speed of 1e-06 to 1e+06 is needed" in text
    assert "9: is no NPU; there are 4, 0 to 3" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--num-queues-per-dim=0"], "--num-queues-per-dim: found 0; 1 to 1024 are allowed"),
        (["--injection-scale=-1"], "--injection-scale: found -1; a finite number of at least 0 is needed"),
        (["--comm-group-configuration=missing.json"], "missing.json: cannot be read: no such file or directory"),
    ],
)
def test_flags_that_cannot_be(
    words: list[str], message: str, inputs: Inputs, capsys: pytest.CaptureFixture[str]
) -> None:
    files = inputs.write([[compute_node(0, "", duration=1)]] * 4, SYSTEM, NETWORK)
    assert message in output(capsys, [*files, *words], code=2)


def test_traces_of_another_number_of_npus(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    words = inputs.write([[compute_node(0, "", duration=1)]] * 3, SYSTEM, NETWORK)
    text = output(capsys, words, code=2)
    assert text.count("\n") == 1
    assert "has 3 traces; the network has 4 NPUs, which need one each" in text


def test_groups_that_are_not_given_are_one_sentence(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    trace = [collective_node(at, "", CollectiveType.ALL_REDUCE, 4000, group="7") for at in range(3)]
    words = inputs.write([trace] * 4, SYSTEM, NETWORK)
    for some in (words, [*words, "--comm-group-configuration=empty"]):
        text = output(capsys, some, code=2)
        assert text.count("\n") == 1
        assert "node 0: names communicator group '7', and no groups are given" in text
        assert "--comm-group-configuration" in text


def test_a_deadlock_names_npus_and_nodes(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    ends = {"source": 1, "destination": 0, "size": 10, "tag": 0}
    first = [receive_node(3, "", **ends), collective_node(4, "", CollectiveType.ALL_REDUCE, 4000, data=[3])]
    second = [collective_node(5, "", CollectiveType.ALL_REDUCE, 4000), send_node(6, "", data=[5], **ends)]
    rest = [collective_node(0, "", CollectiveType.ALL_REDUCE, 4000)]
    text = output(capsys, inputs.write([first, second, rest, rest], SYSTEM, NETWORK), code=2)
    assert "trace of NPU 0: node 3: waits for ever for a message of NPU 1" in text
    assert "trace of NPU 1: node 5: waits for ever in all-reduce of 4000 bytes of all NPUs: NPU 0 does not come" in text


def test_what_astra_sim_passes_over_is_noticed(inputs: Inputs, capsys: pytest.CaptureFixture[str]) -> None:
    words = inputs.write([[compute_node(0, "", duration=1)]] * 4, {**SYSTEM, "boost-mode": 1}, NETWORK)
    notices = simulated(capsys, [*words, "--comm-scale=2", "--num-queues-per-dim=4"])["notices"]
    assert any("ASTRA-sim reads this number and uses it nowhere" in notice for notice in notices)
    assert any("boost-mode" in notice for notice in notices)
    assert any("--num-queues-per-dim: found 4, active-chunks-per-dimension is 1" in notice for notice in notices)
