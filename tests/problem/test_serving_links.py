"""Serving on designs with other links: the time of a token follows what collectives take on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from served_problems import problem_of

MODELS = ("libra", "astra")


def tpot(folder: Path, design: str, npu: str, technologies: list[str], time: str, **serving: Any) -> float:
    """Return ms of a further token of one user of Llama 3.1 70B on all NPUs of a design."""
    tp = int(design.split("tp")[1].split(maxsplit=1)[0])
    data = {
        "name": "links", "npus": tp, "npu": npu, "time": time,
        "fabric": {"catalog": "products-2025", "technologies": technologies, "blocks": ["switch"], "max_dimensions": 2},
        "workloads": [{
            "name": "chat", "model": "llama-3.1-70b", "parallelism": {"tp": [tp]},
            "serving": {"input": 1000, "output": 500, "concurrency": [1], "weights": "bf16", **serving},
        }],
        "objectives": ["tpot", "cost"], "bandwidth": "ports",
    }  # fmt: skip
    return float(1e3 * problem_of(folder, data).evaluate(design).objectives[0, 0])


@pytest.mark.parametrize("time", MODELS)
def test_an_accelerator_without_its_fast_links_is_slower(time: str, tmp_path: Path) -> None:
    """160 all-reduces take 0.7 ms on NVLink 5, and 110 us each among 8 machines."""
    near = tpot(tmp_path, "SW(8)@nvlink5:900 | tp8 dp1 c1", "b200", ["nvlink5"], time)
    far = tpot(tmp_path, "SW(8)@infiniband-ndr:50 | tp8 dp1 c1", "b200", ["infiniband-ndr"], time)
    roce = tpot(tmp_path, "SW(8)@roce-400g:50 | tp8 dp1 c1", "b200", ["roce-400g"], time)
    assert near < far < roce
    assert far - near == pytest.approx(160 * (110e-6 - 4.6e-6) * 1e3, rel=0.02)


@pytest.mark.parametrize("time", MODELS)
def test_two_servers_are_as_slow_as_measured(time: str, tmp_path: Path) -> None:
    """An all-reduce of 16 on two servers takes 90 us in service, on one of 8 about 3."""
    one = tpot(tmp_path, "SW(8)@nvlink4:450 | tp8 dp1 c1", "h100-80gb", ["nvlink4"], time)
    design = "SW(8)@nvlink4:450_SW(2)@infiniband-ndr:50 | tp16 dp1 c1"
    two = tpot(tmp_path, design, "h100-80gb", ["nvlink4", "infiniband-ndr"], time)
    assert two > one + 160 * 0.08 - 4.0
    assert two > 1.5 * one


def test_a_time_of_all_collectives_takes_the_place_of_those_of_links(tmp_path: Path) -> None:
    """160 collectives of 3 doublings of 50 us."""
    design = "SW(8)@nvlink5:900 | tp8 dp1 c1"
    measured, slow = (
        tpot(tmp_path, design, "b200", ["nvlink5"], "libra", **keys) for keys in ({}, {"collective_us": 50})
    )
    assert slow - measured == pytest.approx(160 * (150 - 4.6) * 1e-3, rel=0.02)
