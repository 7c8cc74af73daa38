"""The real command on traces."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command import COMMAND, call
from patience import run_to_end

from evo_libra.chakra.trace import CollectiveType, Metadata
from evo_libra.chakra.write import collective_node, write_trace
from evo_libra.errors import InputError

GOLDEN = Path(__file__).parents[1] / "golden" / "chakra"


def show(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, "workload", "show", *words]
    done = run_to_end(command)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def show_json(*words: str) -> Any:
    return json.loads(show(*words, "--json").stdout)


@pytest.mark.slow
def test_traces_of_all_npus_as_one_object() -> None:
    found = show_json(str(GOLDEN / "gpipe_golden" / "trace"), "--peak", "100", "--memory-bandwidth", "1000")
    assert len(found["npus"]) == 8
    third = found["npus"][3]
    assert (third["schema"], third["nodes"], third["dependencies"]) == ("0.0.4", 37, 36)
    assert third["kinds"] == {"COMP": 12, "COMM_SEND": 12, "COMM_RECV": 12, "COMM_COLL": 1}
    assert third["compute"]["operations"] == 360 * 10**9
    assert third["compute"]["untimed_nodes"] == 0
    all_reduce = {"collective": "ALL_REDUCE", "group": "2", "involved_dim": None, "nodes": 1, "bytes": 2**26}
    all_reduce["empty_nodes"] = 0
    assert third["collectives"] == [all_reduce]
    assert third["sends"] == [{"to_npu": npu, "nodes": 6, "bytes": 6 * 2**23} for npu in (1, 5)]
    assert third["receives"] == [{"from_npu": npu, "nodes": 6, "bytes": 6 * 2**23} for npu in (1, 5)]
    # Twelve computations of 30e9 operations at 100 TFLOP/s, one after the other.
    assert third["critical_path"]["compute_ms"] == pytest.approx(3.6)
    assert third["longest_chain"] == {"nodes": 14, "first": 0, "last": 35}


@pytest.mark.slow
def test_one_trace_for_reading_fits_80_columns() -> None:
    shown = show(str(GOLDEN / "dlrm_golden" / "trace.0.et")).stdout
    assert "9 nodes, 8 dependencies" in shown
    assert "ALL_TO_ALL" in shown
    assert "67.11 MB" in shown
    assert "no computation has a recorded time" in shown
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines()[1:])) <= 80  # the first line is the path
    assert "\u2026" not in shown


@pytest.mark.slow
def test_collectives_beyond_the_rows_are_counted() -> None:
    shown = show(str(GOLDEN / "gpipe_golden" / "trace"), "--rows", "3").stdout
    assert shown.count("ALL_REDUCE") == 3
    assert "1 more, with fewer bytes" in shown


def test_collectives_of_no_bytes_are_remarked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.et"
    write_trace(path, Metadata(), [collective_node(0, "", CollectiveType.ALL_REDUCE, 0)])
    call("workload", "show", path, "--rows", 5)
    shown = capsys.readouterr().out
    assert "1 node, 0 dependencies" in shown
    assert "longest chain    1 node, from node 0 to node 0" in shown
    assert "remark           1 collective of 0 bytes: ASTRA-sim runs each with a byte" in shown
    assert max(map(len, shown.splitlines()[1:])) <= 80
    call("workload", "show", path, "--json")
    (found,) = json.loads(capsys.readouterr().out)["npus"][0]["collectives"]
    assert (found["nodes"], found["bytes"], found["empty_nodes"]) == (1, 0, 1)


@pytest.mark.slow
def test_wrong_input_is_one_sentence(tmp_path: Path) -> None:
    sample = GOLDEN / "single_all_reduce" / "trace.0.et"
    (tmp_path / "cut.et").write_bytes(sample.read_bytes()[:40])
    done = show(str(tmp_path / "cut.et"), code=2)
    place, reason = (
        "message 2 (byte 8)",
        "its length is 64 bytes, the file has 31 left; it is truncated, or it is no trace",
    )
    assert done.stderr == f"evo-libra: {tmp_path / 'cut.et'}: {place}: {reason}\n"
    assert done.stdout == ""


@pytest.mark.parametrize(("words", "part"), [
    (("nowhere",), "there is neither this file nor nowhere.0.et and so on next to it"),
    (("gap",), "2 traces up to NPU 2, but no gap.1.et"),
    (("gap.0.et", "--peak", 5), "--peak and --memory-bandwidth go together"),
    (("gap.0.et", "--memory-bandwidth", 5), "--peak and --memory-bandwidth go together"),
    (("gap.0.et", "--peak=-5", "--memory-bandwidth", 1), "--peak: found -5"),
    (("gap.0.et", "--peak", 5, "--memory-bandwidth", "inf"), "--memory-bandwidth: found inf"),
    (("gap.0.et", "--rows", 0), "--rows: found 0"),
])  # fmt: skip
def test_wrong_options(words: tuple[object, ...], part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for npu in (0, 2):
        shutil.copy(GOLDEN / "single_all_reduce" / "trace.0.et", tmp_path / f"gap.{npu}.et")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=re.escape(part)):
        call("workload", "show", *words)
