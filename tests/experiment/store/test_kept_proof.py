"""Proofs that are kept next to a front: read again where they count, and made again where anything has changed."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evo_libra.experiment.store import kept_proof as kept
from evo_libra.experiment.store.folder import FRONT, PROOF, RunFolder
from evo_libra.experiment.store.kept_proof import keep_proof, proof_of
from evo_libra.front.front import Front
from evo_libra.optimality.certificate import Certificate
from evo_libra.optimality.front_proof import FrontProof
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.searching.generations import search


@pytest.fixture(scope="module")
def problem() -> Problem:
    found = load_problem("turing-nlg-4k")
    assert isinstance(found, Problem)
    return found


@pytest.fixture(scope="module")
def front(problem: Problem) -> Front:
    return search(problem, evaluations=500)


@pytest.fixture
def folder(tmp_path: Path, front: Front) -> RunFolder:
    found = RunFolder(tmp_path)
    found.write(FRONT, front.write)
    return found


def counted(monkeypatch: pytest.MonkeyPatch, proof: Certificate) -> list[float | None]:
    """Let a proof stand for that of any front; return the seconds of each call for one."""
    calls: list[float | None] = []

    def certify(_problem: Problem, _front: Front, seconds: float | None) -> Certificate:
        calls.append(seconds)
        return proof

    monkeypatch.setattr(kept, "certify", certify)
    return calls


PROOF_OF_THREE = Certificate(
    hypervolume=1.0, max_hypervolume=1.1, factor=np.array([1.0, 1.1, 1 / 3]), largest_factor=1.1, at_cost=2e6,
    fastest=0.1, structures=5, looked=4, waiting=0, solved=3,
)  # fmt: skip


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name)) for field in fields(one)
    )


def test_a_front_is_proven_once(
    folder: RunFolder, problem: Problem, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch, PROOF_OF_THREE)
    first, second = (proof_of(folder, problem, front, 10.0) for _ in range(2))
    assert same(first, PROOF_OF_THREE)
    assert same(second, PROOF_OF_THREE)
    assert calls == [10.0]


def test_a_proof_of_another_front_program_or_price_does_not_count(
    folder: RunFolder, problem: Problem, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch, PROOF_OF_THREE)
    proof_of(folder, problem, front, 10.0)
    repriced = replace(problem, spec={**problem.spec, "prices": "others"})
    proof_of(folder, repriced, front, 10.0)
    proof_of(folder, repriced, front, 10.0)
    assert len(calls) == 2
    fewer = Front(front.frame.head(len(front) - 1), front.objectives)
    folder.write(FRONT, fewer.write)
    proof_of(folder, repriced, fewer, 10.0)
    assert len(calls) == 3
    monkeypatch.setattr(kept, "program", lambda: "another")
    proof_of(folder, repriced, fewer, 10.0)
    assert len(calls) == 4


def test_a_proof_that_ended_early_counts_for_no_more_seconds_than_it_had(
    folder: RunFolder, problem: Problem, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch, replace(PROOF_OF_THREE, waiting=7))
    for seconds in (10.0, 5.0, 20.0, None, 20.0):
        proof_of(folder, problem, front, seconds)
    assert calls == [10.0, 20.0, None]


def test_a_damaged_proof_is_made_again(
    folder: RunFolder, problem: Problem, front: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted(monkeypatch, PROOF_OF_THREE)
    proof_of(folder, problem, front, 10.0)
    path = folder.path / PROOF
    path.write_bytes(path.read_bytes().replace(b"1.1", b"1.0"))
    assert same(proof_of(folder, problem, front, 10.0), PROOF_OF_THREE)
    assert len(calls) == 2


def test_a_proof_of_other_objectives_is_kept_too(folder: RunFolder, problem: Problem) -> None:
    proof = FrontProof(
        factor=np.array([1.0, 2.0]), missing=1, near=0, within=0.0, hypervolume=1.0, max_hypervolume=1.1, exact=3,
        networks=4, timed=5, waiting=0, plans=1,
    )  # fmt: skip
    keep_proof(folder, problem, proof, 1.0)
    assert same(kept.kept_proof(folder, problem), proof)
    assert json.loads((folder.path / PROOF).read_text())["kind"] == "all objectives"


def test_a_proof_with_an_infinite_figure_is_not_kept(folder: RunFolder, problem: Problem) -> None:
    keep_proof(folder, problem, replace(PROOF_OF_THREE, factor=np.array([np.inf])), 1.0)
    assert not (folder.path / PROOF).exists()
