"""Small positive definite systems, one a design, solved for a whole population with the design axis last."""

from __future__ import annotations

import numpy as np

from evo_libra.arrays import FloatArray

_SMALLEST = 1e-300
_EPSILON = 1e-16


def cholesky(matrix: FloatArray) -> FloatArray:
    """Factorise (k, k, n) positive definite matrices in place; the lower triangles hold the factors.

    A pivot that rounding has eaten up is replaced by the least that its diagonal entry can tell from 0.
    """
    size = len(matrix)
    every = np.arange(size)
    least = np.maximum(matrix[every, every] * _EPSILON, _SMALLEST)
    for j in range(size):
        pivot = matrix[j, j]
        np.sqrt(np.maximum(pivot, least[j], out=pivot), out=pivot)
        column = matrix[j + 1 :, j]
        column /= pivot
        for i in range(j + 1, size):
            matrix[i:, i] -= column[i - j - 1 :] * column[i - j - 1]
    return matrix


def substitute(factor: FloatArray, right: FloatArray) -> FloatArray:
    """Return the (k, n) solutions for factors of `cholesky` and (k, n) right sides."""
    x = right.copy()
    for j in range(len(x)):
        x[j] /= factor[j, j]
        x[j + 1 :] -= factor[j + 1 :, j] * x[j]
    for j in reversed(range(len(x))):
        x[j] /= factor[j, j]
        x[:j] -= factor[j, :j] * x[j]
    return x


class DiagonalHead:
    """A system ``[[diag(head), -cross], [-cross^T, tail]]``, solved through the Schur complement of its tail."""

    def __init__(self, head: FloatArray, cross: FloatArray, tail: FloatArray, fixed: FloatArray | None) -> None:
        """Factorise: head (g, n), cross (g, d, n), tail (d, d, n); `fixed` (d, n) says which rows stay 0."""
        if fixed is not None:
            cross = cross * (1.0 - fixed)
        self.head, self.scaled = head, cross / head[:, None]
        tail -= np.einsum("gin,gjn->ijn", cross, self.scaled)
        if fixed is not None:
            hold(tail, fixed)
        self.factor = cholesky(tail)

    def solve(self, head: FloatArray, tail: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both parts of the solution."""
        b = substitute(self.factor, tail + (self.scaled * head[:, None]).sum(axis=0))
        return head / self.head + (self.scaled * b).sum(axis=1), b


class DenseHead:
    """The same with a dense (h, h, n) head."""

    def __init__(self, head: FloatArray, cross: FloatArray, tail: FloatArray, fixed: FloatArray | None) -> None:
        size, depth = len(head), len(tail)
        matrix = np.empty((size + depth, size + depth, head.shape[-1]))
        matrix[:size, :size], matrix[size:, size:] = head, tail
        matrix[:size, size:], matrix[size:, :size] = -cross, -cross.transpose(1, 0, 2)
        if fixed is not None:
            hold(matrix, np.concatenate([np.zeros((size, head.shape[-1])), fixed]))
        self.factor = cholesky(matrix)

    def solve(self, head: FloatArray, tail: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return both parts of the solution."""
        x = substitute(self.factor, np.concatenate([head, tail]))
        return x[: len(head)], x[len(head) :]


def hold(matrix: FloatArray, fixed: FloatArray) -> None:
    """Make the named rows and columns of (k, k, n) matrices those of the identity."""
    free = 1.0 - fixed
    matrix *= free * free[:, None]
    every = np.arange(len(matrix))
    matrix[every, every] += fixed
