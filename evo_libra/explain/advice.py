"""The record of a recommendation, and its sections: reasons, runners-up, parts, how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evo_libra.errors import counted
from evo_libra.explain.as_json import INLINE
from evo_libra.explain.candidates import Candidates, candidates_of
from evo_libra.explain.labels import bandwidths_text, figure_text, per_what, pieces
from evo_libra.explain.parts_list import parts_list
from evo_libra.explain.reasons import compared_with, proof_text
from evo_libra.explain.recommend import KNEE, Recommendation, Recommended, recommend, recommendation_rows
from evo_libra.explain.record import PartCost
from evo_libra.explain.references import ReferencePoint
from evo_libra.explain.sheet import Section, section
from evo_libra.front.families import labels_of
from evo_libra.front.front import Front
from evo_libra.network.orders.text import is_order
from evo_libra.optimality.scope import Scope
from evo_libra.problem.link_limits import BeyondLinks, beyond_links
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem
from evo_libra.quantities import money_text

_SHOWN_PARTS = 4


@dataclass(frozen=True, kw_only=True)
class Against:
    """Gains and losses of a design over a reference design."""

    name: str
    design: str
    it_is: str

    @property
    def label(self) -> str:
        """Its name, with accelerator and plan where the problem has several accelerators."""
        chosen = self.design.partition(" npu=")[2].replace(" | ", ", ")
        return f"{self.name} ({chosen})" if chosen else self.name


@dataclass(frozen=True, kw_only=True)
class Certainty:
    """Certainty of each design of a front; None with a reason where it is not known.

    Attributes
    ----------
    factor : of each design, the objective over its bound.
    proof_complete : whether the proof had time for all of the space; `proven_of` : that space.
    kept_share : of each design, the share of price scenarios in which it stays on the front.
    """

    factor: Sequence[float] | None
    no_proof: str
    proof_complete: bool | None = None
    proven_of: Scope | None = None
    kept_share: Sequence[float] | None
    no_prices: str
    scenarios: int | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A design to take, with its parts, next to reference designs, and how sure it is.

    Attributes
    ----------
    design : in the notation; None where a problem written in Python describes designs otherwise.
    shares : in what it is faster than its links carry.
    """

    recommended: Recommended = field(metadata=INLINE)
    design: str | None
    parts: tuple[PartCost, ...]
    references: tuple[Against, ...]
    factor: float | None
    kept_share: float | None
    shares: BeyondLinks | None = None


def advice(
    front: Front, found: Candidates, problem: SearchProblem | None = None, *, sure: Certainty | None = None,
    points: Sequence[ReferencePoint] = (),
) -> tuple[Advice, ...]:  # fmt: skip
    """Return which designs of a front to take; an `InfeasibleError` says that none keeps the limits.

    Parameters
    ----------
    found : what they are chosen from, with limits.
    problem : what they are designs of; None where that is not at hand, and then parts and links are not known.
    points : reference designs of the problem.
    """
    picks = recommend(found)
    beyond = _beyond_links(problem, front, picks)
    designs = front.frame["design"].to_list() if "design" in front.frame.columns else None
    return tuple(
        Advice(
            recommended=row,
            design=None if designs is None else designs[one.row],
            parts=parts_list(problem, problem.read(designs[one.row]))
            if designs and isinstance(problem, Problem)
            else (),
            references=tuple(
                Against(name=at.name, design=at.design, it_is=compared_with(found.of(one.row), at.figures))
                for at in points
            ),
            factor=sure.factor[one.row] if sure and sure.factor else None,
            kept_share=sure.kept_share[one.row] if sure and sure.kept_share else None,
            shares=beyond.get(one.row),
        )
        for one, row in zip(picks, recommendation_rows(found, picks), strict=True)
    )


def _beyond_links(
    problem: SearchProblem | None, front: Front, picks: Sequence[Recommendation]
) -> Mapping[int, BeyondLinks]:
    """Return which designs are faster than their links carry, by their rows."""
    if problem is None or "design" not in front.frame.columns:
        return {}
    found = beyond_links(problem, [front.frame["design"][one.row] for one in picks])
    return {pick.row: one for pick, one in zip(picks, found, strict=True) if one is not None}


def short_advised(front: Front, advices: Sequence[Advice]) -> Iterator[str]:
    """Yield each design to take in a line or two: its reason, the runner-up, and whether it exceeds its links."""
    names = names_by_id(front)
    for one in advices:
        row = one.recommended
        yield f"  {names[row.id]}, {row.title}: {row.reason}"
        if row.runner_up is not None:
            yield f"    runner-up {names[row.runner_up]}: {row.runner_up_is}"
        if one.shares is not None:
            yield f"    {one.shares}"


def names_by_id(front: Front) -> dict[int, str]:
    """Return what designs are called, by their ids."""
    ids, labels = front.frame["id"].to_list(), labels_of(front)
    return {place: f"#{place} {label}" for place, label in zip(ids, labels, strict=True)}


def advised(front: Front, advices: Sequence[Advice], scenarios: int = 0) -> list[Section]:
    """Return a section of each design to take; scenarios are those of the prices."""
    found, names = candidates_of(front), names_by_id(front)
    return [
        section(f"{names[one.recommended.id]}, {one.recommended.title}", _lines(found, one, names, scenarios))
        for one in advices
    ]


def _lines(found: Candidates, one: Advice, names: Mapping[int, str], scenarios: int) -> Iterator[str]:
    row = one.recommended
    yield ", ".join(figure_text(column, value, row.between.get(column)) for column, value in row.figures.items())
    if one.design is not None:
        yield design_text(one.design)
    yield f"why: {row.reason}"
    if KNEE not in row.kinds:  # whose reason has them
        yield from _steps(row, per_what(found.money))
    if one.parts:
        yield f"parts: {parts_text(one.parts)}"
    if row.runner_up is not None:
        yield f"runner-up: {names[row.runner_up]} is {row.runner_up_is}"
    yield from (f"against {at.label} it is {at.it_is}" for at in one.references)
    yield from certain_lines(found, one.factor, one.kept_share, scenarios)
    if one.shares is not None:
        yield str(one.shares)


def certain_lines(
    found: Candidates, factor: float | None, kept_share: float | None, scenarios: int
) -> Iterator[str]:  # fmt: skip
    """Yield how far a design is from optimal at most, and in how many price scenarios it stays on the front."""
    if factor is not None:
        plain = set(found.objectives) == {"time_ms", "cost_usd"}
        yield proof_text(factor, of_time_and_cost=plain, space=" of the space below")
    if kept_share is not None:
        yield f"on the front in {round(kept_share * scenarios):,} of {scenarios:,} price scenarios"


def design_text(design: str) -> str:
    """Return the bandwidths of a design and its plan; of an order, all of its notation, as products have theirs.

    >>> design_text("RI(4)@chip:700_SW(32)@pod:50 | tp8")
    '700 50 GB/s per NPU; tp8'
    >>> design_text("8 gb200-nvl72 / 1 x 400G / qm9700 tor 2:1 | tp8")
    '8 gb200-nvl72 / 1 x 400G / qm9700 tor 2:1; tp8'
    """
    network, bar, plan = design.partition(" | ")
    return f"{network if is_order(design) else f'{bandwidths_text(design)} GB/s per NPU'}{'; ' if bar else ''}{plan}"


def _steps(row: Recommended, per: str) -> Iterator[str]:
    """Yield what a ms costs on the way to the next tenth of the time, and on the way from the last one."""
    ways = (("to", row.faster_step), ("from", row.slower_step))
    texts = [
        f"{money_text(way.usd_per_ms, 3)}{per} on the way {word} #{way.id}" for word, way in ways if way is not None
    ]
    if texts:
        yield f"price of a ms: {', '.join(texts)}"


def parts_text(parts: Sequence[PartCost]) -> str:
    """Return the most expensive parts, and what the others cost together."""
    shown = [
        f"{'' if one.pieces is None else f'{pieces(one.pieces)} '}{one.part} {money_text(one.cost_usd, 3)}"
        for one in parts[:_SHOWN_PARTS]
    ]
    if rest := parts[_SHOWN_PARTS:]:
        shown.append(f"{counted(len(rest), 'more part')} {money_text(sum(one.cost_usd for one in rest), 3)}")
    return ", ".join(shown)
