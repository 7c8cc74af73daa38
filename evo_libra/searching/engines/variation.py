"""Variation of mixed genes, for a whole population at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns
from evo_libra.problem.protocol import Genome

HashArray = NDArray[np.uint64]

_HALF_WORD = np.uint64(32)


def row_hash(genes: FloatArray) -> HashArray:
    """Return (n,) 64-bit hashes of (g, n) genes; 0 and -0 are the same gene."""
    bits = (genes + 0.0).view(np.uint64)
    # The low bits of whole numbers are zeros: the high ones are copied there, or a product would lose what they say.
    bits ^= bits >> _HALF_WORD
    bits *= _factors(len(genes))
    return np.asarray(bits.sum(axis=0, dtype=np.uint64))


@lru_cache
def _factors(count: int) -> HashArray:
    random = np.random.Generator(np.random.PCG64(0))
    return random.integers(0, 2**64, (count, 1), dtype=np.uint64) | np.uint64(1)


def first_of_kind(hashes: HashArray, known: HashArray) -> BoolArray:
    """Return (n,) whether a hash is not among (k,) known ones and none before it is the same.

    Of thousands of hashes the 50 highest bits count: a design is mistaken for another once in 2^50 pairs.
    """
    every = np.concatenate([known, hashes])
    # The place goes into the low bits: one sort of whole numbers brings equals together, the first one first.
    places = np.uint64((1 << len(every).bit_length()) - 1)
    every &= ~places
    every |= np.arange(len(every), dtype=np.uint64)
    every.sort()
    again = every[1:][(every[1:] ^ every[:-1]) <= places] & places
    found = np.ones(len(every), dtype=np.bool_)
    found[again.astype(np.int64)] = False
    return found[len(known) :]


def is_new(genes: FloatArray, known: FloatArray) -> BoolArray:
    """Return (n,) whether a column of (g, n) genes is the first of its kind and not among the (g, k) known ones."""
    return first_of_kind(row_hash(genes), row_hash(known))


_HALF = 0.5
_NEAR = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])


@dataclass(frozen=True)
class Operators:
    """Settings of variation.

    Attributes
    ----------
    crossover : share of the pairs of parents that are crossed.
    whole_segments : share of those that swap whole segments of the genome and nothing less, where it has any.
    crossover_eta : of simulated binary crossover (Deb and Agrawal 1995); a larger one keeps children nearer.
    exchange : probability with which the children of a pair swap a gene that was crossed.
    mutation : expected number of genes of a child that mutate, of those that can.
    mutation_eta : of polynomial mutation (Deb and Goyal 1996).
    polynomial : share of the mutations of real genes that are polynomial.
    decades : the others are steps whose size is uniform in its logarithm over some decades of the range: logarithms
        of bandwidths need bold steps and fine ones.
    near : share of the mutations of categorical genes that go to a near number; the others go anywhere.
    """

    crossover: float = 0.9
    whole_segments: float = 0.1
    crossover_eta: float = 15.0
    exchange: float = 0.5
    mutation: float = 1.0
    mutation_eta: float = 20.0
    polynomial: float = 0.5
    decades: float = 4.0
    near: float = 0.5


def offspring(
    genome: Genome,
    first: FloatArray,
    second: FloatArray,
    random: np.random.Generator,
    operators: Operators = Operators(),
) -> FloatArray:
    """Return two children of each pair of parents.

    Real genes and ordered whole numbers, which are rounded, undergo simulated binary crossover and mutation by a
    polynomial or by a step uniform in its logarithm; categorical genes uniform crossover and mutation to a near number
    or to any. Parents are (g, n) legal genes each, and children (g, 2 n).
    """
    children = np.ascontiguousarray(np.concatenate([first, second], axis=1))
    vary(genome, children, random, operators)
    return children


def vary(genome: Genome, children: FloatArray, random: np.random.Generator, operators: Operators) -> None:
    """Turn (g, 2 n) C-contiguous copies of parents into children in place; parents of a pair are n columns apart."""
    _cross(genome, children, random, operators)
    _mutate(genome, children, random, operators)


def _cross(genome: Genome, children: FloatArray, random: np.random.Generator, operators: Operators) -> None:
    """Cross pairs, in place; only the genes that are crossed cost anything."""
    genes, count = len(genome), children.shape[1] // 2
    chance = random.random(count)
    crossed = _coins(genes, count, random)
    crossed &= chance < operators.crossover
    if genome.segments and operators.whole_segments > 0:
        pairs = np.flatnonzero(chance < operators.crossover * operators.whole_segments)
        _swap_segments(genome, children, pairs, random)
        crossed[:, pairs] = False
    (swapped, ordered, real), flat = genome.free, children.reshape(-1)
    whole, moved = _rows(swapped), np.concatenate([ordered, real])
    # Genes lie one row after the other, the first children of the pairs in the first half of a row.
    shift = children[whole, count:] - children[whole, :count]
    shift *= crossed[whole]
    # Categories are swapped, without rounding, and numbers move towards each other, maybe past each other.
    children[whole, :count] += shift
    children[whole, count:] -= shift
    at = np.flatnonzero(crossed[_rows(moved)])
    row = at // count
    gene = moved[row]
    one = at + (2 * gene - row) * count
    two = one + count
    first, second = flat[one], flat[two]
    shift = second - first
    shift *= _sbx_parts(len(at), random, operators)
    # Ordered genes come first, so that theirs are the first children.
    last = int(np.searchsorted(row, len(ordered)))
    np.rint(shift[:last], out=shift[:last])
    lower, upper = genome.lower[gene], genome.upper[gene]
    flat[one] = _within(first + shift, lower, upper)
    flat[two] = _within(second - shift, lower, upper)


def _rows(which: IntArray) -> slice | IntArray:
    """Return rows as a slice, which costs no copy, where they follow each other."""
    together = len(which) and which[-1] - which[0] == len(which) - 1
    return slice(int(which[0]), int(which[-1]) + 1) if together else which


def _within(values: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the values, in place, within bounds."""
    return np.minimum(np.maximum(values, lower, out=values), upper, out=values)


def _swap_segments(genome: Genome, children: FloatArray, pairs: IntArray, random: np.random.Generator) -> None:
    segments = np.array(genome.segments)
    swapped = _coins(int(segments.max()) + 1, len(pairs), random)[segments]
    partners = pairs + children.shape[1] // 2
    one, two = columns(children, pairs), columns(children, partners)
    children[:, pairs], children[:, partners] = np.where(swapped, two, one), np.where(swapped, one, two)


def _coins(genes: int, count: int, random: np.random.Generator) -> BoolArray:
    """Return (g, n) tosses of a coin."""
    raw = np.asarray(random.bit_generator.random_raw(-(-genes * count // 8)), dtype=np.uint64)
    return (raw.view(np.uint8)[: genes * count] & np.uint8(1)).view(np.bool_).reshape(genes, count)


def _sbx_parts(count: int, random: np.random.Generator, operators: Operators) -> FloatArray:
    """Return how far parents move towards each other in simulated binary crossover, in units of their distance."""
    # The logarithm of the spread that their distance is multiplied by is exponential, to either side.
    spread = random.standard_exponential(count) / (operators.crossover_eta + 1)
    signs = random.random(count)
    signs -= _HALF
    spread = np.exp(np.copysign(spread, signs))
    if operators.exchange > 0:
        # The rest of a number that has decided is uniform again: of swapped genes the spread is negative.
        spread = np.copysign(spread, np.abs(signs) - _HALF * operators.exchange)
    return _HALF - _HALF * spread


def _hits(random: np.random.Generator, count: int, probability: float) -> IntArray:
    """Return which of `count` trials succeed, in random order, some of them more than once."""
    if probability >= 1.0:
        return random.permutation(count)
    # Of trials that are hit a Poisson number of times each, independent of each other, these were hit at all.
    times = random.poisson(-count * np.log1p(-probability))
    return np.asarray((random.random(times) * count).astype(np.int64))


def _mutate(genome: Genome, children: FloatArray, random: np.random.Generator, operators: Operators) -> None:
    """Mutate genes, in place; only those that are hit cost anything, and one that is hit twice mutates once."""
    count, genes = children.shape[1], children.reshape(-1)
    probability = operators.mutation / max(sum(map(len, genome.free)), 1)
    for rows, change in zip(genome.free, (_other_whole, _stepped, _moved), strict=True):
        if not len(rows):
            continue
        at = _hits(random, len(rows) * count, probability)
        row = at // count
        gene = rows[row]
        at += (gene - row) * count
        lower, upper = genome.lower[gene], genome.upper[gene]
        genes[at] = _within(change(genes[at], lower, upper - lower, random, operators), lower, upper)


def _other_whole(
    values: FloatArray, lower: FloatArray, span: FloatArray, random: np.random.Generator, operators: Operators
) -> FloatArray:
    """Return other categories, near or anywhere; the same random number tells how far and which way."""
    u, v = random.random((2, len(values)))
    near = _NEAR[(v * len(_NEAR)).astype(np.int64)]
    return np.asarray(np.where(u < operators.near, values + near, np.floor(v * (span + 1)) + lower))


def _stepped(
    values: FloatArray, lower: FloatArray, span: FloatArray, random: np.random.Generator, operators: Operators
) -> FloatArray:
    """Return other whole numbers, the next ones beyond where real ones would go; of a large range, near ones, too."""
    decades = np.maximum(operators.decades, np.log10(span))
    step = _step(values, lower, span=span, decades=decades, random=random, operators=operators) * span
    return values + np.copysign(np.ceil(np.abs(step)), step)


def _moved(
    values: FloatArray, lower: FloatArray, span: FloatArray, random: np.random.Generator, operators: Operators
) -> FloatArray:
    """Return real genes after a step."""
    return (
        values + _step(values, lower, span=span, decades=operators.decades, random=random, operators=operators) * span
    )


def _step(
    values: FloatArray,
    lower: FloatArray,
    span: FloatArray,
    decades: float | FloatArray,
    random: np.random.Generator,
    operators: Operators,
) -> FloatArray:
    """Return the steps, in units of the range, of genes in random order: the first ones are polynomial."""
    smooth = int(random.binomial(len(values), operators.polynomial))
    u, v = random.random((2, len(values)))
    step = np.exp(v * (-np.log(10.0) * decades)) * (2.0 * u - 1.0)
    step[:smooth] = _polynomial(((values - lower) / span)[:smooth], u[:smooth], operators.mutation_eta)
    return np.asarray(step)


def _polynomial(below: FloatArray, u: FloatArray, eta: float) -> FloatArray:
    """Return the steps of polynomial mutation in units of the range, `below` above its start; they stay within it."""
    # A step down from a value is a step up from the value that is as far from the other bound.
    side = u - _HALF
    away = np.where(side <= 0, below, 1.0 - below)
    part = 1.0 - 2.0 * np.abs(side)
    down = (part + (1.0 - part) * (1.0 - away) ** (eta + 1)) ** (1 / (eta + 1)) - 1.0
    return np.asarray(np.copysign(down, side))
