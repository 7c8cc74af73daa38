"""The results of a report: what is proven of them, and what they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evo_libra.explain.reasons import front_proof_text, is_loose
from evo_libra.optimality.scope import STOPPED, scope_of
from evo_libra.report.records import Result

if TYPE_CHECKING:
    from evo_libra.report.data import Source

_TIME, _COST = "time_ms", "cost_usd"


def result_of(source: Source, shown: Source, factors: Mapping[str, float]) -> Result:
    """Return a result; shown has those of its rows that the report shows."""
    proof, band = "", list[list[float]]()
    if source.certificate is not None:
        of = "" if source.problem is None else f" {_what(source)} is of {scope_of(source.problem)}"
        stopped = f" {STOPPED}" if source.certificate.waiting else ""
        proof = f"{front_proof_text(source.certificate.largest_factor)}{stopped}{of}"
        band = _band(shown, factors)
    return Result(
        name=source.name, address=source.address, designs=len(source.front), shown=len(shown.front), proof=proof,
        band=band, facts=dict(source.facts),
    )  # fmt: skip


def _what(source: Source) -> str:
    assert source.certificate is not None, "the caller has looked"  # noqa: S101 - internal error
    return "The bound" if is_loose(source.certificate.largest_factor) else "The proof"


def _band(source: Source, factors: Mapping[str, float]) -> list[list[float]]:
    """Return the corners of the area between a front and the times that no design of the same cost undercuts."""
    assert source.certificate is not None, "the caller has looked"  # noqa: S101 - internal error
    frame = source.front.frame
    time, cost = frame[_TIME].to_numpy() / factors[_TIME], frame[_COST].to_numpy() / factors[_COST]
    order = np.argsort(cost, kind="stable")
    above = np.stack([time, cost])[:, order]
    below = np.stack([time / source.certificate.factor, cost])[:, order[::-1]]
    corners = np.concatenate([above, below], axis=1).T
    return [[float(f"{one:.6g}") for one in corner] for corner in corners.tolist()]


def facts_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return what a result comes from, for reading, from the manifest of its run."""
    versions = manifest.get("versions") or {}
    git = manifest.get("git") or {}
    facts = {
        "problem": manifest.get("name", ""),
        "engine": manifest.get("engine", ""),
        "seed": manifest.get("seed", ""),
        "evaluations": f"{manifest.get('evaluations', 0):,}",
        "proven": manifest.get("claim", ""),
        "started": manifest.get("started", ""),
        "program": versions.get("evo-libra", ""),
        "commit": git.get("commit", "")[:12] + ("" if git.get("clean", True) else ", changed"),
        "machine": (manifest.get("machine") or {}).get("processor", ""),
    }
    return {key: str(value) for key, value in facts.items() if value != ""}
