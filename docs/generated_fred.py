"""Tables of the page about FRED's wafer: published gains next to computed ones, and what each difference hangs on."""

from __future__ import annotations

import math

from layout import table

from evo_libra.validation.fred_runs import MESH, RUNS, SWEEPS, TREE_D


def fred_runs() -> str:
    """Return a table of the speed-ups of trees C and D, and of how much faster NPUs would have to compute."""
    rows = []
    for run in RUNS:
        seconds, gains = run.seconds(), zip(run.published, run.speedups(), strict=True)
        figures = [
            text for published, ours in gains for text in (f"{published:.2f}", f"{ours:.2f}", _off(ours, published))
        ]
        rows.append([
            f"{run.name}, {run.strategy}", *(f"{1e3 * seconds[network]:.4g}" for network in (MESH, TREE_D)), *figures,
            _times(run.missing_speed()),
        ])  # fmt: skip
    return table(
        ["workload", "mesh [ms]", "tree D [ms]", "C published", "C here", "C off [%]", "D published", "D here",
         "D off [%]", "missing speed"],
        rows,
    )  # fmt: skip


def fred_strategies() -> str:
    """Return a table of the averages over strategies, and of the fastest ones on tree D."""
    rows = []
    for sweep in SWEEPS:
        time, exposed = sweep.gains()
        fastest = min(sweep.strategies(), key=lambda one: one.seconds[1])
        rows.append([
            sweep.name, f"{sweep.speedup:.2f}", f"{time:.2f}", f"{sweep.exposed:.2f}", f"{exposed:.2f}", sweep.best,
            fastest.name, _off(sweep.beside_fastest(), 1.0), _times(sweep.missing_speed()),
        ])  # fmt: skip
    return table(
        ["model", "time published", "here", "exposed published", "here", "fastest published", "fastest here",
         "published one slower by [%]", "missing speed"],
        rows,
    )  # fmt: skip


def _off(ours: float, published: float) -> str:
    return f"{100 * (ours / published - 1):.1f}"


def _times(factor: float) -> str:
    return "none is enough" if math.isinf(factor) else f"{factor:.3g}"
