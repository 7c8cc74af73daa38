"""What a buyer's limits change: the front of whole orders, with one limit at a time.

For the problem `buy-deepseek-v3-8k`: the exact front of all orders, and those that a room without liquid, a supplier, a
limit of power, or one more wish leaves. Every row passes the check of orders.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from command_line import no_arguments
from common import markdown

from evo_libra import Problem, load_problem, search
from evo_libra.front.front import SYSTEM, Front

NAME = "buy-deepseek-v3-8k"
LIMITS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "air cooling": {"limits": {"cooling": ["air"]}},
    "NVIDIA alone": {"limits": {"suppliers": ["nvidia"]}},
    "a room of 13.5 MW": {"limits": {"room_MW": 13.5}},
    "leaves at 1:1": {"fabric": {"ratio": {"leaf": 1.0, "pod": 1.0}}},
    "rails without a spine, too": {"fabric": {"families": ["rail-optimised", "tor", "fat-tree", "rail-only"]}},
}
"""What the file says beside its own keys, by the name of the limit."""

_SECONDS, _MILLION = 1e3, 1e6


@dataclass(frozen=True)
class Outcome:
    """The front under a limit, and how many orders it is of."""

    limit: str
    orders: int
    front: Front

    @property
    def systems(self) -> Sequence[str]:
        """Systems on the front, the fastest first."""
        return list(dict.fromkeys(self.front.frame[SYSTEM].to_list()))


def outcome(limit: str) -> Outcome:
    """Return the front under a limit."""
    problem = load_problem(NAME, [f"{key}={json.dumps(value)}" for key, value in LIMITS[limit].items()])
    assert isinstance(problem, Problem), "the file is a problem file"  # noqa: S101 - it comes with the package
    assert problem.book is not None, "it asks for an order"  # noqa: S101 - the same
    return Outcome(limit, len(problem.book), search(problem))


def table(found: Sequence[Outcome]) -> str:
    """Return the fronts, a row for each limit."""
    return markdown(
        ("limit", "orders", "rows", "systems there", "s", "million USD"),
        [
            [
                one.limit, f"{one.orders:,}", str(len(one.front)), ", ".join(one.systems),
                _range([row["time_ms"] / _SECONDS for row in one.front.rows()]),
                _range([row["order_cost_usd"] / _MILLION for row in one.front.rows()]),
            ]
            for one in found
        ],
    )  # fmt: skip


def rows(found: Outcome) -> str:
    """Return the rows of a front."""
    return markdown(
        ("s", "million USD", "order"),
        [
            [
                f"{row['time_ms'] / _SECONDS:.3g}", f"{row['order_cost_usd'] / _MILLION:.4g}",
                row["design"].partition(" | ")[0],
            ]
            for row in found.front.rows()
        ],
    )  # fmt: skip


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.3g} to {max(values):.3g}"


def main() -> None:
    """Print the tables of the study."""
    found = [outcome(limit) for limit in LIMITS]
    print(table(found))
    print(rows(found[0]))


if __name__ == "__main__":
    no_arguments(__doc__)
    main()
