"""Problems whose networks are of blocks that ASTRA-sim does not have, under its time."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from designs import design_file
from effort import costly
from hypothesis import given
from hypothesis import strategies as st

from evo_libra import load_problem, search
from evo_libra.astra_sim.export import export_design
from evo_libra.errors import InputError
from evo_libra.explain.explain import explain
from evo_libra.problem.problem import Problem

SEEDS = st.integers(0, 2**32 - 1)
WIRED = "npu={base: h100-80gb, ports: {nvlink4: 18, ici-v5e: 4, ici-v4: 6}, sources: {ports: 'drawn, 2026'}}"
PROBLEMS = {
    "tori": ("moe-4k", WIRED, "npus=512", "fabric.technologies=[ici-v4, ici-v5e, optics-400g]",
             "fabric.blocks=[torus-2d, torus-3d, switch]"),
    "tori-dense": ("dense-4k", WIRED, "npus=512", "fabric.technologies=[ici-v5e, optics-400g]",
                   "fabric.blocks=[torus-2d, switch]"),
    "hypercube": ("moe-4k", WIRED, "npus=512", "fabric.domains=any", "fabric.blocks=[hypercube, switch]"),
    "ocs": ("moe-4k", "npus=512", "fabric.blocks=[ring, switch, ocs-rail]"),
    "fred": ("wafer-20", "fabric.technologies=[wafer-fred]", "fabric.blocks=[fred-a, fred-b, fred-c, fred-d]"),
    "wafer": ("wafer-20",),
    "mesh": ("wafer-20", "fabric.technologies=[wafer-mesh]", "fabric.blocks=[mesh-2d]"),
}  # fmt: skip


@cache
def problem_of(kind: str, model: str = "astra") -> Problem:
    name, *assignments = PROBLEMS[kind]
    time = f"time={{model: {model}, latency_ns: 250, chunks: 8, ocs_setting_us: 20}}"
    found = load_problem(design_file(name), [*assignments, time])
    assert isinstance(found, Problem)
    return found


@pytest.mark.slow
@given(st.sampled_from(sorted(PROBLEMS)), SEEDS)
@costly(25 * len(PROBLEMS))
def test_no_block_is_faster_than_libras_time(kind: str, seed: int) -> None:
    problem = problem_of(kind)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(seed), 60))
    assert problem.time.lower_bound is not None
    time = problem.time(designs)
    assert (problem.time.lower_bound(designs) <= time * (1 + 1e-12)).all()
    again = problem.time(designs.select([7]))
    np.testing.assert_array_equal(again, time[7:8])
    assert np.isfinite(time).all()


@pytest.mark.parametrize("model", ["astra", "themis"])
@pytest.mark.parametrize("kind", sorted(PROBLEMS))
def test_fronts_of_all_blocks_are_searched(kind: str, model: str) -> None:
    problem = problem_of(kind, model)
    front = search(problem, evaluations=400, population=40, seed=1)
    assert len(front) >= 1
    again = problem.evaluate(front.frame["design"].to_list())
    np.testing.assert_allclose(again.objectives[0] * 1e3, front.frame["time_ms"].to_numpy(), rtol=1e-12)


def test_circuits_are_set_where_groups_share_them() -> None:
    """Experts and data parallelism have rings of their own on an OCS of both; on one of either, these stay."""
    fixed, slow = (
        load_problem("moe-4k", [
            "npus=512", "fabric.blocks=[switch, ocs-rail]", "workloads[0].parallelism={tp: 8, ep: 16}",
            f"time={{model: astra, latency_ns: 250, chunks: 8, ocs_setting_us: {setting}}}",
        ]) for setting in (0, 1000)
    )  # fmt: skip
    assert isinstance(fixed, Problem)
    assert isinstance(slow, Problem)
    both, one, none = (
        "SW(8)@nvlink4:450_OC(64)@optics-400g:50",
        "SW(8)@nvlink4:450_SW(16)@copper-400g:50_OC(4)@optics-400g:50",
        "SW(8)@nvlink4:450_SW(64)@optics-400g:50",
    )
    more = slow.time(slow.read([both, one, none])) - fixed.time(fixed.read([both, one, none]))
    (loop,) = explain(slow, slow.read(both))["workloads"]
    counts = [entry["count"] for entry in loop["collectives"] if entry["group"] != "tp"]
    np.testing.assert_allclose(more, [1e-3 * sum(counts), 0.0, 0.0], atol=1e-12)
    assert loop["time_ms"] == pytest.approx(slow.time(slow.read(both))[0] * 1e3)


def test_blocks_that_astra_sims_files_do_not_have_are_not_exported(tmp_path: Path) -> None:
    problem = problem_of("tori")
    with pytest.raises(InputError, match="dimension 0 is a torus-2d; ASTRA-sim's network files have rings"):
        export_design(problem, "TO(16)@ici-v5e:180_SW(32)@optics-400g:50", tmp_path / "files")
    assert not (tmp_path / "files").exists()
    time = "time={model: astra, latency_ns: 250, ocs_setting_us: 1}"
    slow = load_problem("moe-4k", ["npus=512", time])
    assert isinstance(slow, Problem)
    with pytest.raises(InputError, match=r"dimension 1 is an ocs-rail; ASTRA-sim has no time.ocs_setting_us"):
        export_design(slow, "SW(8)@nvlink4:450_OC(64)@optics-400g:50", tmp_path / "files")
