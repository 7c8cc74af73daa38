"""Answers of commands, as ``--json`` prints them: dictionaries of records, and the schemas of both.

A command builds a dictionary of these types, so the type checker knows that an answer is what its schema says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import polars as pl

from evo_libra.astra_sim.trace_differences import TraceDifference, TraceTimes
from evo_libra.explain.advice import Advice, Certainty
from evo_libra.explain.comparison import Comparison
from evo_libra.explain.fabric_record import FabricRecord
from evo_libra.explain.neighbours import Neighbour
from evo_libra.explain.recommend import Recommended
from evo_libra.explain.record import EVALUATED, EXPLAINED, DesignRecord
from evo_libra.explain.record_schema import TABLE, Schema, Schemas, merged
from evo_libra.explain.references import ReferenceKeys
from evo_libra.explain.system_views import SystemRow
from evo_libra.explain.time_record import OptimizerStream, Size, WorkloadTime
from evo_libra.explain.to_buy import ToBuy
from evo_libra.explain.tornado import Tornado
from evo_libra.explain.verdict_record import Verdict
from evo_libra.explain.what_if import WhatIf
from evo_libra.problem.bands import Band
from evo_libra.problem.link_limits import BeyondLinks
from evo_libra.timing.quirks import Warned
from evo_libra.ui.tables.named_answers import NamedShares, NamedSize


class Systems(TypedDict):
    """The networks of each system of a result of orders."""

    systems: NotRequired[tuple[SystemRow, ...]]
    absent: NotRequired[tuple[str, ...]]


class Search(Systems, ReferenceKeys):
    """The answer of ``search``; the verdict is of a front with designs."""

    front: pl.DataFrame
    evaluations: int
    wall_s: float
    result: str
    verdict: NotRequired[Verdict]
    question: str
    warnings: Sequence[Warned]
    ended: NotRequired[str]
    restarts: NotRequired[int]
    claim: NotRequired[str]
    engine_choice: NotRequired[str]
    failure_count: NotRequired[int]
    failures: NotRequired[Sequence[Mapping[str, Any]]]
    workloads: NotRequired[Sequence[NamedSize]]
    recommended: NotRequired[Sequence[Recommended]]
    shares: NotRequired[Sequence[NamedShares]]


class Front(Systems, ReferenceKeys):
    """The answer of ``front``: designs, families of them, or the networks of each system."""

    result: str
    question: str
    front: NotRequired[pl.DataFrame]
    evaluations: NotRequired[int]
    wall_s: NotRequired[float]
    families: NotRequired[Sequence[Mapping[str, Any]]]


class Recommend(TypedDict):
    """The answer of ``recommend``, without the record of how certain it is."""

    verdict: Verdict
    bought: ToBuy
    what_if: Sequence[WhatIf]
    assumptions: Tornado | None
    result: str
    question: str
    limits: Mapping[str, float]
    designs: int
    warnings: Sequence[Warned]
    approximation: NotRequired[str]
    recommended: Sequence[Advice]


class Evaluate(TypedDict):
    """The answer of ``evaluate``, without the record of the design."""

    question: str
    remarks: NotRequired[Sequence[str]]
    warnings: Sequence[Warned]
    differences: Sequence[TraceDifference]
    traces: Sequence[TraceTimes]


class EvaluateFabric(TypedDict):
    """The answer of ``evaluate`` for a fabric of switches, without its record."""

    question: str


class Explain(TypedDict):
    """The answer of ``explain``, without the record of the design."""

    question: str
    optimizer_streams: NotRequired[Mapping[str, Sequence[OptimizerStream]]]


class Diff(TypedDict):
    """The answer of ``diff``, without the comparison."""

    question: str
    warnings: Sequence[Warned]


class Import(TypedDict):
    """The answer of ``import``: the problem of files, or the cluster of ASTRA-sim's files."""

    written: Sequence[str]
    formats: NotRequired[Mapping[str, str]]
    question: NotRequired[str]
    problem: NotRequired[Mapping[str, Any]]
    made: NotRequired[Sequence[str]]
    assumed: NotRequired[Sequence[str]]
    left_out: NotRequired[Sequence[str]]
    design: NotRequired[str]
    npus: NotRequired[int]
    time: NotRequired[Mapping[str, Any]]
    compute_TFLOPS: NotRequired[float | None]
    notices: NotRequired[Sequence[str]]
    without_counterpart: NotRequired[Sequence[str]]


class Init(TypedDict):
    """The answer of ``init``: the file that it wrote, and what is assumed in it."""

    problem: str
    assumed: str


def answer_schemas() -> dict[str, Schema]:
    """Return the schema of the answer of each command; entries of ``catalog`` are as their files have them."""
    late = {one.__name__: one for one in (Band, BeyondLinks, Neighbour, Size, Warned, WorkloadTime)}
    found: dict[str, Schema] = {"catalog": {"type": "object", "additionalProperties": True}}
    for command, answers in _ANSWERS.items():
        schemas = Schemas(late, {pl.DataFrame: TABLE})
        every = [
            merged(schemas.keys(own), *([] if record is None else [schemas.fields(record, only)]))
            for own, record, only in answers
        ]
        of_any = every[0] if len(every) == 1 else {"type": "object", "anyOf": every}
        found[command] = {**of_any, "$defs": schemas.records}
    return found


_ANSWERS: Mapping[str, Sequence[tuple[type, type | None, Sequence[str]]]] = {
    "search": [(Search, None, ())],
    "recommend": [(Recommend, Certainty, ())],
    "evaluate": [(Evaluate, DesignRecord, EVALUATED), (EvaluateFabric, FabricRecord, ())],
    "explain": [(Explain, DesignRecord, EXPLAINED)],
    "diff": [(Diff, Comparison, ())],
    "front": [(Front, None, ())],
    "import": [(Import, None, ())],
    "init": [(Init, None, ())],
}
"""Name of a command -> the keys of its answers, and the record, or its fields, whose keys are next to them."""
