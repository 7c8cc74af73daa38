"""DesignEvaluation of designs that took long to evaluate, kept in a file."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.files.integrity import row_digest

_SECONDS = 60.0
_SQLITE = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; the second where a damaged file gets into its own sentence."""
_TABLE = """
CREATE TABLE IF NOT EXISTS designs (
    problem TEXT NOT NULL, genes BLOB NOT NULL,
    objectives BLOB NOT NULL, violation REAL NOT NULL, failure TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (problem, genes)
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class DesignEvaluation:
    """The evaluation of one design.

    Attributes
    ----------
    objectives : (m,) above 0.
    violation : 0 where it is feasible.
    failure : why it could not be evaluated; empty where it could.
    """

    objectives: FloatArray
    violation: float
    failure: str = ""


class Cache:
    """DesignEvaluation of designs by their genes, in an SQLite file that several searches may share on one machine.

    Parameters
    ----------
    path : the file; None keeps nothing beyond this process.
    identity : of the problem, JSON-able; other problems in the same file are left alone.

    A process that is killed loses at most the design that it was writing. A row that is not as it was written counts as
    one that is not there, so that its design is evaluated again.

    Raises
    ------
    InputError : the file cannot be opened, or is no such cache.
    """

    def __init__(self, path: Path | None, identity: Mapping[str, Any]) -> None:
        text = json.dumps(dict(identity), sort_keys=True, separators=(",", ":"), allow_nan=False)
        self._problem = hashlib.sha256(text.encode()).hexdigest()
        self._path = path
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                if path.exists() and not path.is_file():
                    raise InputError(f"the cache {path} cannot be used: it is not a regular file")
                path.touch()  # SQLite would keep the group from writing, whatever the umask is
            self._file = sqlite3.connect(path or ":memory:", timeout=_SECONDS, isolation_level=None)
            self._file.text_factory = lambda raw: raw.decode(errors="replace")  # a damaged text fits no digest
            # A log beside the file: a commit need not wait for the disk, and a kill leaves the file whole.
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(_TABLE)
        except (OSError, *_SQLITE) as error:
            raise self._refusal("used", error) from None

    def get(self, genes: FloatArray) -> DesignEvaluation | None:
        """Return what is known of (g,) genes."""
        asked = "SELECT objectives, violation, failure, digest FROM designs WHERE problem = ? AND genes = ?"
        key = _key(genes)
        try:
            row = self._file.execute(asked, (self._problem, key)).fetchone()
        except _SQLITE as error:
            raise self._refusal("read", error) from None
        if row is None or row[3] != row_digest(self._problem, key, *row[:3]):
            return None
        return DesignEvaluation(np.frombuffer(row[0], dtype="<f8").astype(np.float64), row[1], row[2])

    def put(self, genes: FloatArray, evaluation: DesignEvaluation) -> None:
        """Keep the evaluation of (g,) genes."""
        objectives = evaluation.objectives.astype("<f8").tobytes()
        values = self._problem, _key(genes), objectives, float(evaluation.violation), evaluation.failure
        try:
            self._file.execute(
                "INSERT OR REPLACE INTO designs VALUES (?, ?, ?, ?, ?, ?)", (*values, row_digest(*values))
            )
        except _SQLITE as error:
            raise self._refusal("written", error) from None

    def forget_failures(self) -> None:
        """Drop the designs of this problem that could not be evaluated, so that they are tried again."""
        try:
            self._file.execute("DELETE FROM designs WHERE problem = ? AND failure <> ''", (self._problem,))
        except _SQLITE as error:
            raise self._refusal("written", error) from None

    def _refusal(self, what: str, error: Exception) -> InputError:
        # Only SQLite's own words for a file that is no sound database have a remedy for users.
        remedy = ""
        if type(error) in (sqlite3.DatabaseError, UnicodeDecodeError):
            remedy = "; move it away, and its designs are evaluated again"
        return InputError(f"the cache {self._path} cannot be {what}: {error}{remedy}")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _key(genes: FloatArray) -> bytes:
    # 0 and -0 are the same gene.
    return (genes + 0.0).astype("<f8").tobytes()
