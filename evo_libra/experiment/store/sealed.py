"""Archives of arrays that carry their checksum, and what can be read of a checkpoint without the code of searches."""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evo_libra.experiment.store.folder import CHECKPOINT, RunFolder
from evo_libra.files.integrity import DamagedError, read_bytes

if TYPE_CHECKING:
    import numpy as np

_SEAL = 64


def load_sealed(path: Path) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the plain data and the arrays of a checkpoint, or None when there is none.

    Raises
    ------
    DamagedError : it cannot be read, or is not as it was written.
    """
    raw = read_bytes(path)
    if raw is None:
        return None
    check_sealed(path, raw)
    import numpy as np  # noqa: PLC0415 - what lists runs checks archives without reading them

    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as data:
            head = json.loads(bytes(data["head"]).decode())
            return head, {name: data[name] for name in data.files if name != "head"}
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError):
        raise DamagedError(f"the checkpoint {path} is no checkpoint; search again without --resume") from None


def check_sealed(path: Path | str, raw: bytes) -> None:
    """Check the checksum of an archive that `sealed` made.

    Raises
    ------
    DamagedError : it is wrong.
    """
    if raw[-_SEAL:] != _seal(raw[:-_SEAL]):
        raise DamagedError(f"the checkpoint {path} is damaged (its checksum is wrong); search again without --resume")


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
    DamagedError : it is damaged.
    """
    found = load_sealed(folder.path / CHECKPOINT)
    return None if found is None else found[1]["archive/genes"]


def read_objectives(folder: RunFolder) -> np.ndarray[Any, Any] | None:
    """Return (m, k) objectives in SI of the best designs at the last checkpoint, or None when there is none yet.

    Raises
    ------
    DamagedError : it is damaged.
    """
    found = load_sealed(folder.path / CHECKPOINT)
    return None if found is None else found[1]["archive/objectives"]
