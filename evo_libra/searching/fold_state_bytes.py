"""A state of an engine as bytes, and back."""

from __future__ import annotations

import io
import json

import numpy as np

from evo_libra.searching.engine import EngineState


def saved(state: EngineState) -> bytes:
    """Return a state as bytes, the way that checkpoints keep it: arrays and JSON, nothing that could run."""
    buffer = io.BytesIO()
    head = np.frombuffer(json.dumps(dict(state.random), sort_keys=True).encode(), dtype=np.uint8)
    np.savez(buffer, allow_pickle=False, head=head, **{f"_{k}": state.arrays[k] for k in sorted(state.arrays)})
    return buffer.getvalue()


def loaded(data: bytes) -> EngineState:
    """Return the state of `saved` bytes."""
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        arrays = {name[1:]: found[name] for name in found.files if name != "head"}
        return EngineState(arrays, json.loads(bytes(found["head"]).decode()))
