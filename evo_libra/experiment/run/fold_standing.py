"""What a run that nobody is at waits for: requests, and the batches that are executed, tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from evo_libra.experiment.run.record import BatchInfo, Standing


def standings(batches: Iterable[BatchInfo], requests: Mapping[str, str]) -> dict[str, Standing]:
    """Return what runs wait for: ``paused`` to be resumed, ``waiting`` for a worker; those of no word wait for nobody.

    A pause of a whole batch holds as long as the batch is executed, as the next execution begins without it. A run
    that was stopped, or whose batch was, waits for nobody.

    Parameters
    ----------
    batches : all batches of a folder of results.
    requests : every request there is, by its target; see `evo_libra.experiment.store.control.all_requested`.
    """
    paused: dict[str, Standing] = {target: "paused" for target, action in requests.items() if action == "pause"}
    stopped = {target for target, action in requests.items() if action == "stop"}
    # A stop of one execution of a batch is asked of <batch>/<execution>.
    ending = stopped | {target.rpartition("/")[0] for target in stopped}
    executed = [batch for batch in batches if batch.runner and batch.id not in ending]
    held: dict[str, Standing] = {run: "paused" for one in executed if one.id in paused for run in one.runs}
    waiting: dict[str, Standing] = {
        run: "waiting" for one in executed if one.id not in paused for run in one.runs if run not in stopped
    }
    return {**held, **waiting, **paused}
