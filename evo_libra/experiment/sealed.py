"""Archives of arrays that carry their checksum, and what can be read of a checkpoint without the code of searches."""

from __future__ import annotations

import hashlib
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from evo_libra.errors import InputError
from evo_libra.experiment.store import CHECKPOINT, RunFolder

_SEAL = 64


def load_sealed(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the plain data and the arrays of a checkpoint, or None when there is none.

    Raises
    ------
    InputError : it cannot be read, or its checksum is wrong.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"the checkpoint {path} cannot be read: {(error.strerror or '').lower()}") from None
    if raw[-_SEAL:] != _seal(raw[:-_SEAL]):
        raise InputError(f"the checkpoint {path} is damaged (its checksum is wrong); search again without --resume")
    with np.load(io.BytesIO(raw), allow_pickle=False) as data:
        head = json.loads(bytes(data["head"]).decode())
        return head, {name: data[name] for name in data.files if name != "head"}


def sealed(archive: bytes) -> bytes:
    """Return a ZIP archive with the checksum of all of it as its comment, which readers of archives pass over."""
    body = archive[:-2] + struct.pack("<H", _SEAL)  # an archive ends with the length of its comment
    return body + _seal(body)


def _seal(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def read_genes(folder: RunFolder) -> np.ndarray[Any, Any] | None:
    """Return (g, k) genes of the best designs at the last checkpoint, or None when there is none yet.

    Raises
    ------
    InputError : the checkpoint is damaged.
    """
    found = load_sealed(folder.path / CHECKPOINT)
    return None if found is None else np.asarray(found[1]["archive/genes"])


def read_objectives(folder: RunFolder) -> np.ndarray[Any, Any] | None:
    """Return (m, k) objectives in SI of the best designs at the last checkpoint, or None when there is none yet.

    Raises
    ------
    InputError : the checkpoint is damaged.
    """
    found = load_sealed(folder.path / CHECKPOINT)
    return None if found is None else np.asarray(found[1]["archive/objectives"])
