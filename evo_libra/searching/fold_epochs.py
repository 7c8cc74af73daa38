"""What an island does between two migrations, as a function of plain data: it may be done anywhere, and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evo_libra.front.archive import Archive, Collection
from evo_libra.arrays import FloatArray
from evo_libra.problem.protocol import Evaluation, SearchProblem
from evo_libra.searching.engine import Engine, EngineState
from evo_libra.searching.generations import Options, Snapshot, generations

_ENGINE, _BEST = "engine/", "best/"

Seen = tuple[FloatArray, Evaluation]


@dataclass(frozen=True)
class Epoch:
    """An island before what it does between two migrations, or after it.

    Attributes
    ----------
    engine : state of the engine.
    best : designs of the island that nothing dominates: before, as many as a generation has at most; after, all.
    begun : evaluations of the island before.
    evaluations : to do, or done.
    seen : genes and worth of everything evaluated, if somebody asks for that.
    """

    engine: EngineState
    best: Archive
    begun: int = 0
    evaluations: int = 0
    seen: tuple[Seen, ...] = ()


def lived(problem: SearchProblem, engine: Engine, population: int, options: Options, epoch: Epoch) -> Epoch:
    """Return an epoch once it has been lived through: only what goes in decides what comes out."""
    seen: list[Seen] = []
    if options.observe is not None:
        options = replace(options, observe=lambda genes, worth: seen.append((genes, worth)))
    last = Snapshot(epoch.engine, Collection(epoch.best), epoch.begun)
    end = epoch.begun + epoch.evaluations
    # The seed is in the state already.
    numbers = {"population": population, "seed": 0, "evaluations": end}
    for snapshot in generations(problem, engine, **numbers, resume=last, options=options):
        last = snapshot
    return Epoch(last.engine, last.archive, epoch.begun, last.evaluations - epoch.begun, tuple(seen))


def shares(islands: Sequence[Epoch], left: int, most: int) -> list[Epoch]:
    """Return the islands with what each has to evaluate."""
    share, more = divmod(min(left, most * len(islands)), len(islands))
    return [replace(island, evaluations=share + (i < more)) for i, island in enumerate(islands)]


def migrated(engine: Engine, islands: Sequence[Epoch], guests: int) -> list[Epoch]:
    """Return the islands once each knows the best designs of the one before; the first, of the last."""
    if len(islands) == 1:
        return list(islands)
    return [told(engine, island, islands[i - 1].best, guests) for i, island in enumerate(islands)]


def told(engine: Engine, island: Epoch, best: Archive, guests: int) -> Epoch:
    """Return an island that knows some of the best designs of another one."""
    come = thinned(best, guests)
    none = np.zeros(len(come))
    state = engine.tell(island.engine, come.genes, np.log10(come.objectives), none)
    return replace(island, engine=state, best=island.best.add(come.genes, come.objectives, none))


def thinned(best: Archive, most: int) -> Archive:
    """Return an archive of at most so many designs, the ends included."""
    kept = best.spread(most)
    return Archive(np.take(best.genes, kept, axis=1), np.take(best.objectives, kept, axis=1))


def packed(islands: Sequence[Epoch], most: int) -> EngineState:
    """Return islands as one state, which can be saved like that of an engine; of the best designs `most` are kept."""
    arrays: dict[str, NDArray[Any]] = {}
    for i, island in enumerate(islands):
        best = thinned(island.best, most)
        arrays |= {f"{i}/{_BEST}genes": best.genes, f"{i}/{_BEST}objectives": best.objectives}
        arrays |= {f"{i}/{_ENGINE}{name}": values for name, values in island.engine.arrays.items()}
    return EngineState(arrays, {str(i): island.engine.random for i, island in enumerate(islands)})


def unpacked(state: EngineState, evaluations: int) -> list[Epoch]:
    """Return the islands of a packed state, of a search with so many evaluations, before their next epoch."""
    every: list[dict[str, NDArray[Any]]] = [{} for _ in state.random]
    for name, values in state.arrays.items():
        island, _, own = name.partition("/")
        every[int(island)][own] = values
    return [
        Epoch(
            EngineState(
                {name.removeprefix(_ENGINE): values for name, values in arrays.items() if name.startswith(_ENGINE)},
                state.random[str(i)],
            ),
            Archive(arrays[f"{_BEST}genes"], arrays[f"{_BEST}objectives"]),
            evaluations // len(every),
        )
        for i, arrays in enumerate(every)
    ]
