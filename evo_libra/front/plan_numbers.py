"""The numbers of parallelisation plans, each as a column: degrees, micro-batches, stages."""

from __future__ import annotations

import re
from collections.abc import Sequence

WORD = re.compile(r"([a-z]+)(\d+)(?:x(\d+))?")
STAGES = "vp"


def plan_numbers(name: str, plans: Sequence[str | None]) -> dict[str, list[int]]:
    """Return a column for each number of plans, by its name, 1 where a plan does not say it.

    >>> plan_numbers("plan", ["tp8 pp2x4 zero1", "tp16 zero1"])
    {'tp': [8, 16], 'pp': [2, 1], 'zero': [1, 1], 'vp': [4, 1]}
    >>> plan_numbers("plan[pretrain]", ["tp8"])
    {'tp[pretrain]': [8]}
    """
    numbers = [_numbers(plan or "") for plan in plans]
    suffix = name.removeprefix("plan")
    return {
        f"{key}{suffix}": [found.get(key, 1) for found in numbers]
        for key in dict.fromkeys(key for found in numbers for key in found)
    }


def _numbers(plan: str) -> dict[str, int]:
    matches = [match for word in plan.split() if (match := WORD.fullmatch(word))]
    found = {match[1]: int(match[2]) for match in matches}
    stages = [int(match[3]) for match in matches if match[3]]
    return {**found, STAGES: stages[0]} if stages else found
