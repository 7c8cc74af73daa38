"""The sentences about a proof of a front of fabrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evo_libra.errors import counted

if TYPE_CHECKING:
    from evo_libra.optimality.front_proof import FrontProof


def fabric_counts(found: FrontProof, space: int) -> list[str]:
    """Return the sentences about the fabrics of a space, and about those that were evaluated."""
    plans = f" under {found.plans:,} plans" if found.plans > 1 else ""
    rest = "bounds of time and cost exclude all others"
    if found.waiting:
        rest = f"bounds exclude the others, but for fabrics of {found.waiting:,} sides"
    of_space = f"The space has at most {space:,} topologies of up to three layers, with all rates and parallel links"
    apart = "Graphs whose layers or bits of addresses are in another order are counted apart."
    ways = f"{found.networks:,} ways to join NPUs to switches were examined"
    return [f"{of_space}{plans}. {apart}", f"{ways}, and {counted(found.timed, 'design')} evaluated; {rest}."]
