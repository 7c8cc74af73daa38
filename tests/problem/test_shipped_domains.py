"""Tensor parallel groups of shipped problems: inside scale-up domains, but for papers and machines without any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from evo_libra import load_problem, search
from evo_libra.problem.problem import Problem
from evo_libra.workload.parallelism import TENSOR_GROUP

FILES = sorted((Path(__file__).parents[2] / "problems").glob("*.yaml"))
ANYWHERE = {
    "comet-1t": "its paper's groups leave their boxes",
    "gpt3-4k": "LIBRA places groups on any dimension",
    "language-models-4k": "LIBRA places groups on any dimension",
    "msft-1t-4k": "LIBRA places groups on any dimension",
    "turing-nlg-4k": "LIBRA places groups on any dimension, and its tp is 1",
    "themis-transformer-1t": "Themis fills dimensions from the first one on",
    "roce-study": "groups of one size fill servers of that size, and no technology has a domain's end",
    "wafer-20": "a wafer is one domain",
    "wafer-transformer-1t": "a wafer is one domain",
}
"""Problems that reproduce a paper, in which groups lie anywhere."""


def workloads(path: Path) -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load(path)["workloads"]) if "workloads" in path.read_text() else []


def keeps_inside(workload: dict[str, Any]) -> bool:
    """Return whether a workload has no tensor parallel group, is served, or keeps the group inside a domain."""
    if "training" in workload:
        return workload["training"].get("tp_domain", "scale-up") == "scale-up"
    return (
        "serving" in workload or "tp" not in workload.get("parallelism", {}) or workload.get("tp_domain") == "scale-up"
    )


@pytest.mark.slow
def test_only_papers_let_tensor_parallel_groups_lie_anywhere() -> None:
    free = {path.stem for path in FILES if not all(map(keeps_inside, workloads(path)))}
    assert free <= ANYWHERE.keys()
    assert ANYWHERE.keys() <= {path.stem for path in FILES}


def loaded(name: str) -> Problem:
    found = load_problem(name)
    assert isinstance(found, Problem)
    return found


def leaving(name: str, evaluations: int) -> int:
    """Return how many designs of a front have a tensor parallel group beyond a scale-up domain."""
    problem = loaded(name)
    front = search(problem, evaluations=evaluations, population=100, seed=0)
    designs = problem.read(front.frame["design"].to_list())
    outside = problem.time.outside(designs.technology)
    assert outside is not None
    placed = problem.time.placed(designs.npus, designs.plan, designs.technology)
    found = [np.zeros(len(designs), dtype=np.bool_)]
    found += [
        (outside & (where.extent > 1)).any(axis=0) for (_, group), where in placed.items() if group == TENSOR_GROUP
    ]
    return int(np.logical_or.reduce(found).sum())


@pytest.mark.parametrize("name", ["dense-1k", "moe-4k", "roce-128"])
def test_no_design_of_a_front_has_a_tensor_parallel_group_beyond_its_domain(name: str) -> None:
    assert leaving(name, 2000) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["gpt3-175b-1536", "megatron-1t-3072", "transformer-1t-memory", "opt-175b-offload", "deepseek-r1-64",
     "llama3-70b-serving", "qwen3-235b-256"],
)  # fmt: skip
def test_no_order_of_a_front_has_one_either(name: str) -> None:
    assert leaving(name, 4000) == 0


def test_sockets_without_a_domain_share_a_model_over_their_ports() -> None:
    """xFasterTransformer's authors measured four servers, so that no other place is left for the group."""
    beyond = loaded("llama2-70b-xeon").time.beyond
    assert beyond is not None
    assert beyond.all()
