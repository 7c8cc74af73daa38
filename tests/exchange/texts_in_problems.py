"""Problems of a design and of an order with a text of a user at every key that takes any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML

from evo_libra.exchange.formats import Chosen
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem

ROOT = Path(__file__).parents[2]
TEXT = "TEXT"
KINDS = ("design", "order")


@cache
def loaded(path: str) -> Any:
    return YAML(typ="safe").load((ROOT / path).read_text())


def copied(path: str) -> Any:
    return json.loads(json.dumps(loaded(path)))


def _design() -> tuple[Any, Any]:
    problem = copied("experiments/problems/dlrm-1k-parts.yaml")
    parts = copied("evo_libra/network/catalog/per_part/parts-2024.yaml")
    for at in (parts, *parts["parts"].values(), *parts["technologies"].values()):
        at["source"] = TEXT
    problem["fabric"]["catalog"], problem["workloads"][0]["name"], parts["name"] = "own.yaml", TEXT, TEXT
    return problem, parts


_REPLACED = {"systems": "hgx-a100", "switches": "qm8790", "nics": "connectx-6", "rules": "spare-switches"}
"""Products of the order, which its own catalogue has with texts."""


def _order() -> tuple[Any, Any]:
    problem = copied("problems/gpt3-175b-1536.yaml")
    problem |= {"systems": ["hgx-a100"], "npus": 192, "fabric": {"catalog": "own.yaml"}}
    problem["workloads"][0]["name"], problem["workloads"][0]["training"]["global_batch"] = TEXT, 192
    products: dict[str, Any] = {"kind": "products", "name": TEXT, "source": TEXT, "extends": "products-2026"}
    for kind, name in _REPLACED.items():
        one = copied(f"evo_libra/network/orders/products-2026/{kind}.yaml")[name]
        one["source"], one["sources"] = TEXT, dict.fromkeys(one.get("sources", {}), TEXT)
        one |= {"meaning": TEXT} if kind == "rules" else {"supplier": TEXT}
        products[kind] = {name: {key: value for key, value in one.items() if value != {}}}
    return problem, products


@cache
def files(kind: str) -> tuple[str, str]:
    """Return a problem and its catalogue, both as JSON, whose texts are yet to be put in."""
    problem, catalogue = _design() if kind == "design" else _order()
    return json.dumps(problem), json.dumps(catalogue)


def write(folder: Path, kind: str, text: str) -> Path:
    """Write a problem with a text at every key that takes any, and return its path."""
    for name, content in zip(("mine.yaml", "own.yaml"), files(kind), strict=True):
        (folder / name).write_text(content.replace(f'"{TEXT}"', json.dumps(text)))
    return folder / "mine.yaml"


def chosen(folder: Path, kind: str, text: str) -> Chosen:
    """Return the first of some random designs or orders that can be built."""
    problem = load_problem(str(write(folder, kind, text)))
    assert isinstance(problem, Problem)
    population = problem.decode(problem.genome.sample(np.random.default_rng(1), 40))
    fits = np.flatnonzero(problem.evaluate(population).violation == 0)
    return Chosen(problem, population.select([int(fits[0])]))


def with_each_text(kind: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the two files with another text at one key at a time, and the value that was there.

    Names of one thing are replaced in both files at once, so that a text is refused for what it is alone.
    """
    contents = files(kind)
    for value in sorted({*_texts(json.loads(contents[0])), *_texts(json.loads(contents[1]))}):
        if value not in (TEXT, "own.yaml"):
            mine, own = (content.replace(json.dumps(value), json.dumps(text)) for content in contents)
            yield value, mine, own


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from (key, *_texts(one))
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value
