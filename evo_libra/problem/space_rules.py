"""Rules of the space of a problem file that a network may break: what `evaluate` counts, and what people read of it.

Each rule says where it is broken, as a (d, n) array, and why, as a sentence about one dimension of one design. Counts
and sentences are of the same rules, so that a design without violation is one that the search can find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evo_libra.arrays import BoolArray, IntArray, Population, cases
from evo_libra.network.bill import inner_npus
from evo_libra.network.blocks.registry import BLOCK_NAMES
from evo_libra.network.catalog.technologies import again

if TYPE_CHECKING:
    from evo_libra.problem.problem import Problem


@dataclass(frozen=True)
class Rule:
    """A rule of the space.

    Attributes
    ----------
    broken : (d, n) where designs break it, from the problem and the designs.
    sentence : why the first design breaks it in one dimension.
    of_combinations : whether it is of sizes and technologies alone.
    """

    broken: Callable[[Problem, Population], BoolArray]
    sentence: Callable[[Problem, Population, int], str]
    of_combinations: bool = False


def unbuildable_dimensions(problem: Problem, designs: Population, structure: IntArray) -> BoolArray:
    """Return (d, n) which dimensions of designs break a rule of the space.

    The (n,) combinations of the designs are -1 where the space has them in no table: those of a table keep to all rules
    of combinations.
    """
    found, others = np.zeros(designs.npus.shape, dtype=np.bool_), np.flatnonzero(structure < 0)
    rest = designs.select(others) if len(others) else None
    for rule in rules_of(problem):
        if not rule.of_combinations:
            found |= rule.broken(problem, designs)
        elif rest is not None:
            found[:, others] |= rule.broken(problem, rest)
    return found


def broken_rules(problem: Problem, designs: Population) -> Iterator[str]:
    """Yield the rules that the first design breaks, one sentence for each dimension."""
    one = designs.select([0])
    named = np.zeros(one.npus.shape[0], dtype=np.bool_)
    for rule in rules_of(problem):
        broken = rule.broken(problem, one)[:, 0] & ~named
        yield from (rule.sentence(problem, one, d) for d in np.flatnonzero(broken).tolist())
        named |= broken


def rules_of(problem: Problem) -> tuple[Rule, ...]:
    """Return the rules of a problem: an order is one that its file allows, and a design keeps to all others."""
    return RULES if problem.book is None else (Rule(_no_order, _unknown_order),)


def _no_order(problem: Problem, designs: Population) -> BoolArray:
    assert problem.book is not None, "the problem is of orders"  # noqa: S101 - internal error
    innermost = np.arange(len(designs.npus))[:, None] == 0
    return np.asarray(innermost & (problem.book.place(designs) < 0))


def _unknown_order(problem: Problem, one: Population, d: int) -> str:  # noqa: ARG001 - an order is of all dimensions
    return "the design is none of the orders that the file allows"


def _too_large(problem: Problem, designs: Population) -> BoolArray:
    inside = inner_npus(designs.npus)
    places = [each.ravel() for each in (designs.technology, designs.npus, inside)]
    first, kind = cases(*places)
    some = zip(*(each[first].tolist() for each in places), strict=True)
    permitted = [n < 2 or problem.catalog.technologies[t].permits(n, i) for t, n, i in some]  # noqa: PLR2004
    return np.asarray(~np.array(permitted)[kind.reshape(designs.npus.shape)])


def _size(problem: Problem, one: Population, d: int) -> str:
    npus, inside = int(one.npus[d, 0]), int(one.npus[:d, 0].prod())
    reach = problem.catalog.technologies[int(one.technology[d, 0])].reach(inside)
    return f"dimension {d} has {npus} NPUs; {reach}"


def _repeats_domain(problem: Problem, designs: Population) -> BoolArray:
    return again(problem.catalog, designs)


def _domain(problem: Problem, one: Population, d: int) -> str:
    name = problem.catalog.technologies[int(one.technology[d, 0])].name
    return f"dimension {d} is a second one of {name}, and a domain of it is sold as one"


def _other_size(problem: Problem, designs: Population) -> BoolArray:
    pinned = np.array([rule.npus or 0 for rule in problem.counted.rules])[:, None]
    return np.asarray((pinned > 0) & (designs.npus != pinned))


def _pinned_size(problem: Problem, one: Population, d: int) -> str:
    return f"dimension {d} has {int(one.npus[d, 0])} NPUs; the file pins {problem.counted.rules[d].npus}"


def _not_offered(problem: Problem, designs: Population) -> BoolArray:
    offered = np.zeros((len(problem.choices), len(problem.catalog.technologies), len(BLOCK_NAMES)), dtype=np.bool_)
    for d, choice in enumerate(problem.choices):
        for t, blocks in enumerate(choice.blocks):
            offered[d, t, list(blocks)] = True
    rows = np.arange(len(offered))[:, None]
    return np.asarray((designs.npus > 1) & ~offered[rows, designs.technology, designs.block])


def _offer(problem: Problem, one: Population, d: int) -> str:
    technology, choices = problem.catalog.technologies[int(one.technology[d, 0])], problem.choices[d].blocks
    offered = (
        f"{BLOCK_NAMES[block]} of {known.name}"
        for known, blocks in zip(problem.catalog.technologies, choices, strict=True)
        for block in blocks
    )
    listed = ", ".join(dict.fromkeys(offered))
    return f"dimension {d} is a {BLOCK_NAMES[int(one.block[d, 0])]} of {technology.name}; the file offers {listed}"


def _out_of_order(problem: Problem, designs: Population) -> BoolArray:
    technology, found = designs.technology, np.zeros(designs.npus.shape, dtype=np.bool_)
    found[1:] = (designs.npus[1:] > 1) & ~problem.counted.follows[technology[1:], technology[:-1]]
    return found


def _order(problem: Problem, one: Population, d: int) -> str:
    name, before = (problem.catalog.technologies[int(t)].name for t in one.technology[[d, d - 1], 0])
    ranks = problem.counted.ranks
    if ranks[int(one.technology[d, 0])] == ranks[int(one.technology[d - 1, 0])]:
        return f"dimension {d} is a second one of {name}; the file allows one dimension for each technology"
    return f"dimension {d} of {name} lies outside of {before}; the catalogue has {name} further inside"


def _missing(problem: Problem, designs: Population) -> BoolArray:
    rows, used = np.arange(len(designs.npus))[:, None], (designs.npus > 1).sum(axis=0)
    return np.asarray((rows == used) & (used < problem.counted.min_dimensions))


def _depth(problem: Problem, one: Population, d: int) -> str:  # noqa: ARG001 - its dimensions are counted
    return f"the design has {d} dimension{'' if d == 1 else 's'}; the file asks for {problem.counted.min_dimensions}"


def _other_spares(problem: Problem, designs: Population) -> BoolArray:
    allowed = np.array(problem.sources.spares)
    spares = np.zeros(len(designs), dtype=np.int64) if designs.spares is None else designs.spares
    return np.asarray((np.arange(len(designs.npus))[:, None] == 0) & ~np.isin(spares, allowed))


def _spares(problem: Problem, one: Population, d: int) -> str:  # noqa: ARG001 - spares are of the whole design
    allowed = problem.sources.spares
    found = 0 if one.spares is None else int(one.spares[0])
    return f"the design has {found} spare NPUs; the file offers {', '.join(map(str, allowed))}"


RULES = (
    Rule(_too_large, _size, of_combinations=True),
    Rule(_repeats_domain, _domain, of_combinations=True),
    Rule(_other_size, _pinned_size, of_combinations=True),
    Rule(_not_offered, _offer),
    Rule(_out_of_order, _order, of_combinations=True),
    Rule(_missing, _depth, of_combinations=True),
    Rule(_other_spares, _spares),
)
"""All rules; of several that a dimension breaks, the first one is named."""
