"""A thousand broken problem files, and not one traceback."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import costly
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.files.source import parse_source
from evo_libra.problem.file.load import problem_of
from evo_libra.ui.commands.init import STARTER

FOLDER = Path(__file__).parent.parent.parent / "problems"
TEXTS = [*(path.read_text() for path in sorted(FOLDER.glob("*.yaml"))), STARTER]
DATA = [json.dumps(parse_source(text, "whole.yaml").data) for text in TEXTS]
VALUES = [-1, 0, 1, 2, 3, 4097, 10**30, 1e300, -1e300, 1e-300, 0.5, "x", "", "1 GB/s", None, True, [], {}, [1]]
CONSTRAINTS = [
    ["bw[0] <= 1 GB/s", "bw[0] >= 2 GB/s"], ["cost <= 1 USD"], ["sum(bw) == 100 GB/s"], ["bw[0] - bw[0] <= 0"],
    ["1e400*bw[0] <= 1 GB/s"], ["bw[pod] <= 1e-9 GB/s"], ["time <= 0 s"], ["("], ["sum(bw) >= 1e300 TB/s"],
]  # fmt: skip
MANY = costly(500, part=40, suppress_health_check=list(HealthCheck))


def paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(deeper for key, value in items for deeper in paths(value, (*path, key)))]


def mutate(draw: st.DataObject, data: Any) -> None:
    path = draw.draw(st.sampled_from(paths(data)[1:]))
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    kind = draw.draw(st.sampled_from(["drop", "rename", "constrain", "replace", "replace"]))
    if kind == "drop":
        del parent[path[-1]]
    elif kind == "rename" and isinstance(parent, dict):
        parent[f"{path[-1]}x"] = parent.pop(path[-1])
    elif kind == "constrain":
        data["constraints"] = list(draw.draw(st.sampled_from(CONSTRAINTS)))
    else:
        # A copy: a later change to it must not reach the next example.
        parent[path[-1]] = copy.deepcopy(draw.draw(st.sampled_from(VALUES)))


def load(text: str) -> None:
    try:
        problem = problem_of(parse_source(text, "broken.yaml"), FOLDER)
    except InputError as error:
        assert all(mistake.file and mistake.message and "\n" not in str(mistake) for mistake in error.mistakes)
        return
    worth = problem.evaluate_genes(problem.genome.sample(np.random.default_rng(0), 4))
    assert np.isfinite(worth.objectives).all()
    assert (worth.objectives > 0).all()
    assert np.isfinite(worth.violation).all()


@pytest.mark.slow
@given(st.data(), st.sampled_from(DATA), st.integers(1, 3))
@MANY
def test_changed_values(data: st.DataObject, whole: str, times: int) -> None:
    changed = json.loads(whole)
    for _ in range(times):
        if len(paths(changed)) > 1:
            mutate(data, changed)
    load(json.dumps(changed))


@pytest.mark.slow
@given(st.sampled_from(TEXTS), st.lists(st.tuples(st.integers(0, 5000), st.text(max_size=2)), min_size=1, max_size=4))
@MANY
def test_changed_text(text: str, edits: list[tuple[int, str]]) -> None:
    for position, replacement in edits:
        at = position % len(text)
        text = text[:at] + replacement + text[at + 1 :]
    load(text)
