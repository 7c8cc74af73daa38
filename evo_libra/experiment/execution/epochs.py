"""Epochs of islands on the workers of a Dask scheduler: plain data in and out, lived anywhere, or twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from evo_libra.experiment.execution.search_loop import epoch_runner_of
from evo_libra.experiment.run.provenance import canonical_hash, program
from evo_libra.experiment.run.settings import RunSpec, build
from evo_libra.searching.islands import Archipelago, Epoch, RunEpochs

if TYPE_CHECKING:
    from distributed import Client, Future

_PRIORITY = 1_000_000
"""Epochs go before runs: a run that is at work waits for them."""
_SHARE, _NAP = 0.25, 0.002


def on_workers(spec: RunSpec) -> Archipelago:
    """Return islands whose epochs are lived by all workers of the scheduler that this one belongs to."""
    return Archipelago(spec.method.islands, 0, partial(_spread, spec))


def _spread(spec: RunSpec, here: Callable[[Epoch], Epoch]) -> RunEpochs:
    from distributed import get_client  # noqa: PLC0415 - takes half a second where it is not needed

    return partial(_lived, get_client(), spec, here)


def _lived(client: Client, spec: RunSpec, here: Callable[[Epoch], Epoch], epochs: Sequence[Epoch]) -> list[Epoch]:
    """Return epochs once they have been lived through, by other workers or by this one.

    This worker never waits for long: all workers may be at runs that have islands. It takes epochs from the end, while
    the others begin at the front. An epoch that nobody has brought back in time, because its worker is busy or dead, is
    lived here; whoever lives it, it comes out the same.
    """
    run = {**spec.data(), "label": ""}
    others = [client.submit(live_epoch, run, program(), epoch, pure=False, priority=_PRIORITY) for epoch in epochs[:-1]]
    found: dict[int, Epoch] = {}
    try:
        for place in reversed(range(len(epochs))):
            if place < len(others) and (come := _come(others[place])) is not None:
                found[place] = come
                continue
            begun = time.monotonic()
            found[place] = here(epochs[place])
            _wait(others[:place], time.monotonic() - begun)
    finally:
        client.cancel(others, force=True)
    return [found[place] for place in range(len(epochs))]


def _wait(others: Sequence[Future[Any]], seconds: float) -> None:
    """Wait for the last of the epochs: for as long as one takes where others come, else for a part of that."""
    begun = time.monotonic()
    while others and not others[-1].done():
        patience = seconds if any(other.done() for other in others) else _SHARE * seconds
        if time.monotonic() > begun + patience:
            return
        time.sleep(_NAP)


def _come(other: Future[Any]) -> Epoch | None:
    """Return an epoch that has come back sound; one whose worker could not live it is left to this one."""
    if other.status != "finished":
        return None
    epoch: Epoch | None = other.result()
    return epoch


def live_epoch(run: Mapping[str, Any], planned_by: str, epoch: Epoch) -> Epoch | None:
    """Return an epoch of a run once it has been lived through; None where the program or the problem is another one."""
    spec = RunSpec.of(run)
    if planned_by != program():
        return None
    problem = build(spec.origin)
    if canonical_hash(problem.identity()) != canonical_hash(spec.problem):
        return None
    return epoch_runner_of(spec, problem)(epoch)
