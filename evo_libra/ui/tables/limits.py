"""Limits that users put on the designs of a front: of time, money, power, a deadline or a rate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evo_libra.errors import InputError

if TYPE_CHECKING:
    from evo_libra.arrays import FloatArray
    from evo_libra.explain.candidates import Candidates
    from evo_libra.front.front import Front
    from evo_libra.problem.figures import Figures
    from evo_libra.problem.problem import Problem

_LIMITS = {
    "max_cost": "cost_usd", "max_power": "power_kW", "max_time": "time_ms", "deadline": "training_days",
    "rate": "time_per_Mtoken_s",
}  # fmt: skip
_OF_ORDERS = {"max_cost": "order_cost_usd", "max_power": "system_power_kW"}
_TIMED = {"time_ms", "training_days", "time_per_Mtoken_s"}


def limits_of(asked: Mapping[str, str | None], problem: Problem | None, *, order: bool) -> dict[str, float]:
    """Return limits by column; cost and power of an order are those of all of it."""
    from evo_libra.front.selection import in_unit_of
    from evo_libra.ui.tables.rates import tokens_per_second

    found = {}
    for option, text in asked.items():
        if text is not None:
            column = _OF_ORDERS.get(option, _LIMITS[option]) if order else _LIMITS[option]
            try:
                if option == "rate":
                    found[column] = 1e6 / tokens_per_second(text, lambda: _tokens_of_answer(problem))
                else:
                    found[column] = _days(text) if option == "deadline" else in_unit_of(column, text)
            except InputError as error:
                raise InputError(f"--{option.replace('_', '-')}: {error}") from None
    return found


def _days(text: str) -> float:
    """Return the days of a duration; an `InputError` says that it is none."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(s|min|h|days?|d)?", text.strip())
    if match is None or not float(match[1]):
        raise InputError(f"found '{text}'; a duration above 0 in s, min, h or d is needed, such as 30d")
    return float(match[1]) * _DAYS[(match[2] or "d").removesuffix("ays").removesuffix("ay")]


def _tokens_of_answer(problem: Problem | None) -> float:
    """Return the tokens of an answer of the only served workload; an `InputError` says that it is not the only one."""
    from evo_libra.explain.hour_price import answer_tokens

    known = None if problem is None else answer_tokens(problem)
    if known is None:
        raise InputError("requests per second need a problem of one served workload; give tokens, such as 5Mtoken/s")
    return known


_DAYS = {"s": 1 / 86400, "min": 1 / 1440, "h": 1 / 24, "d": 1.0}


def limited_candidates(front: Front, problem: Problem | None, limits: Mapping[str, float]) -> Candidates:
    """Return the candidates with the figures that are limited, some of which may be no objectives."""
    from evo_libra.explain.candidates import candidates_of
    from evo_libra.front.front import SYSTEM
    from evo_libra.problem.figures import system_watts

    missing = [column for column in limits if column not in front.objectives]
    more: dict[str, FloatArray] = {}
    if missing and problem is not None:
        figures = problem.measure(problem.read(front.frame["design"].to_list()), timed=bool(_TIMED & set(missing)))
        more = {"time_ms": figures.time * 1e3, "cost_usd": figures.cost, "power_kW": figures.watts / 1e3}
        if problem.book is not None:
            more["order_cost_usd"] = problem.book.order_usd(problem.read(front.frame["design"].to_list()))
            more["system_power_kW"] = system_watts(figures) / 1e3
        if "system_power_kW" in missing and (rented := set(front.frame[SYSTEM]) & _rented(problem)):
            raise InputError(f"--max-power: {' and '.join(sorted(rented))} is rented, and no source gives its power")
        if "power_kW" in missing and not problem.pricing.kits:
            raise InputError(f"the prices of '{problem.name}' are per bandwidth, and nothing says what it draws")
        more |= _of_tokens(problem, figures, missing)
    return candidates_of(front, limits, {column: more[column] for column in missing if column in more})


def _rented(problem: Problem) -> set[str]:
    """Return the systems that are rented, whose bill has no power: it is of whose they are."""
    known = {} if problem.book is None else problem.book.products.systems
    return {name for name, system in known.items() if system.order == "rent"}


def _of_tokens(problem: Problem, figures: Figures, asked: Sequence[str]) -> dict[str, FloatArray]:
    """Return the days of the training that the file describes, and the seconds of a million tokens, where asked."""
    from evo_libra.explain.choice import TRAINING_DAYS
    from evo_libra.explain.hour_price import training_tokens
    from evo_libra.explain.labels import TOKEN_SECONDS
    from evo_libra.problem.objectives import PLAIN

    found: dict[str, FloatArray] = {}
    if not {TOKEN_SECONDS, TRAINING_DAYS} & set(asked):
        return found
    total, known = training_tokens(problem), figures.training is not None and figures.training.tokens is not None
    if not known:
        raise InputError(f"'{problem.name}' has no tokens; --deadline and --rate need a model with training or serving")
    found[TOKEN_SECONDS] = PLAIN["tokens-per-s"].minimised(figures)
    if TRAINING_DAYS in asked and total is None:
        raise InputError(f"'{problem.name}' does not say how many tokens are trained; give `training.tokens`")
    return found | ({} if total is None else {TRAINING_DAYS: found[TOKEN_SECONDS] * total / 1e6 * _DAYS["s"]})
