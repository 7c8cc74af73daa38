"""NSGA-II (Deb et al. 2002), NSGA-III (Deb and Jain 2014), SMS-EMOA (Beume et al. 2007), random search, on arrays."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evo_libra.arrays import BoolArray, FloatArray, IntArray, columns
from evo_libra.problem.protocol import Genome, SearchProblem, design_rows_of, topology_steps_of
from evo_libra.searching.engine import Arrays, Engine, EngineState
from evo_libra.searching.engines.contributions import Contributions
from evo_libra.searching.engines.listing import count_designs, listed_designs
from evo_libra.searching.engines.niching import Niches
from evo_libra.searching.engines.survival import Crowding
from evo_libra.searching.engines.variation import HashArray, Operators, first_of_kind, row_hash, vary

_RECENT = 8
"""Generations of designs that are kept besides the memory, whose copy costs as much as half a small generation."""
_ATTEMPTS, _SAMPLES = 8, 2
"""Attempts to make enough new children; in the last ones they are sampled."""
_SPARE = 1.03
_MIN_SHARE = 0.25
_FIRST, _MAX_FIRST = 6, 650
"""Populations that are sampled at first where genes are categories, and designs at most: a small population that begins
among the wrong categories hardly leaves them."""
_MAX_LISTED = 20_000
_LAST = 0.5
"""Designs of a space that are listed once children and samples are hardly new any more, and the share of them that is
evaluated in any order: children of parents are hardly ever among them."""
_STEPS = 0.1
"""Share of the children that are a parent with another topology, one step away: the genes of such topologies may be far
apart, so that mutation hardly finds one from the other."""
_DESIGNS_PER_MEMBER, _MAX_GROWN = 100, 5_000
"""Designs of a search for each member of a population that grows, and members at which it stops to grow.

A large population costs less per design, and a front that has been found needs no small generations any more; see
`docs/why/search.md`.
"""


class Selection(Protocol):
    """The choice of parents and of survivors, as functions of arrays."""

    def memory(self, objectives: int, population: int) -> dict[str, NDArray[Any]]:
        """Return the arrays that it adds to those of the population, before the first generation."""

    def parents(self, arrays: Arrays, count: int, random: np.random.Generator) -> IntArray:
        """Return (count,) members of the population; the second half are the partners of the first."""

    def survivors(
        self, arrays: Arrays, objectives: FloatArray, violation: FloatArray, random: np.random.Generator
    ) -> tuple[IntArray, dict[str, NDArray[Any]]]:
        """Return which of (m, n) designs make the next population, ``size`` at most, and its arrays of them."""


class Nsga(Engine):
    """An evolution with constraint domination.

    A design that the search has had is not asked for again, whatever genes stand for it, as long as the engine
    remembers the design; see `evo_libra.searching.engines.nsga`. If parents have hardly any new children left, the
    rest of a generation is a random sample; of a small space it is what the search has not had, until nothing is. A
    generation has `children` times as many designs as the population. A share of `steps` of its children differ from
    a parent by a step between topologies, where the problem knows any.

    A population that `grows` has, late in a long search, a hundredth of the designs so far, up to 5,000.
    """

    _genome: Genome

    def __init__(
        self,
        selection: Selection,
        operators: Operators,
        problem: SearchProblem | None = None,
        *,
        children: float = 1.0,
        grows: bool = False,
        steps: float = 0.0,
    ) -> None:
        self._selection, self._operators, self._children_share, self._grows = selection, operators, children, grows
        self._problem, self._rows = problem, design_rows_of(problem)
        self._step, self._step_share = topology_steps_of(problem) if steps else None, steps
        self._random = np.random.Generator(np.random.PCG64(0))

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:
        """Return the state before the first generation."""
        self._genome = genome
        arrays = {
            "size": np.array(float(population)),
            "learned": np.array(0.0),
            "lacking": np.array(-1.0),
            "share": np.array(1.0),
            "genes": np.empty((len(genome), 0)),
            "objectives": np.empty((objectives, 0)),
            "violation": np.empty(0),
            "memory": empty_memory(population),
            "recent": np.empty(0, dtype=np.uint64),
            "asked": np.empty(0, dtype=np.uint64),
            "known": np.empty(0, dtype=np.uint64),
        }
        return EngineState(arrays | self._selection.memory(objectives, population), np.random.PCG64(seed).state)

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return the next generation: at first what random samples lack, then children that are new."""
        random, arrays = state.generator(self._random), state.arrays
        rest = self._last(arrays) if arrays["share"] <= _MIN_SHARE else None
        if rest is not None:
            return self._some_of(rest, arrays, random)
        lacking = self._lacking(arrays)
        missing = min(lacking, int(arrays["size"])) or int(self._children_share * int(arrays["size"]))
        still = max(lacking - missing, 0)
        seen, share = arrays["recent"], float(arrays["share"])
        found: list[FloatArray] = []
        for attempt in range(_ATTEMPTS):
            pairs = int(missing / share * _SPARE) // 2 + 1
            sampled = lacking or attempt >= _ATTEMPTS - _SAMPLES
            tried = self._genome.sample(random, 2 * pairs) if sampled else self._children(arrays, pairs, random)
            hashes = row_hash(self._rows(tried))
            new = np.flatnonzero(first_of_kind(hashes, seen) & ~self._remembers(arrays, hashes))
            share = max(len(new) / len(hashes), _MIN_SHARE)
            new = new[:missing]
            found, seen = [*found, columns(tried, new)], np.concatenate([seen, hashes[new]])
            missing -= len(new)
            if not missing:
                break
        genes = np.concatenate(found, axis=1) if len(found) > 1 else found[0]
        known = {"lacking": np.array(float(still)), "share": np.array(share), "asked": seen[len(arrays["recent"]) :]}
        return genes, EngineState({**arrays, **known}, random.bit_generator.state)

    def _remembers(self, arrays: Arrays, hashes: HashArray) -> BoolArray:
        """Return (n,) which designs the engine knows; of a small space it forgets none."""
        found = remembers(arrays["memory"], hashes)
        if len(arrays["recent"]) < arrays["learned"] <= len(arrays["known"]) and self._small:
            found |= np.isin(hashes, arrays["known"])
        return found

    @cached_property
    def _small(self) -> bool:
        return count_designs(self._problem, _MAX_LISTED) is not None

    def _last(self, arrays: Arrays) -> FloatArray | None:
        """Return the (g, n) genes of all designs that the search has not had, where these are the last of its space."""
        if len(arrays["known"]) < arrays["learned"] or self._listed is None:
            return None
        genes, hashes = self._listed
        new = ~np.isin(hashes, arrays["known"])
        return genes[:, new] if new.sum() <= _LAST * len(hashes) else None

    @cached_property
    def _listed(self) -> tuple[FloatArray, HashArray] | None:
        genes = listed_designs(self._problem, _MAX_LISTED)
        return None if genes is None else (genes, row_hash(self._rows(genes)))

    def _some_of(self, rest: FloatArray, arrays: Arrays, random: np.random.Generator) -> tuple[FloatArray, EngineState]:
        """Return a generation of designs that are drawn from the (g, n) last ones."""
        count = max(int(self._children_share * int(arrays["size"])), 1)
        genes = rest[:, random.permutation(rest.shape[1])[:count]]
        return genes, EngineState({**arrays, "asked": row_hash(self._rows(genes))}, random.bit_generator.state)

    def _lacking(self, arrays: Arrays) -> int:
        """Return how many designs of the sample at first are still to come; a population to start from needs none."""
        size, held = int(arrays["size"]), arrays["genes"].shape[1]
        if arrays["lacking"] >= 0:
            return int(arrays["lacking"])
        several = max(size, min(_FIRST * size, _MAX_FIRST)) if self._genome.categorical.any() else size
        return several - held if held < size else 0

    def _children(self, arrays: Arrays, pairs: int, random: np.random.Generator) -> FloatArray:
        parents = self._selection.parents(arrays, 2 * pairs, random)
        children = columns(arrays["genes"], parents)
        vary(self._genome, children, random, self._operators)
        if self._step is not None:
            stepping = np.flatnonzero(random.random(2 * pairs) < self._step_share)
            if len(stepping):
                children[:, stepping] = self._step(columns(arrays["genes"], parents[stepping]), random)
        return children

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:
        """Return the state with the survivors of the population and of designs, asked for or not."""
        old, random = state.arrays, state.generator(self._random)
        hashes = old["asked"][: genes.shape[1]] if len(old["asked"]) else row_hash(self._rows(genes))
        new = {"genes": genes, "objectives": objectives, "violation": violation}
        merged = {name: np.concatenate([old[name], values], axis=-1) for name, values in new.items()}
        grown = {**old, **self._grown(old, genes.shape[1])}
        kept, memory = self._selection.survivors(grown, merged["objectives"], merged["violation"], random)
        population = {name: columns(values, kept) for name, values in merged.items()}
        arrays = {**grown, **population, **memory, "asked": np.empty(0, dtype=np.uint64)}
        arrays["recent"] = np.concatenate([old["recent"], hashes])
        if len(old["known"]) >= old["learned"] and arrays["learned"] <= _MAX_LISTED:
            arrays["known"] = np.concatenate([old["known"], hashes])
        if len(arrays["recent"]) >= _RECENT * int(arrays["size"]):
            arrays |= {"memory": remember(old["memory"], arrays["recent"]), "recent": np.empty(0, dtype=np.uint64)}
        return EngineState(arrays, random.bit_generator.state)

    def _grown(self, arrays: Arrays, count: int) -> Arrays:
        """Return how many designs the engine has learned, after `count` more, and the size of its population."""
        learned, size = float(arrays["learned"]) + count, float(arrays["size"])
        # Designs that come one by one are of an asynchronous search, which has no generations to save.
        if self._grows and count > 1:
            size = max(size, min(learned // _DESIGNS_PER_MEMBER, _MAX_GROWN))
        return {"learned": np.array(learned), "size": np.array(size)}


def nsga2(problem: SearchProblem | None = None) -> Nsga:
    """Return NSGA-II, whose population grows in a long search."""
    return Nsga(Crowding(), Operators(), problem, grows=True)


def nsga3(problem: SearchProblem | None = None) -> Nsga:
    """Return NSGA-III. Its front is that of the archive: its population holds few points of an irregular front."""
    return Nsga(Niches(), Operators(), problem)


def smsemoa(problem: SearchProblem | None = None) -> Nsga:
    """Return SMS-EMOA that selects a whole generation at once."""
    selection = Contributions(None if problem is None else problem.genome)
    return Nsga(selection, Operators(), problem, children=selection.children, steps=_STEPS)


class RandomEngine(Engine):
    """Samples the genome uniformly: the baseline that every engine has to beat."""

    _genome: Genome

    def __init__(self, _problem: SearchProblem | None = None) -> None:
        """Need nothing of the problem."""

    def start(self, genome: Genome, objectives: int, population: int, seed: int) -> EngineState:  # noqa: ARG002
        """Return the state before the first generation."""
        self._genome = genome
        random = np.random.Generator(np.random.PCG64(seed))
        return EngineState({"population": np.array(float(population))}, random.bit_generator.state)

    def ask(self, state: EngineState) -> tuple[FloatArray, EngineState]:
        """Return a sample of the genome."""
        random = state.generator()
        genes = self._genome.sample(random, int(state.arrays["population"]))
        return genes, EngineState(state.arrays, random.bit_generator.state)

    def tell(self, state: EngineState, genes: FloatArray, objectives: FloatArray, violation: FloatArray) -> EngineState:  # noqa: ARG002
        """Return the state as it is: nothing is learnt."""
        return state


_GENERATIONS, _MAX_SLOTS = 256, 1 << 17
"""Generations whose designs have a slot, and the most slots: a megabyte."""
_BITS, _OTHER = 64, 24
"""Bits of a hash; where the bits of its second slot end."""


def empty_memory(population: int) -> HashArray:
    """Return the (2^k,) table that knows no design."""
    slots = 1 << (_GENERATIONS * population - 1).bit_length()
    return np.zeros(min(slots, _MAX_SLOTS), dtype=np.uint64)


def remembers(memory: HashArray, hashes: HashArray) -> BoolArray:
    """Return (n,) which designs the table knows; each has two slots, and gives way to those that come later."""
    first, second = _slots(memory, hashes)
    return np.asarray((memory[first] == hashes) | (memory[second] == hashes))


def remember(memory: HashArray, hashes: HashArray) -> HashArray:
    """Return the table that knows (n,) more designs."""
    first, second = _slots(memory, hashes)
    memory, there = memory.copy(), memory[first]
    memory[np.where((there == 0) | (there == hashes), first, second)] = hashes
    return memory


def _slots(memory: HashArray, hashes: HashArray) -> tuple[HashArray, HashArray]:
    # High bits: the low ones of a product hang on the low ones of its factors alone.
    bits = (len(memory) - 1).bit_length()
    return hashes >> np.uint64(_BITS - bits), (hashes >> np.uint64(_OTHER)) & np.uint64(len(memory) - 1)
