"""The proof of a front, kept next to it, so that one proof serves all that asks for it.

A kept proof counts for the front and the problem that it is of, with all files that the problem reads, and for the
program that made it. One that ended early counts where no more seconds are asked for than it had.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from evo_libra.errors import StorageError
from evo_libra.experiment.run.origin import digest_of
from evo_libra.experiment.run.record import program
from evo_libra.experiment.store.folder import FRONT, PROOF, RunFolder, read_file
from evo_libra.files.checked_json import Fields
from evo_libra.files.integrity import DamagedError, read_bytes
from evo_libra.front.front import Front
from evo_libra.optimality.certificate import Certificate, certify, of_time_and_cost
from evo_libra.optimality.front_proof import FrontProof, prove_front
from evo_libra.problem.problem import Problem

Proof = Certificate | FrontProof

_KINDS: Mapping[str, type[Proof]] = {"time and cost": Certificate, "all objectives": FrontProof}
_OF = {"front": str, "problem": str, "program": str}
_FIELDS = Fields({"kind": str, "of": Fields(_OF), "seconds": float | None, "proof": dict[str, Any]})


def proof_of(folder: RunFolder, problem: Problem, front: Front, seconds: float | None) -> Proof:
    """Return what is proven of the front of a folder: what is kept where it counts, or a new proof, which is kept.

    An `InputError` says why nothing can be proven; see `certify` and `prove_front`.
    """
    known = kept_proof(folder, problem, seconds)
    if known is not None:
        return known
    found = (certify if of_time_and_cost(front) else prove_front)(problem, front, seconds)
    keep_proof(folder, problem, found, seconds)
    return found


def kept_proof(folder: RunFolder, problem: Problem, seconds: float | None = 0.0) -> Proof | None:
    """Return the proof that a folder keeps of its front; None where there is none that counts."""
    try:
        data = read_file(folder.path, PROOF, _FIELDS)
    except DamagedError:
        return None
    if data is None or data["kind"] not in _KINDS or data["of"] != _identity(folder, problem):
        return None
    kind = _KINDS[data["kind"]]
    if {one.name for one in fields(kind)} != set(data["proof"]):
        return None
    found = kind(**data["proof"] | {"factor": np.array(data["proof"]["factor"], dtype=np.float64)})
    given = math.inf if data["seconds"] is None else data["seconds"]
    asked = math.inf if seconds is None else seconds
    return found if not found.waiting or given >= asked else None


def keep_proof(folder: RunFolder, problem: Problem, proof: Proof, seconds: float | None) -> None:
    """Keep the proof of the front of a folder; a folder that cannot be written to keeps none."""
    kind = next(name for name, one in _KINDS.items() if isinstance(proof, one))
    values = asdict(proof) | {"factor": proof.factor.tolist()}
    data = {"kind": kind, "of": _identity(folder, problem), "seconds": seconds, "proof": values}
    with suppress(StorageError, ValueError):  # ValueError: JSON has no infinite figures
        folder.write_json(PROOF, data, sync=False)


def _identity(folder: RunFolder, problem: Problem) -> dict[str, str]:
    """Return the checksums of all that a proof follows from."""
    front = hashlib.sha256(read_bytes(folder.path / FRONT) or b"").hexdigest()
    return {"front": front, "problem": digest_of(problem), "program": program()}
