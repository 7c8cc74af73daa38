"""Problems whose designs take a second or more each: evaluated in parallel processes, with a limit of time, once."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from evo_libra.arrays import FloatArray
from evo_libra.errors import InputError
from evo_libra.files.integrity import row_digest
from evo_libra.problem.problem import Problem
from evo_libra.problem.protocol import (
    Evaluation,
    Genome,
    Objective,
    SearchProblem,
    SearchSettings,
    design_rows_of,
    topology_steps_of,
)
from evo_libra.searching.evaluation.usable import as_arrays, failed, usable
from evo_libra.searching.evaluation.workers import Done, Workers

_SECONDS = 60.0
_SQLITE = (sqlite3.Error, UnicodeDecodeError)
"""Errors of SQLite; the second one where a damaged file gets into its message."""
_TABLE = """
CREATE TABLE IF NOT EXISTS designs (
    problem TEXT NOT NULL, genes BLOB NOT NULL,
    objectives BLOB NOT NULL, violation REAL NOT NULL, failure TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (problem, genes)
) WITHOUT ROWID
"""


class Cache:
    """Evaluations of designs by their genes, in an SQLite file that several searches may share on one machine.

    Without a path nothing is kept beyond this process. Other problems in the same file, by their JSON-able identity,
    are left alone. A process that is killed loses at most the design that it was writing. A row that is not as it was
    written counts as one that is not there, so that its design is evaluated again. Raises `InputError` if the file
    cannot be opened, or is no such cache.
    """

    def __init__(self, path: Path | None, identity: Mapping[str, Any]) -> None:
        text = json.dumps(dict(identity), sort_keys=True, separators=(",", ":"), allow_nan=False)
        self._problem = hashlib.sha256(text.encode()).hexdigest()
        self._path = path
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                if path.exists() and not path.is_file():
                    raise InputError(f"the cache {path} cannot be used: it is not a regular file")
                path.touch()  # SQLite would keep the group from writing, whatever the umask is
            self._file = sqlite3.connect(path or ":memory:", timeout=_SECONDS, isolation_level=None)
            self._file.text_factory = lambda raw: raw.decode(errors="replace")  # a damaged text fits no digest
            # A log next to the file: a commit need not wait for the disk, and a kill leaves the file whole.
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.execute(_TABLE)
        except (OSError, *_SQLITE) as error:
            raise self._refusal("used", error) from None

    def get(self, genes: FloatArray) -> Evaluation | None:
        """Return the evaluation of one design, by its (g,) genes; None where it is not known."""
        key = _key(genes)
        asked = "SELECT objectives, violation, failure, digest FROM designs WHERE problem = ? AND genes = ?"
        for *values, digest in self._execute("read", asked, self._problem, key):
            if digest == row_digest(self._problem, key, *values):
                objectives = np.frombuffer(values[0], dtype="<f8").astype(np.float64)[:, None]
                if values[2]:
                    return failed(len(objectives), genes[:, None], values[2])
                return Evaluation(objectives, np.array([values[1]]))
        return None

    def put(self, genes: FloatArray, evaluation: Evaluation) -> None:
        """Keep the evaluation of one design, by its (g,) genes."""
        objectives = evaluation.objectives[:, 0].astype("<f8").tobytes()
        reason = "".join(failure.reason for failure in evaluation.failures.first)
        row = self._problem, _key(genes), objectives, float(evaluation.violation[0]), reason
        self._execute("written", "INSERT OR REPLACE INTO designs VALUES (?, ?, ?, ?, ?, ?)", *row, row_digest(*row))

    def forget_failures(self) -> None:
        """Drop the designs of this problem that could not be evaluated, so that they are tried again."""
        self._execute("written", "DELETE FROM designs WHERE problem = ? AND failure <> ''", self._problem)

    def _execute(self, what: str, statement: str, *values: bytes | str | float) -> list[Any]:
        """Return the rows that a statement finds; `what` it could not do with the file goes into the error."""
        try:
            return self._file.execute(statement, values).fetchall()
        except _SQLITE as error:
            raise self._refusal(what, error) from None

    def _refusal(self, what: str, error: Exception) -> InputError:
        # Only SQLite's own words for a file that is no sound database have a remedy for users.
        remedy = ""
        if type(error) in (sqlite3.DatabaseError, UnicodeDecodeError):
            remedy = "; move it away, and its designs are evaluated again"
        return InputError(f"the cache {self._path} cannot be {what}: {error}{remedy}")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _key(genes: FloatArray) -> bytes:
    # 0 and -0 are the same gene.
    return (genes + 0.0).astype("<f8").tobytes()


CACHE = "evaluations.sqlite"


@runtime_checkable
class SlowProblem(Protocol):
    """A problem that evaluates one design at a time; the rest is that of `evo_libra.problem.protocol.SearchProblem`."""

    name: str
    genome: Genome
    objectives: tuple[Objective, ...]
    settings: SearchSettings

    def evaluate_one(self, genes: FloatArray) -> tuple[FloatArray, float]:
        """Return the (m,) objectives and the violation of (g,) legal genes."""

    def describe(self, genes: FloatArray) -> Mapping[str, list[Any]]:
        """Return table columns that tell people what (g, n) genes mean."""

    def identity(self) -> Mapping[str, Any]:
        """Return JSON-able data that changes whenever results would."""


class OneByOne:
    """To inherit by a problem that has `evaluate_one`: makes it one that engines can search in this process, too."""

    evaluate_one: Callable[[FloatArray], tuple[FloatArray, float]]

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the evaluation of (g, n) genes, one after the other."""
        every = [self.evaluate_one(design) for design in genes.T]
        objectives = np.array([values for values, _ in every], dtype=np.float64).T
        return Evaluation(objectives, np.array([violation for _, violation in every], dtype=np.float64))


class ExpensiveProblem:
    """A problem whose designs are evaluated one by one in worker processes; a problem that engines can search.

    A design that takes too long or ends its process cannot be evaluated, nor can one by the rule of
    `evo_libra.searching.evaluation.usable`. Evaluations are kept, so that no design is evaluated twice; `on_design` is
    called after each.

    Parameters
    ----------
    problem : evaluates genes or, where it has `evaluate_one`, one design; it is sent to the processes, so its class
        must be one of a module.
    workers : processes.
    timeout : seconds that a design may take; None for any time.
    cache : the file that keeps evaluations; None keeps them for this process only.
    retry : evaluate designs again that failed when the cache was written.
    load : makes the problem in a worker process, where it cannot be sent there.
    """

    def __init__(
        self,
        problem: SearchProblem | SlowProblem,
        *,
        workers: int,
        timeout: float | None = None,
        cache: Path | str | None = None,
        retry: bool = False,
        load: Callable[[], SearchProblem | SlowProblem] | None = None,
    ) -> None:
        self.name, self.genome, self.objectives = problem.name, problem.genome, problem.objectives
        self.settings, self.describe, self.identity = problem.settings, problem.describe, problem.identity
        self.design_rows, self.step_topologies = design_rows_of(problem), topology_steps_of(problem)
        self.workers, self.problem = workers, problem
        self._workers = Workers(partial(_evaluator, load or partial(_itself, problem)), workers, timeout)
        self._where, self._retry = None if cache is None else Path(cache), retry
        self._cache: Cache | None = None
        self._flying: dict[int, FloatArray] = {}
        self._known: list[tuple[FloatArray, Evaluation]] = []
        self.on_design: Callable[[], None] = lambda: None
        # Also when the program ends without closing it: what a simulator has started must not outlive it.
        self._finalizer = weakref.finalize(self, self._workers.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker processes and close the cache; either comes back when it is needed."""
        self._workers.close()
        self._flying.clear()
        if self._cache is not None:
            self._cache.close()
            self._cache = None

    def evaluate_genes(self, genes: FloatArray) -> Evaluation:
        """Return the evaluation of (g, n) legal genes, each different design evaluated once."""
        for design in {design.tobytes(): design for design in genes.T}.values():
            self.submit(design)
        found = {design.tobytes(): evaluation for design, evaluation in self.completed(everything=True)}
        nothing = failed(len(self.objectives), genes[:, :0], "")
        return Evaluation.joined([nothing, *(found[design.tobytes()] for design in genes.T)])

    def submit(self, genes: FloatArray) -> None:
        """Have (g,) genes evaluated; `completed` returns them."""
        evaluation = self._opened().get(genes)
        if evaluation is not None and len(evaluation.objectives) == len(self.objectives):
            self._known.append((genes, evaluation))
        else:
            self._flying[self._workers.submit(np.array(genes))] = genes

    def completed(self, *, everything: bool = False) -> Iterator[tuple[FloatArray, Evaluation]]:
        """Yield the genes and the evaluation of each design that is done next, or of all that were submitted."""
        known, self._known = self._known, []
        yield from known
        waiting = everything or not known
        while waiting and self._flying:
            for done in self._workers.wait():
                genes = self._flying.pop(done.task)
                evaluation = self._evaluation(genes[:, None], done)
                self._opened().put(genes, evaluation)
                self.on_design()
                yield genes, evaluation
            waiting = everything

    def __len__(self) -> int:
        """Return the designs that were submitted and are not done."""
        return len(self._flying) + len(self._known)

    def _opened(self) -> Cache:
        if self._cache is None:
            self._cache = Cache(self._where, self.identity())
            weakref.finalize(self, self._cache.close)
            if self._retry:
                self._cache.forget_failures()
                self._retry = False
        return self._cache

    def _evaluation(self, genes: FloatArray, done: Done) -> Evaluation:
        """Return the evaluation of (g, 1) genes that a process has sent, by the rule for all designs."""
        count = len(self.objectives)
        if done.failure:
            return failed(count, genes, done.failure)
        try:
            objectives, violation = (np.array(values, dtype=np.float64) for values in done.result)
            found = Evaluation(objectives[:, None], violation[None])
        except (TypeError, ValueError, IndexError):
            return failed(count, genes, f"it returned {done.result!r:.100}, not {count} objectives and a violation")
        return usable(self, genes, as_arrays(self, genes, found))


def known_of(problem: SearchProblem) -> SearchProblem:
    """Return the problem of a file that worker processes evaluate, with all that is known of its designs."""
    inner = problem.problem if isinstance(problem, ExpensiveProblem) else problem
    return inner if isinstance(inner, Problem) else problem


def _itself(problem: SearchProblem | SlowProblem) -> SearchProblem | SlowProblem:
    return problem


def _evaluator(load: Callable[[], SearchProblem | SlowProblem]) -> Callable[[FloatArray], tuple[FloatArray, float]]:
    """Return the function that a worker runs on the genes of a design."""
    problem = load()
    if isinstance(problem, SlowProblem):
        return problem.evaluate_one
    if not isinstance(problem, SearchProblem):
        raise InputError(f"a {type(problem).__name__} has neither evaluate_one nor evaluate_genes")
    return partial(_one_of_many, problem)


def _one_of_many(problem: SearchProblem, genes: FloatArray) -> tuple[FloatArray, float]:
    found = problem.evaluate_genes(genes[:, None])
    return found.objectives[:, 0], float(found.violation[0])
