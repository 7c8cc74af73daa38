"""Precisions of a training step, and what accelerators have not for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evo_libra.files.mistakes import KeyPath
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.workload.training.training_setup import products_in


def precisions_on(npu: Accelerator, precisions: Sequence[str]) -> tuple[str, ...]:
    """Return those of some precisions whose products an accelerator has kernel constants for."""
    return tuple(one for one in precisions if products_in(one) in npu.gemm)


def kernel_mistakes(npus: Sequence[Accelerator], precisions: Sequence[str]) -> Iterator[tuple[KeyPath, str]]:
    """Yield what accelerators do not have for a training step: each runs those precisions of the file that it has."""
    key = "training", "precision"
    products = {npu.product: npu for npu in npus}
    for name, npu in products.items():
        if not precisions_on(npu, precisions):
            known = ", ".join(npu.gemm) or "none"
            yield key, f"found {', '.join(precisions)}; {name} has kernel constants for {known}"
        elif npu.attention is None:
            yield key, f"{name} has no peak rate in bf16, which attention needs"
    for one in precisions:
        if len(precisions) > 1 and not any(precisions_on(npu, (one,)) for npu in npus):
            yield key, f"found {one}, which none of {', '.join(products)} has kernel constants for"


def head_mistakes(npus: Sequence[Accelerator], head: str) -> Iterator[tuple[KeyPath, str]]:
    """Yield which accelerators have no kernel constants for the output head's product."""
    for npu in npus:
        if not precisions_on(npu, (head,)):
            known = ", ".join(npu.gemm)
            yield ("training", "head_precision"), f"found {head}; {npu.product} has kernel constants for {known}"
