"""Measured kernels: matrix products, fused attention and NCCL's collectives (ai-dynamo/aiconfigurator)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.collective import Collective
from evo_libra.network.catalog.accelerator import HEAD_WIDTH, Accelerator
from evo_libra.network.catalog.accelerators import accelerator
from evo_libra.validation.source import Basis, PublishedRow, PublishedSource, published
from evo_libra.workload.models.kernels import Kernels

LARGE = 1024
"""Rows, columns and inner size from which a product is a large one."""

FEW = 64
"""Rows up to which a product is one of decoding."""

LEAST_MESSAGE = 30e6
"""Bytes from which collectives are compared; smaller ones have latencies that no training step shows."""

LEAST_SMALL = 64e3
"""Bytes from which collectives among any NPUs of a server are compared, those of latency included."""

_NCCL = {"alltoall": "all-to-all"}
"""Collectives that NCCL's tables call otherwise."""

LINKS = {"a100-80gb": "nvlink3", "h100-80gb": "nvlink4", "b200": "nvlink5", "rtx-pro-6000": "pcie5"}

Array = FloatArray | float

NPUS = 8
"""NPUs of a server, among which collectives are compared."""

_MICRO = 1e-6


def _sets(kernel: str, npu: str, precision: str | None = None) -> Iterator[Mapping[str, Any]]:
    for measured in published("kernel_measurements.json")["sets"]:
        other = kernel == "gemm" and measured["software"].startswith("VLLM")
        ours = measured["kernel"] == kernel and measured["npu"] == npu and not other
        if ours and (precision is None or measured["precision"] == precision):
            yield measured


def _rows(measured: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [dict(zip(measured["columns"], row, strict=True)) for row in measured["rows"]]


def _samples(kernel: str, npu: str, precision: str | None = None) -> list[Mapping[str, Any]]:
    return [row for measured in _sets(kernel, npu, precision) for row in _rows(measured)]


def unquantised(npu: Accelerator, precision: str) -> Accelerator:
    """Return an accelerator whose products have their input in the precision, and need no quantisation."""
    constants = npu.gemm_constants(precision).model_copy(update={"quantisation": 0.0})
    return replace(npu, gemm={**npu.gemm, precision: constants})


def product_seconds(npu: Accelerator, precision: str, m: Array, n: Array, k: Array) -> FloatArray:
    """Return the seconds of products that are measured alone: as in a step, but for their rates and fixed time.

    Measured alone, a product whose input is quantised has a kernel for that, which serving software fuses with the one
    before. Its time beyond the bytes is most of `isolated`, so that products with few rows have that, too.
    """
    constants = npu.gemm_constants(precision)
    alone = constants.fixed if constants.isolated is None else constants.isolated
    found = Kernels(npu, 1.0, _reached(npu), 2).product(m, n, k, precision).forward - constants.fixed
    if constants.of_any_shape or npu.decode is None:
        return found + alone
    few = npu.decode.fixed + (alone if constants.quantisation else 0.0)
    return np.asarray(found + np.where(np.asarray(m) <= FEW, few, alone))


def decode_seconds(npu: Accelerator, m: Array, n: Array, k: Array) -> FloatArray:
    """Return the seconds of bf16 products with few rows as serving has them: the longer of FLOP and bytes."""
    kernels = Kernels(npu, 1.0, _reached(npu), 2)
    compute = np.asarray(2.0 * m * n * k / kernels.rate("bf16"))
    return np.asarray(np.maximum(compute, kernels.moved(2.0 * (m * k + k * n + m * n))) + npu.decode_constants().fixed)


def _reached(npu: Accelerator) -> float:
    """Return the share of the memory bandwidth that products reach without a share of their own."""
    return 1.0 if npu.decode is None else npu.decode.bandwidth


def attention_seconds(npu: Accelerator, batch: Array, tokens: Array, heads: Array, width: float) -> FloatArray:
    """Return the seconds of fused attention that is measured alone, on the FLOP of its causal half."""
    work = 2.0 * batch * tokens**2 * heads * width
    constants = npu.attention_constants()
    alone = npu.gemm_constants("bf16").fixed if constants.isolated is None else constants.isolated
    return constants.forward(work, npu.peak_rate("bf16"), np.asarray(tokens, dtype=np.float64), width) + alone


def collective_seconds(npu: Accelerator, technology: str, size: Array) -> FloatArray:
    """Return the seconds of reduce-scatters of some bytes among the 8 NPUs of a server."""
    bus = npu.bus_constants(technology)
    return bus.seconds(Collective.REDUCE_SCATTER, size, float(NPUS), npu.wire_rate(technology))


Chosen = Callable[[int, int, int], bool]


def _large(m: int, n: int, k: int) -> bool:
    return min(m, n, k) >= LARGE


def _few(m: int, n: int, k: int) -> bool:
    return 0 < m <= FEW and min(n, k) >= LARGE


def _products(name: str, precision: str, chosen: Chosen) -> Iterator[PublishedRow]:
    for measured in _sets("gemm", name, precision):
        npu = accelerator(name) if measured.get("quantised", True) else unquantised(accelerator(name), precision)
        yield from _compared(measured, chosen, partial(product_seconds, npu, precision))


def _any_shape(name: str, precision: str) -> Iterator[PublishedRow]:
    """Yield the rows of random samples of whole tables; other sets are samples of large products and of few rows."""
    whole = [one for one in _sets("gemm", name, precision) if not one.get("held_out")]
    npu = accelerator(name)
    for measured in (*whole, *_sets("gemm-any", name, precision)):
        yield from _compared(measured, lambda m, n, k: min(m, n, k) > 0, partial(product_seconds, npu, precision))


def _few_in_fp8(name: str) -> Iterator[PublishedRow]:
    """Yield rows of products of few rows: of samples of these, or those of random samples of whole tables."""
    npu, drawn = accelerator(name), _sets("gemm-any", name, "fp8")
    yield from _products(name, "fp8", _few)
    for measured in drawn:
        yield from _compared(measured, _few, partial(product_seconds, npu, "fp8"))


def _decode_products(name: str) -> Iterator[PublishedRow]:
    for measured in _sets("gemm", name, "bf16"):
        yield from _compared(measured, _few, partial(decode_seconds, accelerator(name)))


def _compared(
    measured: Mapping[str, Any], chosen: Chosen, seconds: Callable[[float, float, float], FloatArray]
) -> Iterator[PublishedRow]:
    for at in _rows(measured):
        m, n, k = at["m"], at["n"], at["k"]
        if chosen(m, n, k):
            ours = float(seconds(float(m), float(n), float(k)))
            yield PublishedRow(f"{m} x {k} by {k} x {n}", at["us"], ours / _MICRO, "us")


def _attention(name: str, width: int = HEAD_WIDTH) -> Iterator[PublishedRow]:
    npu = accelerator(name)
    for at in _samples("attention-prefill", name):
        length = at["tokens"]
        if length < LARGE or at["head_dim"] != width:
            continue
        ours = float(attention_seconds(npu, at["batch"], length, at["heads"], at["head_dim"]))
        label = f"{at['batch']} x {length} tokens, {at['heads']}:{at['kv_heads']} heads"
        yield PublishedRow(label, at["us"], ours / _MICRO, "us")


def _collectives(name: str) -> Iterator[PublishedRow]:
    npu = accelerator(name)
    for at in _samples("nccl", name):
        size = 2.0 * at["elements"]
        # All-reduces of newer accelerators run in the switch.
        if at["npus"] != NPUS or size < LEAST_MESSAGE or at["collective"] == "all_reduce":
            continue
        ours = float(collective_seconds(npu, LINKS[name], size))
        yield PublishedRow(f"{at['collective']} of {size / 1e6:.0f} MB", at["us"], ours / _MICRO, "us")


def _unseen_collectives(name: str) -> Iterator[PublishedRow]:
    """Yield every other measured collective of at least `LEAST_SMALL` bytes; constants were fitted to the others."""
    npu, link = accelerator(name), LINKS[name]
    for at in _samples("nccl", name)[1::2]:
        size = 2.0 * at["elements"]
        if size < LEAST_SMALL:
            continue
        kind = Collective(_NCCL.get(at["collective"], at["collective"].replace("_", "-")))
        ours = float(npu.bus_constants(link).seconds(kind, size, float(at["npus"]), npu.wire_rate(link)))
        yield PublishedRow(f"{kind.value} of {size / 1e6:.3g} MB among {at['npus']}", at["us"], ours / _MICRO, "us")


def _source(
    kind: str, npu: str, title: str, rows: Callable[[], Iterable[PublishedRow]], *, note: str = "",
    basis: Basis = Basis.UNSEEN, group: str = "kernels",
) -> PublishedSource:  # fmt: skip
    return PublishedSource(f"{kind}-{npu}", group, title, rows, note=note, basis=basis)


_MEASURED = "kernels of TensorRT-LLM and vLLM measured by ai-dynamo/aiconfigurator"
_TUNED = "kernels of AITER with the times that ROCm/aiter lists"
_AITER = ("mi300x", "mi355x")
_SEEN = ("a100-80gb", "h100-80gb")
_PRECISIONS = {
    "a100-80gb": ("bf16",), "h100-80gb": ("bf16", "fp8"),
    **dict.fromkeys(("b200", "gb200", "b300", "gb300"), ("bf16", "fp8", "mxfp8", "fp4")),
    "l40s-48gb": ("bf16", "fp8"), "rtx-pro-6000": ("bf16", "fp8", "fp4"),
    "mi300x": ("fp8",), "mi355x": ("bf16", "fp8", "mxfp4"),
}  # fmt: skip
"""Chips whose kernels are compared, and the precisions of their products."""
_OF_ANY_SHAPE = ("a100-80gb", "h100-80gb", "b200", "gb200", "b300", "gb300")
"""Chips whose products of any shape are compared; caches of the other two of tables keep operands of small ones."""

_WALKED = ("l40s-48gb", "rtx-pro-6000")
"""Chips whose attention has a time of each token."""


def _who(npu: str) -> str:
    return _TUNED if npu in _AITER else _MEASURED


def _basis(npu: str) -> Basis:
    return Basis.FITTED if npu in _SEEN else Basis.UNSEEN


KERNELS = tuple(
    _source(f"products-{precision}", npu, f"{npu}, {precision}: products of 1,024 and more rows, {_who(npu)}",
            partial(_products, npu, precision, _large))
    for npu, precisions in _PRECISIONS.items() for precision in precisions
) + tuple(
    _source(f"products-any-{precision}", npu, f"{npu}, {precision}: products of any shape, {_MEASURED}",
            partial(_any_shape, npu, precision),
            note="drawn at random from the whole table; the form was chosen with such rows in sight")
    for npu in _OF_ANY_SHAPE for precision in _PRECISIONS[npu]
) + tuple(
    _source("decode-products", npu, f"{npu}: products of up to 64 rows, {_who(npu)}",
            partial(_decode_products, npu), basis=_basis(npu))
    for npu, precisions in _PRECISIONS.items() if "bf16" in precisions
) + tuple(
    _source("decode-products-fp8", npu, f"{npu}, fp8: products of up to 64 rows, {_MEASURED}",
            partial(_few_in_fp8, npu), group="fp8 decode",
            note="with the kernel that quantises their input; the form was chosen with such rows in sight")
    for npu in _OF_ANY_SHAPE if "fp8" in _PRECISIONS[npu]
) + tuple(
    _source("attention", npu, f"{npu}: fused attention of 1,024 and more tokens, {_who(npu)}",
            partial(_attention, npu), basis=_basis(npu),
            note="the form was chosen with these rows in sight" if npu in _WALKED else "")
    for npu in _PRECISIONS
) + (
    _source("attention-64", "h100-80gb",
            f"h100-80gb: fused attention of 1,024 and more tokens with heads of 64, {_MEASURED}",
            partial(_attention, "h100-80gb", 64)),
) + tuple(
    _source("nccl", npu, f"{npu}: collectives of 8 in a server, NCCL measured by ai-dynamo/aiconfigurator",
            partial(_collectives, npu), note="from 30 MB on", basis=Basis.FITTED)
    for npu in LINKS
) + tuple(
    _source("collectives", npu, f"{npu}: collectives of 64 kB to 0.5 GB among 2, 4 and 8 in a server, NCCL measured by "
            "ai-dynamo/aiconfigurator", partial(_unseen_collectives, npu), note="every other row",
            group="small messages")
    for npu in LINKS if npu != "rtx-pro-6000"
)  # fmt: skip
