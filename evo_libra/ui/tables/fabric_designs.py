"""Fabrics of switches that a user names: of a result, of a problem, or by their notation alone."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evo_libra.errors import InputError, unknown
from evo_libra.ui.tables.addresses import ANY, MARK, is_problem, row_of
from evo_libra.ui.tables.named_runs import given_of, problem_of_result, run_folder

if TYPE_CHECKING:
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.explain.fabric_record import FabricRecord
    from evo_libra.network.fabrics.layered import LayeredFabric
    from evo_libra.problem.protocol import SearchProblem
    from evo_libra.problem.switch_fabrics.problem import FabricProblem

_NOTATION = re.compile(r"\s*(?:\d+\s*(?:,\s*\d+\s*)*\|\s*\d+-\d+\s+H|[a-z][a-z-]{0,40}\(\s*\d)")
"""Nodes of layers and links, or a name in small letters with numbers in brackets."""


@dataclass(frozen=True)
class FabricDesign:
    """A fabric that a user names.

    Attributes
    ----------
    text : the fabric in the notation or by its name, with the plan of a result.
    problem : whose traffic and routing are used; None of the notation alone.
    """

    text: str
    problem: FabricProblem | None

    @property
    def shape(self) -> LayeredFabric:
        """Return its layers and links; an `InputError` says what is wrong with the text."""
        from evo_libra.problem.switch_fabrics.notation import parse_fabric

        return parse_fabric(self._parts[0], 8 if self.problem is None else 1 << self.problem.space.server)

    @property
    def record(self) -> FabricRecord:
        """Return its parts, paths, rates and failures."""
        from evo_libra.explain.fabric_record import fabric_record
        from evo_libra.network.fabrics.traffic import Policy

        policy = Policy("shortest", "server") if self.problem is None else self.problem.policy
        traffic = () if self.problem is None else self.problem.traffic_of(self._parts[1])
        return fabric_record(self.text, self.shape, policy, traffic)

    @property
    def _parts(self) -> tuple[str, str]:
        from evo_libra.problem.switch_fabrics.problem import PLAN

        name, _, plan = self.text.partition(PLAN)
        return name, plan


def fabric_design(
    where: str, design: str | None = None, number: int | str | None = None, assignments: Sequence[str] = ()
) -> FabricDesign | None:
    """Return the fabric of an address, or of a problem or a result that options complete; None of any other design.

    An `InputError` says that the problem asks for no fabric, or that there is no such design.
    """
    what = design if number is None else str(number)
    if what is None:
        place, mark, what = where.rpartition(MARK)
        if not mark or os.path.exists(where):  # noqa: PTH110 - for any text
            if is_problem(where):
                return None
            return FabricDesign(where, None) if _NOTATION.match(where) else _of_front(where, ANY, assignments)
        where = place
    if _NOTATION.match(what):
        return FabricDesign(what, _of_fabrics(_problem(where, assignments)))
    return None if is_problem(where) else _of_front(where, what, assignments)


def format_of_fabric(found: FabricDesign, name: str) -> str:
    """Return the text of a format of fabrics; an `InputError` says which there are."""
    from evo_libra.exchange.fabric_files import cable_list, fabric_dot

    if name == "graphviz":
        return fabric_dot(found.shape, found.text)
    if name == "cables-csv":
        return cable_list(found.shape)
    raise InputError(f"--to: {unknown('format of a fabric', name, ['graphviz', 'cables-csv'])}")


def _problem(where: str, assignments: Sequence[str]) -> SearchProblem:
    from evo_libra.experiment.run.origin import build
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.ui.tables.named_runs import named_origin

    if is_problem(where):
        return build(named_origin(where, assignments))
    return _problem_of(RunFolder(run_folder(where)), assignments)


def _problem_of(run: RunFolder, assignments: Sequence[str]) -> SearchProblem:
    if assignments:
        raise InputError("--set belongs to a problem; a design of a result is evaluated as its run did")
    return problem_of_result(run, None, given_of(run))[1]


def _of_front(where: str, what: str, assignments: Sequence[str]) -> FabricDesign | None:
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.problem.question import FABRIC

    try:
        run = RunFolder(run_folder(where))
        front = run.read_front()
    except InputError:  # who reads other designs says what is wrong
        return None
    if FABRIC not in front.frame.columns:
        return None
    text = str(front.frame[FABRIC][row_of(front, what, run.path)])
    return FabricDesign(text, _of_fabrics(_problem_of(run, assignments)))


def _of_fabrics(problem: object) -> FabricProblem:
    from evo_libra.problem.switch_fabrics.problem import FabricProblem

    if not isinstance(problem, FabricProblem):
        raise InputError("the problem asks for no fabric of switches; allowed: files with `question: fabric`")
    return problem
