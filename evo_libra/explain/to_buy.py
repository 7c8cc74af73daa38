"""The design that a verdict buys: its figures, its plan, its parts, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from evo_libra.explain.advice import Certainty, certain_lines, design_text, names_by_id, parts_text
from evo_libra.explain.as_json import INLINE
from evo_libra.explain.candidates import Candidates
from evo_libra.explain.labels import figure_text
from evo_libra.explain.parts_list import parts_list
from evo_libra.explain.record import PartCost
from evo_libra.explain.sheet import Section, section
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import SearchProblem


@dataclass(frozen=True, kw_only=True)
class ToBuy:
    """The design to buy.

    Attributes
    ----------
    figures : of objectives and limits, by column; `between` : the ends of their bands.
    design : in the notation; None where a problem written in Python describes designs otherwise.
    parts : the most expensive first; none where the problem is not at hand.
    factor, kept_share : as for `Certainty`.
    """

    id: int
    figures: Mapping[str, float] = field(metadata=INLINE)
    between: Mapping[str, tuple[float, float]]
    design: str | None
    parts: tuple[PartCost, ...]
    factor: float | None
    kept_share: float | None


def to_buy(front: Front, found: Candidates, number: int, problem: SearchProblem | None, sure: Certainty) -> ToBuy:
    """Return one of the candidates, by its number on the front."""
    row = found.ids.tolist().index(number)
    design = front.frame["design"][row] if "design" in front.frame.columns else None
    parts = parts_list(problem, problem.read(design)) if isinstance(problem, Problem) and design else ()
    return ToBuy(
        id=number, figures={column: float(values[row]) for column, values in found.figures.items()},
        between=found.between(row), design=design, parts=parts,
        factor=sure.factor[row] if sure.factor else None, kept_share=sure.kept_share[row] if sure.kept_share else None,
    )  # fmt: skip


def section_to_buy(front: Front, found: Candidates, one: ToBuy, scenarios: int = 0) -> Section:
    """Return the section of the design to buy; scenarios are those of the prices."""
    return section(f"{names_by_id(front)[one.id]}, to buy", _lines(found, one, scenarios))


def _lines(found: Candidates, one: ToBuy, scenarios: int) -> Iterator[str]:
    yield ", ".join(figure_text(column, value, one.between.get(column)) for column, value in one.figures.items())
    if one.design is not None:
        yield design_text(one.design)
    if one.parts:
        yield f"parts: {parts_text(one.parts)}"
    yield from certain_lines(found, one.factor, one.kept_share, scenarios)
