"""Fronts and results in a notebook: the page of a report in a frame."""

from __future__ import annotations

from html import escape

from evo_libra.errors import InputError
from evo_libra.experiment.results.result import Result
from evo_libra.explain.references import References, references_of
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem
from evo_libra.report.data import Source, report_document
from evo_libra.report.page import frame
from evo_libra.report.results import facts_of


def front_html(front: Front) -> str:
    """Return a front as HTML: what its table knows."""
    return _framed(Source("front", front), "front")


def result_html(result: Result) -> str:
    """Return a result as HTML, with the details of its designs where its problem can be built."""
    try:
        built = result.problem
    except InputError as error:
        return _framed(_source(result, None), _name(result), f"Details are not shown: {error}.")
    return _framed(_source(result, built if isinstance(built, Problem) else None), _name(result))


def _name(result: Result) -> str:
    return str(result.manifest.get("name", result.folder.name))


def _source(result: Result, problem: Problem | None) -> Source:
    beside = References() if problem is None else references_of(problem)
    facts = facts_of(result.manifest)
    return Source(_name(result), result.front, problem, str(result.folder), references=beside, facts=facts)


def _framed(source: Source, title: str, *notes: str) -> str:
    try:
        return frame(report_document([source], title=title, notes=notes))
    except InputError as error:
        return f"<p>{escape(str(error))}</p>"
