"""The one sentence that says of what something is proven: which space, which time model, and what both leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from evo_libra.arrays import GIGA
from evo_libra.errors import counted
from evo_libra.optimality.whole_designs import count_networks, count_schedules, spares_of
from evo_libra.problem.plans import plans_that_fit
from evo_libra.problem.problem import Problem

EXACT_FRONT = "The front is exact of"
"""Begin of the claim of a search that knows the best front of a space."""
STOPPED = "The proof was stopped by its seconds: its bounds are looser than those of a complete one."
"""Note where a proof had no time left for all of a space."""


class ScopeKeys(TypedDict):
    """The keys of a scope in JSON."""

    space: str
    time_model: str
    prices: str
    left_out: list[str]
    sentence: str


@dataclass(frozen=True)
class Scope:
    """Scope of a proof.

    Attributes
    ----------
    space : the designs that the file allows, as a product of what is open.
    time_model : under which their times are computed.
    prices : the catalogue that their costs are of.
    left_out : what neither the space nor the time model knows.
    """

    space: str
    time_model: str
    prices: str
    left_out: tuple[str, ...]

    def __str__(self) -> str:
        left_out = f" Left out: {', '.join(self.left_out)}." if self.left_out else ""
        return f"{self.space}, under {self.time_model} and the prices of {self.prices}.{left_out}"

    def json(self) -> ScopeKeys:
        """Return the parts and the sentence."""
        return {
            "space": self.space, "time_model": self.time_model, "prices": self.prices,
            "left_out": list(self.left_out), "sentence": f"Proven of {self}",
        }  # fmt: skip


def scope_of(problem: Problem) -> Scope:
    """Return what proofs about a problem are of."""
    return Scope(_space(problem), problem.time.title, problem.catalog.name, problem.time.leaves_out)


def _space(problem: Problem) -> str:
    """Return the designs that a problem allows.

    Nothing is listed twice: networks come with their bandwidths where these are whole ports and few enough to count.
    """
    factors = [_networks(problem)]
    if problem.time.tables:
        factors.append(f"{counted(plans_that_fit(problem.time, problem.constraints), 'plan')} within the memory")
    if (schedules := count_schedules(problem)) > 1:
        factors.append(f"{schedules:,} ways to run collectives")
    if len(spares_of(problem)) > 1:
        factors.append(f"{len(spares_of(problem))} numbers of spares")
    limits = [f"'{one.text}'" for one in problem.constraints if not (one.ports or one.own_memory)]
    return " x ".join(factors) + (f", within {' and '.join(limits)}" if limits else "")


def _networks(problem: Problem) -> str:
    if problem.book is not None:
        return counted(len(problem.book), "order")
    networks = count_networks(problem)
    what = _bandwidths(problem) if not problem.pricing.kits else "parts in any fraction"
    if networks is not None:
        return f"{counted(networks, 'network')} of whole ports{_domains(problem)}"
    if problem.pricing.whole:
        what = "whole ports"
    return f"{counted(len(problem.structures), 'topology', 'topologies')} with {what}{_domains(problem)}"


def _bandwidths(problem: Problem) -> str:
    """Return the smallest and the largest bandwidth that some dimension may have."""
    low, high = problem.pricing.low, problem.pricing.high
    built = np.array([[bool(blocks) for blocks in choice.blocks] for choice in problem.choices])
    least, most = float(low[built].min()) / GIGA, float(high[built].max()) / GIGA
    above = f" to {most:.10g}" if np.isfinite(most) else " and more"
    return f"bandwidths of {least:.10g}{above} GB/s"


def _domains(problem: Problem) -> str:
    """Return whether domains are those that are sold; nothing where the catalogue has none that are."""
    if not problem.pricing.kits:
        return ""
    if problem.spec["fabric"]["domains"] != "products":
        return " (domains sold or not)"
    return " (domains as sold)" if any(kit.domains is not None for kit in problem.pricing.kits) else ""
