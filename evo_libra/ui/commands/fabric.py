"""One fabric of switches: parts, paths, rates, failures, and its cables as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.ui.commands.shared import Assignments, Json, app
from evo_libra.ui.tables.output import print, print_json, print_sections

if TYPE_CHECKING:
    from evo_libra.problem.switch_fabrics.problem import FabricProblem

_MARK = "#"


@app.command
def fabric(
    design: str,
    *,
    problem: str | None = None,
    assignments: Assignments = (),
    graph: Path | None = None,
    cables: Path | None = None,
    as_json: Json = False,
) -> int:
    """Show a fabric of switches: layers, cables, path lengths, rates of traffic, and what a failed switch costs.

    Parameters
    ----------
    design:
        RESULT#ID, such as last#12, also RESULT#knee; or a fabric in the notation, or a name, such as "zcube(64, 2)".
    problem:
        Of a fabric in the notation: the problem whose traffic and routing are used.
    graph:
        A file to write: its layers as a graph for Graphviz, .dot.
    cables:
        A file to write: all of its cables, .csv.
    """
    from evo_libra.exchange.fabric_files import cable_list, fabric_dot
    from evo_libra.explain.as_json import as_json as plain
    from evo_libra.explain.fabric_record import fabric_record, fabric_sections
    from evo_libra.network.fabrics.traffic import Policy
    from evo_libra.problem.switch_fabrics.notation import parse_fabric
    from evo_libra.problem.switch_fabrics.problem import PLAN

    text, found = _of_result(design) if _MARK in design else (design, _named(problem, assignments))
    name, _, plan = text.partition(PLAN)
    shape = parse_fabric(name, 8 if found is None else 1 << found.space.server)
    policy = Policy("shortest", "server") if found is None else found.policy
    traffic = () if found is None else found.traffic_of(plan)
    record = fabric_record(text, shape, policy, traffic)
    for path, content in ((graph, fabric_dot), (cables, cable_list)):
        if path is not None:
            _write(path, content(shape) if content is cable_list else fabric_dot(shape, text))
    if as_json:
        print_json(plain(record))
    else:
        print_sections(fabric_sections(record))
        for path in filter(None, (graph, cables)):
            print(f"file  {path}")
    return 0


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {(error.strerror or '').lower()}") from None


def _named(problem: str | None, assignments: tuple[str, ...]) -> FabricProblem | None:
    from evo_libra.problem.file.registry import load_problem

    return None if problem is None else _of_fabrics(load_problem(problem, assignments))


def _of_result(address: str) -> tuple[str, FabricProblem]:
    """Return the fabric of a result, as its front has it, and the problem of its run."""
    from evo_libra.experiment.store.folder import RunFolder
    from evo_libra.problem.question import FABRIC
    from evo_libra.ui.tables.addresses import row_of
    from evo_libra.ui.tables.named_runs import given_of, problem_of_result, run_folder

    where, _, what = address.rpartition(_MARK)
    run = RunFolder(run_folder(where))
    _, found = problem_of_result(run, None, given_of(run))
    problem, front = _of_fabrics(found), run.read_front()
    return str(front.frame[FABRIC][row_of(front, what, run.path)]), problem


def _of_fabrics(problem: object) -> FabricProblem:
    from evo_libra.problem.switch_fabrics.problem import FabricProblem

    if not isinstance(problem, FabricProblem):
        raise InputError("the problem asks for no fabric of switches; allowed: files with `question: fabric`")
    return problem
