"""Problems whose networks are of blocks that ASTRA-sim does not have, under its time."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.astra_sim.export import export_design
from evo_libra.errors import InputError
from evo_libra.problem.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
WIRED = "npu={extends: h100-80gb, ports: {nvlink4: 18, ici-v5e: 4, ici-v4: 6}, sources: {ports: 'drawn, 2026'}}"
FABRICS = {
    "torus": "{catalog: parts-2024, technologies: [ici-v4, ici-v5e, optics-400g], "
    "blocks: [torus-2d, torus-3d, switch], max_dimensions: 3}",
}


@cache
def problem_of(name: str, fabric: str, model: str = "astra") -> Problem:
    time = f"time={{model: {model}, latency_ns: 250, chunks: 8}}"
    found = load_problem(name, [f"fabric={FABRICS[fabric]}", WIRED, "npus=512", time])
    assert isinstance(found, Problem)
    return found


@given(st.sampled_from(["moe-4k", "dense-4k"]), st.sampled_from(sorted(FABRICS)), SEEDS)
@costly(60)
def test_no_block_is_faster_than_libras_time(name: str, fabric: str, seed: int) -> None:
    problem = problem_of(name, fabric)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(seed), 60))
    assert problem.time.lower_bound is not None
    time = problem.time(designs)
    assert (problem.time.lower_bound(designs) <= time * (1 + 1e-12)).all()
    again = problem.time(designs.select([7]))
    np.testing.assert_array_equal(again, time[7:8])
    assert np.isfinite(time).all()


@pytest.mark.parametrize("model", ["astra", "themis"])
@pytest.mark.parametrize("fabric", sorted(FABRICS))
def test_fronts_of_all_blocks_are_searched(fabric: str, model: str) -> None:
    problem = problem_of("moe-4k", fabric, model)
    front = search(problem, evaluations=400, population=40, seed=1)
    assert len(front) > 1
    again = problem.evaluate(front.frame["design"].to_list())
    np.testing.assert_allclose(again.objectives[0] * 1e3, front.frame["time_ms"].to_numpy(), rtol=1e-12)


def test_blocks_that_astra_sims_files_do_not_have_are_not_exported(tmp_path: Path) -> None:
    problem = problem_of("moe-4k", "torus")
    with pytest.raises(InputError, match="dimension 0 is a torus-2d; ASTRA-sim's network files have rings"):
        export_design(problem, "TO(16)@ici-v5e:180_SW(32)@optics-400g:50", tmp_path / "files")
    assert not (tmp_path / "files").exists()
