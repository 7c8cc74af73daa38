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
    Accelerator,
    AttentionConstants,
    DecodeConstants,
    GemmConstants,
)
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.network.catalog.bus import BusConstants
from evo_libra.validation.kernels import (
    FEW,
    HEAD_WIDTH,
    LARGE,
    LEAST_MESSAGE,
    NPUS,
    attention_seconds,
    collective_seconds,
    product_seconds,
)

LEAST_ROWS = 10
"""Rows that a fit needs at least; it sees half of them."""

_SCALE = 0.1
"""Logarithmic error from which on a row counts by its size and no longer by its square (soft L1)."""

_MEGA = 1e6
_FAR = 0.5
"""Median error from which on a fit says nothing."""

_MEASURED = "h100-80gb"
"""Accelerator whose time of a product in a step, and rate of attention backwards, hold where a base has none."""

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

    A product takes the longer of its FLOP over the plateau and its bytes over the memory bandwidth, and a fixed time;
    attention and collectives are as in `evo_libra.validation.kernels`. Soft L1 of logarithmic errors is least.

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
            f"no table has {LEAST_ROWS} rows of large products (m, n and k from {LARGE}), of products with up to {FEW} "
            f"rows, of attention over {LARGE} tokens and more with heads of {HEAD_WIDTH}, or of collectives of "
            f"{LEAST_MESSAGE / _MEGA:g} MB among {NPUS}"
        )
    return found


def _parts(base: Accelerator, tables: Sequence[KernelTable]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows that each constant is fitted to; products with few rows first, whose bandwidth others take."""
    products = [row for table in tables if table.kind == PRODUCTS for row in table.rows]
    attention = [row for table in tables if table.kind == ATTENTION for row in table.rows]
    collectives = [row for table in tables if table.kind == COLLECTIVES for row in table.rows]
    wide = [row for row in products if min(row["n"], row["k"]) >= LARGE]
    found = {"kernels.decode": [row for row in wide if row["m"] <= FEW and row["precision"] == "bf16"]}
    for precision in ("bf16", "fp8", "fp4"):
        mine = [row for row in wide if row["m"] >= LARGE and row["precision"] == precision]
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
    start, upper, changed, seconds = _model(key)
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64)
               for name, value in rows[0].items() if isinstance(value, int | float)}  # fmt: skip

    def errors(which: BoolArray, at: FloatArray) -> FloatArray:
        mine = {name: values[which] for name, values in columns.items()}
        return np.asarray(np.log(seconds(changed(npu, at.tolist()), mine) / mine["seconds"]))

    def fit(which: BoolArray) -> FloatArray:
        from scipy.optimize import least_squares  # noqa: PLC0415 - takes a third of a second

        found = least_squares(
            lambda at: errors(which, at), start, loss="soft_l1", f_scale=_SCALE, x_scale=start,
            bounds=([1e-6] * len(start), upper),
        )  # fmt: skip
        return np.asarray(found.x)

    every = np.ones(len(rows), dtype=np.bool_)
    # In an order of their own, so that neither half has the small ones or one kind alone.
    seen = np.zeros(len(rows), dtype=np.bool_)
    seen[np.random.default_rng(0).permutation(len(rows))[::2]] = True
    unseen = np.abs(np.expm1(errors(~seen, fit(seen))))
    best = fit(every).tolist()
    figures = (float(np.quantile(unseen, share)) for share in (0.5, 0.9, 1.0))
    after = changed(npu, best)
    return KernelFit(key, _written(key, after), len(rows), *figures), after


def _model(key: str) -> tuple[list[float], list[float], Changed, Seconds]:
    """Return where a fit begins, the largest constants, the accelerator with some, and the seconds of rows on it."""
    name = key.partition(".")[2]
    if key == "kernels.decode":
        return [0.8, 5.0], [1.0, 1e4], _with_decode, lambda one, rows: _products(one, rows, "bf16")
    if key == "kernels.attention":
        return [0.6, 1000.0], [1.0, 1e6], _with_attention, _attention
    if key.startswith("bus."):
        return (
            [0.8, 20.0], [8.0, 1e5], lambda one, at: _with_bus(one, name, at),
            lambda one, rows: collective_seconds(one, name, 2.0 * rows["message_size"]),
        )  # fmt: skip
    start = [0.7, 5.0] if name == "bf16" else [0.7, 5.0, 10.0]
    upper = [1.0, 1e4, 1e3][: len(start)]
    return start, upper, lambda one, at: _with_products(one, name, at), lambda one, rows: _products(one, rows, name)


def _products(npu: Accelerator, rows: Mapping[str, FloatArray], precision: str) -> FloatArray:
    return product_seconds(npu, precision, rows["m"], rows["n"], rows["k"])


def _attention(npu: Accelerator, rows: Mapping[str, FloatArray]) -> FloatArray:
    return attention_seconds(npu, rows["batch_size"], rows["isl"], rows["num_heads"], rows["head_dim"])


def _with_decode(npu: Accelerator, at: Sequence[float]) -> Accelerator:
    gemm = {"bf16": npu.gemm.get("bf16", _usual().gemm["bf16"])}
    return replace(npu, decode=DecodeConstants(bandwidth=at[0], fixed_us=at[1]), gemm={**npu.gemm, **gemm})


def _with_products(npu: Accelerator, precision: str, at: Sequence[float]) -> Accelerator:
    known = npu.gemm.get(precision)
    fixed = (known or _usual().gemm["bf16"]).fixed_us
    quantised = {"quantisation": at[2]} if len(at) > 2 else {}  # noqa: PLR2004 - see `_model`
    constants = GemmConstants(plateau=at[0], fixed_us=fixed, isolated_us=at[1], **quantised)
    return replace(npu, gemm={**npu.gemm, precision: constants})


def _with_attention(npu: Accelerator, at: Sequence[float]) -> Accelerator:
    backward = (npu.attention or _usual().attention_constants()).backward
    gemm = {"bf16": npu.gemm.get("bf16", _usual().gemm["bf16"])}
    attention = AttentionConstants(plateau=at[0], half_tokens=at[1], backward=backward)
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
