"""Themis' published figures: six networks of 1024 NPUs, an all-reduce of 1000 MiB in 64 chunks."""

from __future__ import annotations

import numpy as np
import pytest
from themis_speedups import astra_times

from evo_libra.validation.themis import (
    BASELINE,
    FIFO,
    LARGEST,
    SIZES,
    SMALLEST,
    THEMIS,
    figures,
    geometric_mean,
    paper_times,
    published_times,
    speedups,
    used,
)


@pytest.mark.parametrize(("scheduler", "points", "error"), [(BASELINE, 1, 0.01), (FIFO, 6, 0.12), (SMALLEST, 2, 0.03)])
def test_average_utilisations_and_times(scheduler: str, points: float, error: float) -> None:
    time = paper_times(LARGEST)[scheduler]
    assert len(time) == 6
    assert abs(used(time).mean() - figures()["utilisation_percent"][scheduler]) < points
    assert np.abs(time / published_times(scheduler) - 1).mean() < error


def test_mean_and_largest_speedups() -> None:
    some = [speedups(paper_times(size)) for size in (SIZES[0], SIZES[9], SIZES[-1])]
    first, smallest = (np.array([one[scheduler] for one in some]) for scheduler in (FIFO, SMALLEST))
    assert geometric_mean(first) == pytest.approx(figures()["mean_speedup"][FIFO], abs=0.05)
    assert geometric_mean(smallest) == pytest.approx(figures()["mean_speedup"][SMALLEST], abs=0.03)
    assert smallest.max() == pytest.approx(figures()["largest_speedup"], abs=0.06)


def test_astra_sims_gains_are_the_papers_without_latency_and_fully_connected_links() -> None:
    plain, alike = speedups(astra_times(LARGEST)), speedups(astra_times(LARGEST, has_latency=False, is_whole=True))
    paper = speedups(paper_times(LARGEST))
    for scheduler in (FIFO, SMALLEST):
        assert geometric_mean(plain[scheduler]) < 1.25
        assert geometric_mean(alike[scheduler]) == pytest.approx(geometric_mean(paper[scheduler]), abs=0.05)


@pytest.mark.slow
def test_the_error_of_astra_sims_own_themis() -> None:
    found, theirs = [speedups(astra_times(size)) for size in SIZES], figures()
    means = [geometric_mean(np.array([one[name] for one in found])) for name in theirs["mean_speedup"]]
    values = [*theirs["mean_speedup"].values(), theirs["largest_speedup"]]
    errors = np.abs(np.array([*means, max(one[SMALLEST].max() for one in found)]) / values - 1)
    anchor = next(source.anchor for source in THEMIS if source.name == "themis-speedup")
    assert anchor.endswith(f" {100 * errors.mean():.0f} % mean, {100 * errors.max():.0f} % max")
