"""Generators: hyper-parameters to workloads."""

from __future__ import annotations

from evo_libra.workload.workload import Phase

NANOSECOND = 1e-9

BYTES_PER_ELEMENT = 2
"""Half-precision weights, gradients and activations, as in LIBRA's workloads."""


def matrix_product(rows: int, inner: int, columns: int, rate: float) -> Phase:
    """Return the compute of a matrix product (2 FLOP per multiply-add).

    Times are whole nanoseconds, as in the text format of ASTRA-sim 1.0, so that a generated workload and one that went
    through a file are the same.

    Parameters
    ----------
    rows, inner, columns : the shape.
    rate : FLOP/s of one NPU.
    """
    return floating_point(2.0 * rows * inner * columns, rate)


def floating_point(operations: float, rate: float) -> Phase:
    """Return the compute of a number of floating-point operations, in whole nanoseconds."""
    return Phase(round(operations / rate / NANOSECOND) * NANOSECOND)
