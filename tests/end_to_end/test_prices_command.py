"""The command that looks at a front under uncertain prices."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from command import run

SETTINGS = ["npus=512", "fabric={catalog: parts-2024, max_dimensions: 2}", "bandwidth=ports"]


@pytest.mark.slow
def test_a_result_is_priced(tmp_path: Path) -> None:
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    search = run(tmp_path, "search", "gpt3-4k", *settings, "--evaluations", "1000", "--json")
    found = json.loads(search.stdout)
    asked = ["prices", found["result"], "--scenarios", "50"]
    priced = json.loads(run(tmp_path, *asked, "--score", "regret", "--json").stdout)
    assert [row["id"] for row in priced["designs"]] == [row["id"] for row in found["front"]]
    assert pl.read_parquet(tmp_path / priced["prices"]).to_dicts() == priced["designs"]
    for score in ("mean", "worst", "regret"):
        shown = run(tmp_path, *asked, "--score", score).stdout
        assert f"on the front by {score}" in shown
        assert max(map(len, shown.splitlines())) <= 80
    assert "--scenarios: found 0" in run(tmp_path, *asked[:2], "--scenarios", "0", code=2).stderr
