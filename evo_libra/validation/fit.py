"""The fitted constants of training steps and of serving, fitted again on the public rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.network.catalog.collective_latency import IN_SERVICE
from evo_libra.validation.serving import (
    ServingRow,
    request_seconds,
    serving_rows,
    serving_setup_of,
    with_constants,
)
from evo_libra.validation.source import Errors, PublishedRow, errors_of
from evo_libra.validation.training import (
    TrainingRow,
    plain_rows,
    seconds_of,
    setup_of,
    stack_of,
    training_rows,
    without_factor,
)
from evo_libra.workload.models.stacks import STACKS
from evo_libra.workload.serving.serving_setup import ServingSetup
from evo_libra.workload.serving.stacks import LAYER
from evo_libra.workload.training.training_setup import GEMM_OF_ISOLATED, MEMORY_OF_PEAK, Setup

SCALE = 0.03
"""Error from which on a row counts by its size and no longer by its square."""

FITTED = {
    "megatron-2022": ("compute",),
    "llama-3": ("compute",),
    "deepspeed-2021": ("hides_data", "ring_efficiency"),
}
"""Fitted constants of each software, from its own rows."""

_START = (0.8, 0.7)
"""Start of fits: away from the constants, so that they have to be found."""

_START_OF_FIGURES = 0.7

_START_OF_SERVING = (40.0, 1.0)
"""us of a layer, and the factor on collectives of NCCL."""

_SCALES = np.array([1e-6, 1.0])


@dataclass(frozen=True)
class Constant:
    """A fitted constant: the value that the program has, and what a fit finds."""

    name: str
    value: float
    fitted: float

    @property
    def moved(self) -> float:
        """Relative error of the fit."""
        return self.fitted / self.value - 1.0


@dataclass(frozen=True)
class Half:
    """The rows that a fit on the others has not seen, and how far it is from them."""

    tested: str
    errors: Errors


@dataclass(frozen=True)
class Refit:
    """Constants and figures of software after a fit on all rows, and what fits on half of the rows say of the rest.

    `serving` are the constants of serving, and `unseen` what fits on some models or accelerators say of others.
    """

    constants: tuple[Constant, ...]
    software: tuple[Constant, ...]
    halves: tuple[Half, ...]
    serving: tuple[Constant, ...] = ()
    unseen: tuple[Half, ...] = ()


def refit() -> Refit:
    """Fit the two constants, then the figures of each software, and each half of the rows by itself."""
    rows = plain_rows()
    found = fitted_constants(rows)
    gemm, memory = map(float, found)
    constants = (
        Constant("GEMM_OF_ISOLATED", GEMM_OF_ISOLATED, gemm),
        Constant("MEMORY_OF_PEAK", MEMORY_OF_PEAK, memory),
    )
    halves = (_half("odd", rows[::2], rows[1::2]), _half("even", rows[1::2], rows[::2]))
    return Refit(constants, _factors(found), halves, _serving_constants(), _unseen())


def fitted_serving(rows: Sequence[ServingRow]) -> FloatArray:
    """Return the (2,) constants of serving, s and a factor, with the least squared logarithmic errors of some rows."""
    setups = [serving_setup_of(row) for row in rows]

    def errors(at: FloatArray) -> FloatArray:
        return _log_errors(_requests(rows, [with_constants(setup, at * _SCALES) for setup in setups]))

    return np.asarray(_least_squares(errors, _START_OF_SERVING) * _SCALES)


def _requests(rows: Sequence[ServingRow], setups: Sequence[ServingSetup]) -> list[PublishedRow]:
    pairs = zip(rows, setups, strict=True)
    return [PublishedRow(row["id"], row["latency_s"], request_seconds(row, setup), "s") for row, setup in pairs]


def _serving_constants() -> tuple[Constant, ...]:
    layer, factor = fitted_serving(serving_rows())
    return Constant("LAYER", LAYER, float(layer)), Constant("IN_SERVICE", IN_SERVICE, float(factor))


def _unseen() -> tuple[Half, ...]:
    """Return what fits on 7B and 13B say of 70B, and those on A100 of H100."""
    found = []
    for tested, held in (("70B", lambda row: "70b" in row["model"]), ("H100", lambda row: row["npu"] == "h100-80gb")):
        rows = serving_rows()
        at = fitted_serving([row for row in rows if not held(row)])
        test = [row for row in rows if held(row)]
        errors = errors_of(_requests(test, [with_constants(serving_setup_of(row), at) for row in test]))
        found.append(Half(tested, errors))
    return tuple(found)


def fitted_constants(rows: Sequence[TrainingRow]) -> FloatArray:
    """Return the (2,) constants that lie nearest to the rows without factors of software."""
    setups = [without_factor(setup_of(row)) for row in rows]
    return _minimum(lambda at: _loss(_compared(rows, [_at(setup, at) for setup in setups])), _START)


def _at(setup: Setup, constants: FloatArray) -> Setup:
    return replace(setup, gemm_factor=float(constants[0]), memory_factor=float(constants[1]))


def _compared(rows: Sequence[TrainingRow], setups: Sequence[Setup]) -> list[PublishedRow]:
    return [
        PublishedRow(row["id"], row["step_s"], seconds_of(row, setup), "s")
        for row, setup in zip(rows, setups, strict=True)
    ]


def _log_errors(rows: Sequence[PublishedRow]) -> FloatArray:
    return np.asarray(np.log1p([row.error for row in rows]))


def _loss(rows: Sequence[PublishedRow]) -> float:
    """Return the mean of errors that count by their square while they are small; one odd row does not steer the fit."""
    return float(np.mean(np.sqrt(1.0 + (_log_errors(rows) / SCALE) ** 2) - 1.0))


def _factors(constants: FloatArray) -> tuple[Constant, ...]:
    """Return the figures of each software, fitted to all of its own rows."""
    found: list[Constant] = []
    for name, fields in FITTED.items():
        own = [row for row in training_rows() if stack_of(row).name == name]
        pairs = zip(fields, _figures(own, fields, constants), strict=True)
        found += [Constant(f"{name} {field}", getattr(STACKS[name], field), float(value)) for field, value in pairs]
    return tuple(found)


def _figures(rows: Sequence[TrainingRow], fields: Sequence[str], constants: FloatArray) -> FloatArray:
    """Return the figures of a software with the least squares of logarithmic errors."""
    setups = [_at(setup_of(row), constants) for row in rows]

    def errors(at: FloatArray) -> FloatArray:
        figures: dict[str, Any] = dict(zip(fields, map(float, at), strict=True))
        stack = replace(setups[0].stack, **figures)
        return _log_errors(_compared(rows, [replace(setup, stack=stack) for setup in setups]))

    return _least_squares(errors, [_START_OF_FIGURES] * len(fields))


def _half(tested: str, fit: Sequence[TrainingRow], test: Sequence[TrainingRow]) -> Half:
    found = fitted_constants(fit)
    return Half(tested, errors_of(_compared(test, [_at(without_factor(setup_of(row)), found) for row in test])))


def _least_squares(errors: Callable[[FloatArray], FloatArray], start: Sequence[float]) -> FloatArray:
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes a third of a second, and only a refit needs it

    return np.asarray(least_squares(errors, start, x_scale="jac").x)


def _minimum(loss: Callable[[FloatArray], float], start: Sequence[float]) -> FloatArray:
    from scipy.optimize import minimize  # noqa: PLC0415 - as above

    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-7, "maxiter": 400})
    return np.asarray(found.x)
