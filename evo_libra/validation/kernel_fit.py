"""Constants of an accelerator's kernels, fitted to tables of measured ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evo_libra.arrays import BoolArray, FloatArray
from evo_libra.errors import InputError
from evo_libra.exchange.kernel_tables import ATTENTION, COLLECTIVES, PRODUCTS, KernelTable
from evo_libra.network.catalog.accelerator import (
    HEAD_WIDTH,
    Accelerator,
    AttentionConstants,
    DecodeConstants,
    GemmConstants,
)
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.network.catalog.bus import BusConstants
from evo_libra.validation.kernels import (
    FEW,
    LARGE,
    LEAST_MESSAGE,
    NPUS,
    attention_seconds,
    collective_seconds,
    decode_seconds,
    product_seconds,
)

LEAST_ROWS = 10
"""Rows that a fit needs at least; it sees half of them."""

_SCALE = 0.1
"""Logarithmic error from which on a row counts by its size and no longer by its square (soft L1)."""

_MEGA = 1e6
_FAR = 0.5
"""Median error from which on a fit says nothing."""

_LEAST_SHARE = 0.01
"""Share of a peak or of a bandwidth below which latencies are not in milliseconds; no kernels are that slow."""

_MEASURED = "h100-80gb"
"""Accelerator whose time of a product in a step, and rate of attention backwards, hold where a base has none."""

EXPONENTS = (1.25, 2.0, 3.0, 4.0)
"""Exponents that fits of products try: the one whose products of `HUGE` and more are nearest is kept."""

HUGE = 4096
"""Rows, columns and inner size of the products of large models."""

Seconds = Callable[[Accelerator, Mapping[str, FloatArray]], FloatArray]
Changed = Callable[[Accelerator, Sequence[float]], Accelerator]


@dataclass(frozen=True)
class KernelFit:
    """Constants fitted to all rows, and how far a fit to every other row is from the rest, which it has not seen.

    Attributes
    ----------
    key : of the constants in a file, such as ``kernels.bf16``.
    constants : as a file writes them.
    rows : how many rows were fitted.
    median, percentile_90, maximum : relative errors of the rows that a fit has not seen.
    """

    key: str
    constants: Mapping[str, float]
    rows: int
    median: float
    percentile_90: float
    maximum: float


def fit_kernels(base: Accelerator, tables: Sequence[KernelTable]) -> list[KernelFit]:
    """Return the constants of an accelerator that tables of it say, with peak rates and memory of the base.

    The times of a product's FLOP, bytes and inner size are joined as in `GemmConstants.joined`, and it takes a fixed
    time more; attention and collectives are as in `evo_libra.validation.kernels`. Soft L1 of logarithmic errors is
    least.

    Raises
    ------
    InputError : no table has enough rows of anything that is fitted, the base lacks a peak rate, the tables are of
        several devices, or no constants come near them.
    """
    if len(devices := sorted({device for table in tables for device in table.devices})) > 1:
        raise InputError(f"the tables are of several devices: {', '.join(devices)}; those of one are fitted at a time")
    found: list[KernelFit] = []
    npu = base
    for key, rows in _parts(base, tables).items():
        if len(rows) < LEAST_ROWS:
            continue
        fit, npu = _fitted(npu, key, rows)
        if fit.median > _FAR:
            hint = f"latencies are milliseconds, and the tables are of {base.name}"
            raise InputError(f"{key}: half of the rows differ by {fit.median:.0%} and more from any constants; {hint}")
        found.append(fit)
    if not found:
        raise InputError(
            f"no table has {LEAST_ROWS} rows of products in one precision, of attention over {LARGE} tokens and more "
            f"with heads of {HEAD_WIDTH}, or of collectives of {LEAST_MESSAGE / _MEGA:g} MB among {NPUS}"
        )
    return found


def _parts(base: Accelerator, tables: Sequence[KernelTable]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows that each constant is fitted to."""
    products = [row for table in tables if table.kind == PRODUCTS for row in table.rows]
    attention = [row for table in tables if table.kind == ATTENTION for row in table.rows]
    collectives = [row for table in tables if table.kind == COLLECTIVES for row in table.rows]
    few = [row for row in products if row["m"] <= FEW and min(row["n"], row["k"]) >= LARGE]
    found = {"kernels.decode": [row for row in few if row["precision"] == "bf16"]}
    for precision in ("bf16", "fp8", "fp4"):
        mine = [row for row in products if row["precision"] == precision]
        if mine:
            base.peak_rate(precision)
        found[f"kernels.{precision}"] = mine
    found["kernels.attention"] = [
        row for row in attention if row["isl"] >= LARGE and row["head_dim"] == HEAD_WIDTH and row["precision"] == "bf16"
    ]
    link = next((name for name in base.ports if name.startswith(("nvlink", "xgmi"))), None)
    found[f"bus.{link}"] = [
        row for row in collectives if link is not None and row["num_gpus"] == NPUS and row["op_name"] != "all_reduce"
        and 2.0 * row["message_size"] >= LEAST_MESSAGE
    ]  # fmt: skip
    return found


def _fitted(npu: Accelerator, key: str, rows: Sequence[Mapping[str, Any]]) -> tuple[KernelFit, Accelerator]:
    """Return a fit, and the accelerator with its constants."""
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64)
               for name, value in rows[0].items() if isinstance(value, int | float)}  # fmt: skip

    every = np.ones(len(rows), dtype=np.bool_)
    models = _models(key)
    model = models[0] if len(models) == 1 else min(models, key=lambda one: _error_of_huge(npu, one, columns))

    def errors(which: BoolArray, at: FloatArray) -> FloatArray:
        return _errors(npu, model, {name: values[which] for name, values in columns.items()}, at)

    def fit(which: BoolArray) -> FloatArray:
        return _fit(npu, model, {name: values[which] for name, values in columns.items()})

    # In an order of their own, so that neither half has the small ones or one kind alone.
    seen = np.zeros(len(rows), dtype=np.bool_)
    seen[np.random.default_rng(0).permutation(len(rows))[::2]] = True
    unseen = np.abs(np.expm1(errors(~seen, fit(seen))))
    best = fit(every).tolist()
    figures = (float(np.quantile(unseen, share)) for share in (0.5, 0.9, 1.0))
    after = model.changed(npu, best)
    return KernelFit(key, _written(key, after), len(rows), *figures), after


@dataclass(frozen=True)
class _Model:
    """A law of kernels: where a fit of its constants begins, the largest ones, an accelerator with some, and times."""

    start: Sequence[float]
    upper: Sequence[float]
    changed: Changed
    seconds: Seconds


def _errors(npu: Accelerator, model: _Model, rows: Mapping[str, FloatArray], at: FloatArray) -> FloatArray:
    return np.asarray(np.log(model.seconds(model.changed(npu, at.tolist()), rows) / rows["seconds"]))


_NEARER = 0.2
"""Second start of all constants but the first over the first one: large sizes at which products split have no slope."""


def _fit(npu: Accelerator, model: _Model, rows: Mapping[str, FloatArray]) -> FloatArray:
    """Return the constants with the least error from either of two starts."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - takes a third of a second

    first, *others = model.start
    found = [
        least_squares(
            lambda at: _errors(npu, model, rows, at), start, loss="soft_l1", f_scale=_SCALE, x_scale=model.start,
            bounds=([_LEAST_SHARE if upper == 1.0 else 1e-6 for upper in model.upper], model.upper),
        )
        for start in (model.start, [first, *(_NEARER * one for one in others)])
    ]  # fmt: skip
    return np.asarray(min(found, key=lambda one: one.cost).x)


def _error_of_huge(npu: Accelerator, model: _Model, rows: Mapping[str, FloatArray]) -> float:
    """Return the mean error of huge products after a fit to all of them; that of all where none is huge."""
    errors = np.abs(np.expm1(_errors(npu, model, rows, _fit(npu, model, rows))))
    huge = np.minimum(np.minimum(rows["m"], rows["n"]), rows["k"]) >= HUGE
    return float(np.mean(errors[huge] if huge.any() else errors))


def _models(key: str) -> list[_Model]:
    """Return the laws that the constants at a key may have."""
    name = key.partition(".")[2]
    if key == "kernels.decode":
        seconds: Seconds = lambda one, rows: decode_seconds(one, rows["m"], rows["n"], rows["k"])  # noqa: E731
        return [_Model([0.8, 5.0], [1.0, 1e4], _with_decode, seconds)]
    if key == "kernels.attention":
        return [_Model([0.6, 1000.0, 5.0, 10.0], [1.0, 1e6, 1e3, 1e3], _with_attention, _attention)]
    if key.startswith("bus."):
        return [_Model(
            [0.8, 20.0], [8.0, 1e5], lambda one, at: _with_bus(one, name, at),
            lambda one, rows: collective_seconds(one, name, 2.0 * rows["message_size"]),
        )]  # fmt: skip
    return [_model_of_products(name, exponent) for exponent in EXPONENTS]


def _model_of_products(precision: str, exponent: float) -> _Model:
    """Return the law of products with an exponent; its constants are in the order of `_with_products`."""
    count = 5 if precision == "bf16" else 6
    return _Model(
        [0.7, 0.8, 1.0, 4000.0, 5.0, 10.0][:count], [1.0, 1.0, 100.0, 1e6, 1e3, 1e3][:count],
        lambda one, at: _with_products(one, precision, exponent, at), lambda one, rows: _products(one, rows, precision),
    )  # fmt: skip


def _products(npu: Accelerator, rows: Mapping[str, FloatArray], precision: str) -> FloatArray:
    return product_seconds(npu, precision, rows["m"], rows["n"], rows["k"])


def _attention(npu: Accelerator, rows: Mapping[str, FloatArray]) -> FloatArray:
    return attention_seconds(npu, rows["batch_size"], rows["isl"], rows["num_heads"], HEAD_WIDTH)


def _with_decode(npu: Accelerator, at: Sequence[float]) -> Accelerator:
    gemm = {"bf16": npu.gemm.get("bf16", _usual().gemm["bf16"])}
    return replace(npu, decode=DecodeConstants(bandwidth=at[0], fixed_us=at[1]), gemm={**npu.gemm, **gemm})


def _with_products(npu: Accelerator, precision: str, exponent: float, at: Sequence[float]) -> Accelerator:
    known = npu.gemm.get(precision)
    names = ("plateau", "bandwidth", "k_step_ns", "split_k", "isolated_us", "quantisation")
    fixed = (known or _usual().gemm["bf16"]).fixed_us
    constants = GemmConstants(exponent=exponent, fixed_us=fixed, **dict(zip(names, at, strict=False)))
    return replace(npu, gemm={**npu.gemm, precision: constants})


def _with_attention(npu: Accelerator, at: Sequence[float]) -> Accelerator:
    backward = (npu.attention or _usual().attention_constants()).backward
    gemm = {"bf16": npu.gemm.get("bf16", _usual().gemm["bf16"])}
    names = ("plateau", "half_tokens", "token_ns", "isolated_us")
    attention = AttentionConstants(backward=backward, **dict(zip(names, at, strict=True)))
    return replace(npu, attention=attention, gemm={**npu.gemm, **gemm})


def _usual() -> Accelerator:
    return accelerator(_MEASURED)


def _with_bus(npu: Accelerator, technology: str, at: Sequence[float]) -> Accelerator:
    return replace(npu, bus={**npu.bus, technology: BusConstants(efficiency=at[0], half_message_MB=at[1])})


def _written(key: str, npu: Accelerator) -> dict[str, float]:
    """Return the constants at a key as a file writes them, with four digits."""
    constants = {**npu.bus, **npu.gemm, "decode": npu.decode, "attention": npu.attention}[key.partition(".")[2]]
    found = {} if constants is None else constants.model_dump(exclude_defaults=True)
    return {one: float(f"{value:.4g}") for one, value in found.items()}
