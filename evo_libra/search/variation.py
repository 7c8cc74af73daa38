"""Variation of mixed genes, for a whole population at once."""

from __future__ import annotations

import numpy as np

from evo_libra.model.arrays import BoolArray, FloatArray
from evo_libra.problem.genome import Genome

CROSSOVER_PROBABILITY = 0.9
CROSSOVER_ETA = 8.0
MUTATION_DECADES = 4.0
_NEAR_SHARE = 0.5
_NEAR_REACH = 3


def offspring(genome: Genome, first: FloatArray, second: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return two children of each pair of parents.

    Real genes: simulated binary crossover (Deb and Agrawal 1995); mutation by a step whose size is uniform in its
    logarithm over `MUTATION_DECADES` decades of the range: logarithms of bandwidths need bold steps and fine ones.
    Categorical genes: uniform crossover; mutation goes to a near index or to any, half of the time each, as
    neighbours in the order of the structures are alike. Every gene mutates with probability one over their number.

    Parameters
    ----------
    genome : bounds and kinds.
    first, second : (g, n) parents.
    random : the generator.

    Returns
    -------
    (g, 2 n) legal genes.
    """
    crossed = _cross(genome, first, second, random)
    return genome.repair(_mutate(genome, crossed, random))


def _cross(genome: Genome, first: FloatArray, second: FloatArray, random: np.random.Generator) -> FloatArray:
    shape = first.shape
    pair = random.random(shape[1]) < CROSSOVER_PROBABILITY
    gene = (random.random(shape) < 0.5) & pair  # noqa: PLR2004 - half of the genes
    u = random.random(shape)
    beta = np.where(u <= 0.5, 2 * u, 0.5 / (1 - u)) ** (1 / (CROSSOVER_ETA + 1))  # noqa: PLR2004 - SBX's two branches
    middle, half = 0.5 * (first + second), 0.5 * beta * (second - first)
    categorical = genome.categorical[:, None]
    one = np.where(gene, np.where(categorical, second, middle - half), first)
    two = np.where(gene, np.where(categorical, first, middle + half), second)
    return np.concatenate([one, two], axis=1)


def _mutate(genome: Genome, genes: FloatArray, random: np.random.Generator) -> FloatArray:
    lower, upper = genome.lower[:, None], genome.upper[:, None]
    chosen = random.random(genes.shape) < 1 / len(genome)
    u = random.random(genes.shape)
    step = 10.0 ** (-MUTATION_DECADES * random.random(genes.shape)) * (2.0 * u - 1.0)
    real = genes + step * (upper - lower)
    near = genes + np.where(random.random(genes.shape) < 0.5, -1, 1) * random.integers(1, _NEAR_REACH + 1, genes.shape)  # noqa: PLR2004
    anywhere = np.floor(u * (upper - lower + 1)) + lower
    whole = np.where(random.random(genes.shape) < _NEAR_SHARE, near, anywhere)
    return np.where(chosen, np.where(genome.categorical[:, None], whole, real), genes)


def is_new(genes: FloatArray, known: FloatArray) -> BoolArray:
    """Return (n,) whether a column of (g, n) genes is the first of its kind and not among the (g, k) known ones."""
    rows = np.ascontiguousarray(np.concatenate([known, genes], axis=1).T)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first = np.unique(keys, return_index=True)
    new = np.zeros(len(keys), dtype=np.bool_)
    new[first] = True
    return new[known.shape[1] :]
