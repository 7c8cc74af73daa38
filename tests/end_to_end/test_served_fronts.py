"""Commands on a front of serving, which has neither the time of an iteration nor the cost of the network."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import call, call_json

FILE = """
version: 1
name: served
npus: 32
npu: h100-80gb
fabric: {catalog: parts-2024, technologies: [nvlink4, optics-400g], blocks: [switch], max_dimensions: 2}
workloads:
  - name: chat
    model: llama-3.1-8b
    serving: {input: 500, output: 200, concurrency: [1, 8, 64], prefill: [0, 0.25], prefill_parallelism: {tp: [1, 2]}}
    parallelism: {tp: [1, 2, 8]}
tco: {years: 4, usd_per_kWh: 0.10, pue: 1.2}
objectives: [tpot, usd-per-Mtoken]
bandwidth: ports
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served")
    (path / "served.yaml").write_text(FILE)
    return path


@pytest.fixture(autouse=True)
def there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    if not (folder / "results").exists():
        call_json("search", "served.yaml")


@pytest.mark.slow
def test_an_exact_front_is_proven_and_recommended_from(capsys: pytest.CaptureFixture[str]) -> None:
    proof = call_json("certify", "last")
    assert proof["complete"]
    assert proof["missing_designs"] == 0
    assert proof["largest_factor"] == pytest.approx(1.0, rel=1e-9)
    found = call_json("recommend", "last")
    assert found["no_proof"] == ""
    factor = {one["id"]: one["factor"] for one in proof["designs"]}
    assert all(one["factor"] == pytest.approx(factor[one["id"]], rel=1e-12) for one in found["recommended"])
    assert {kind for one in found["recommended"] for kind in one["kinds"]} == {
        "knee", "cheapest within 5 % of the fastest",
    }  # fmt: skip
    call("recommend", "last")
    assert "Proven of the space below: nothing that is as good in all other objectives is better in one." in " ".join(
        capsys.readouterr().out.split()
    )
    call("certify", "last")
    assert "this one is the exact one" in capsys.readouterr().out


@pytest.mark.slow
def test_the_fastest_has_the_shortest_token_and_the_cheapest_the_cheapest_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = call_json("front", "last")["front"]
    for word, column in (("fastest", "tpot_ms"), ("cheapest", "cost_per_Mtoken_usd")):
        found = call_json("explain", f"last#{word}")
        assert found[column] == min(row[column] for row in rows)
    call("explain", "last#fastest")
    shown = capsys.readouterr().out
    assert "no design on the front is better in tpot" in shown
    assert "a ms costs" not in shown
