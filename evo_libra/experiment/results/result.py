"""A result for programs: the run, its front and its problem, by the name that commands take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evo_libra.experiment.results.naming import DEFAULT, run_folder
from evo_libra.experiment.store.folder import MANIFEST, RunFolder
from evo_libra.experiment.store.stored_runs import problem_as_run
from evo_libra.front.front import Front
from evo_libra.installed import view
from evo_libra.problem.protocol import SearchProblem


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes
    ----------
    folder : of the run.
    front : its designs.
    manifest : what the front came from: problem, seed, versions, machine, times.
    """

    folder: Path
    front: Front
    manifest: Mapping[str, Any]

    @staticmethod
    def load(name: Path | str = "last", results: Path | str = DEFAULT) -> Result:
        """Return the result of a run.

        Parameters
        ----------
        name : its folder, a part of its id that no other has, or ``last``, as commands take it.
        results : the folder of results that ids belong to.

        Raises
        ------
        InputError : there is no such run, there are several, or it has no front.
        """
        run = RunFolder(run_folder(name, Path(results)))
        return Result(run.path, run.read_front(), run.read_json(MANIFEST))

    @property
    def problem(self) -> SearchProblem:
        """The problem as the run built it; an `InputError` says that it is written in Python, or has changed."""
        return problem_as_run(RunFolder(self.folder))

    def __repr__(self) -> str:
        return f"Result({str(self.folder)!r}, {len(self.front):,} designs of {', '.join(self.front.objectives)})"

    def _repr_html_(self) -> str:
        """Return the page of a report for a notebook."""
        return str(view("result_page")(self))
