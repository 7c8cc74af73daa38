"""A search between two generations as a file: arrays and plain data, nothing that could run when it is loaded."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from evo_libra.errors import InputError
from evo_libra.experiment.run.provenance import program
from evo_libra.experiment.store.folder import CHECKPOINT, RunFolder
from evo_libra.experiment.store.sealed import load_sealed, sealed
from evo_libra.front.archive import Archive, Collection
from evo_libra.searching.engine import EngineState
from evo_libra.searching.loop import Mark, Snapshot

_FORMAT = 3
_SEARCH = ("evaluations", "exhausted", "ended", "restarts", "seconds")


def write_checkpoint(folder: RunFolder, snapshot: Snapshot, search: str) -> None:
    """Save a search.

    Parameters
    ----------
    folder : of the run.
    snapshot : the search between two generations.
    search : hash of problem, engine and settings, whatever the number of evaluations.
    """
    arrays: dict[str, Any] = {
        "archive/genes": snapshot.archive.genes,
        "archive/objectives": snapshot.archive.objectives,
        "mark/objectives": snapshot.mark.objectives,
        **{f"engine/{name}": np.asarray(values) for name, values in snapshot.engine.arrays.items()},
    }
    head = {
        "format": _FORMAT,
        "program": program(),
        "search": search,
        **{name: getattr(snapshot, name) for name in _SEARCH},
        "mark": snapshot.mark.evaluations,
        "random": dict(snapshot.engine.random),
    }
    buffer = io.BytesIO()
    np.savez(buffer, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), **arrays)
    folder.write(CHECKPOINT, sealed(buffer.getvalue()))


def read_checkpoint(folder: RunFolder, search: str) -> Snapshot | None:
    """Return where a search stopped, or None when it never wrote a checkpoint.

    Raises
    ------
    InputError : the checkpoint is damaged, or of another search, format or version of the program.
    """
    path = folder.path / CHECKPOINT
    found = load_sealed(path)
    if found is None:
        return None
    head, arrays = found
    if head["format"] != _FORMAT or head["search"] != search:
        raise InputError(f"the checkpoint {path} belongs to another run or format; search again without --resume")
    if head["program"] != program():
        raise InputError(f"the checkpoint {path} is of another version of the program; search again without --resume")
    engine = {name.removeprefix("engine/"): values for name, values in arrays.items() if name.startswith("engine/")}
    return Snapshot(
        EngineState(engine, head["random"]),
        Collection(Archive(arrays["archive/genes"], arrays["archive/objectives"])),
        mark=Mark(head["mark"], arrays["mark/objectives"]),
        **{name: head[name] for name in _SEARCH},
    )


def checkpoint_evaluations(folder: RunFolder) -> int | None:
    """Return the designs evaluated by the last checkpoint; None when there is no sound one."""
    try:
        found = load_sealed(folder.path / CHECKPOINT)
    except InputError:
        return None
    return None if found is None else int(found[0]["evaluations"])
