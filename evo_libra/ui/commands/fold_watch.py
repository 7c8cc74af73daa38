"""What is shown while a search runs."""

from __future__ import annotations

import math
from typing import Any

from rich.progress import Progress

from evo_libra.front.indicators import hypervolume
from evo_libra.problem.protocol import SearchProblem
from evo_libra.searching.generations import Snapshot

_REFRESH_SECONDS = 0.25


class Watch:
    """Shows evaluations, rate, size of the front and hypervolume while a search runs."""

    def __init__(self, progress: Progress, problem: SearchProblem, evaluations: int) -> None:
        self.progress, self.last = progress, -math.inf
        self.bounds: tuple[Any, Any] | None = None
        self.task = progress.add_task(problem.name, total=evaluations, figures="")

    def design(self) -> None:
        """Show one design more, in a generation that takes long."""
        self.progress.update(self.task, advance=1)

    def __call__(self, snapshot: Snapshot, seconds: float) -> None:
        """Show where a search is between two generations."""
        if seconds - self.last < _REFRESH_SECONDS or self.progress.disable:
            return
        self.last = seconds
        volume = ""
        if len(snapshot.archive):
            objectives = snapshot.archive.objectives
            # Scaled by the first front, so that the figure only ever grows.
            self.bounds = self.bounds or (objectives.min(axis=1), objectives.max(axis=1))
            volume = f"  hypervolume {hypervolume(objectives, *self.bounds):.4f}"
        figures = f"  {snapshot.evaluations:,} designs  {snapshot.evaluations / max(seconds, 1e-9):,.0f}/s"
        figures += f"  front {len(snapshot.archive):,}{volume}"
        self.progress.update(self.task, completed=snapshot.evaluations, figures=figures)
