"""Bands of figures: a record, what two reasons give together, and those of kernels that were not measured."""

from __future__ import annotations

import pickle
from math import hypot, log
from typing import Any

import numpy as np
import pytest
from order_files import order_data, order_problem

from evo_libra import load_problem, search
from evo_libra.network.catalog.accelerator import Accelerator
from evo_libra.network.catalog.accelerators import accelerator, load_accelerators
from evo_libra.problem.bands import Band, bands_of, combined, read_parts, written_factors
from evo_libra.problem.file.kernel_defaults import KernelBands
from evo_libra.problem.file.kernel_spread import Assumed, at_end, measured_spread
from evo_libra.problem.problem import Problem

OWN = "our own, 2026"


def band(low: float, high: float, of: str = "one", rows: int = 4, years: tuple[int, int] = (2024, 2025)) -> Band:
    return Band(low_factor=low, high_factor=high, of=of, rows=rows, years=years)


def test_two_reasons_add_up_as_squares_of_logarithms() -> None:
    """ln 1.3 = 0.26236 and ln 1.2 = 0.18232: sqrt(0.068833 + 0.033241) = 0.319491, exp of it 1.37643."""
    found = combined(band(1 / 1.3, 1.3), band(1 / 1.2, 1.2, of="other", rows=2, years=(2021, 2022)))
    assert found.high_factor == pytest.approx(1.37643, abs=1e-5)
    assert found.low_factor == pytest.approx(1 / 1.37643, abs=1e-5)
    assert (found.of, found.rows, found.years) == ("one; other", 6, (2021, 2025))


def measured(kind: str) -> list[Accelerator]:
    chips = load_accelerators().values()
    return [npu for npu in chips if kind in npu.kernel_shares() and kind not in npu.class_defaults()]


def test_the_spread_is_that_of_measured_chips() -> None:
    chips, spread = measured("decode"), measured_spread("decode")
    assert spread is not None
    constants = [npu.decode_constants() for npu in chips]
    assert spread.chips == len(chips)
    assert spread.shares == (min(c.bandwidth for c in constants), max(c.bandwidth for c in constants))
    assert spread.slow["fixed_us"] == max(c.fixed_us for c in constants)
    assert spread.fast["fixed_us"] == min(c.fixed_us for c in constants)
    assert 2021 <= spread.years[0] <= spread.years[1] <= 2026
    assert measured_spread("made up") is None


def test_a_precision_that_one_chip_was_measured_in_has_the_spread_of_all_narrow_ones() -> None:
    # MXFP4 was measured on the MI355X alone: a spread of one chip would be none.
    found = measured_spread("mxfp4")
    assert found is not None
    assert found == measured_spread("mxfp4")
    low, high = found.shares
    assert low < 0.477 < high
    assert found.chips > 5


def test_an_end_has_the_slowest_constants_of_measured_chips_and_leaves_the_others() -> None:
    npu = accelerator("mi350x")
    slow, fast = (at_end(npu, (Assumed("attention"),), end) for end in ("slow", "fast"))
    chips = [chip.attention_constants() for chip in measured("attention")]
    assert slow.attention_constants().plateau == min(c.plateau for c in chips)
    assert slow.attention_constants().half_tokens == max(c.half_tokens for c in chips)
    assert fast.attention_constants().plateau == max(c.plateau for c in chips)
    assert slow.attention_constants().backward == npu.attention_constants().backward
    assert (slow.gemm, slow.decode) == (npu.gemm, npu.decode)


def test_a_share_beyond_the_measured_ones_stays() -> None:
    """A class default of a TPU reaches more in fp8 than any chip whose products in fp8 were measured."""
    npu = accelerator("trainium2")
    assert npu.gemm["fp8"].plateau > max(chip.gemm["fp8"].plateau for chip in measured("fp8"))
    assert at_end(npu, (Assumed("fp8"),), "fast").gemm["fp8"].plateau == npu.gemm["fp8"].plateau


def test_a_part_of_constants_alone_is_at_an_end() -> None:
    """Quantising to fp8 moves 2.3 bytes of an element on an L40S, and 10.4 on an H100; no table is of an MI355X's."""
    npu = accelerator("mi355x")
    slow, fast = (at_end(npu, (Assumed("fp8", part="quantisation"),), end).gemm["fp8"] for end in ("slow", "fast"))
    assert (slow.quantisation, fast.quantisation) == (10.4, 2.3)
    assert slow.plateau == fast.plateau == npu.gemm["fp8"].plateau


def test_a_peak_that_nobody_publishes_is_at_the_ends_of_the_ratios_of_others() -> None:
    """VR200's 4,000 of 17,500 TFLOPS is the smallest share in bf16, and Gaudi 3 has one rate for both."""
    npu = accelerator("maia-200")
    slow, fast = (at_end(npu, (Assumed("attention"),), end).peak["bf16"] for end in ("slow", "fast"))
    assert slow == pytest.approx(5072e12 * 4000 / 17500)
    assert fast == 5072e12


def design_data(npu: Any) -> dict[str, Any]:
    data = order_data()
    data["workloads"][0]["parallelism"] = {"tp": 8, "pp": 1}
    data["workloads"][0]["training"]["tp_domain"] = "any"
    data["workloads"][0]["training"] |= {"global_batch": 64, "micro_batch": 1, "recompute": "full", "zero": 1}
    fabric = {"catalog": "products-2025", "technologies": ["optics-400g"], "blocks": ["switch"], "max_dimensions": 1}
    return {key: data[key] for key in ("version", "name", "workloads")} | {
        "npus": 64, "npu": npu, "objectives": ["time", "cost"], "time": "libra", "bandwidth": "ports",
        "fabric": fabric,
    }  # fmt: skip


DESIGN = "SW(64)@optics-400g:50"


def seconds(npu: Any) -> float:
    return float(load_problem(design_data(npu)).evaluate(DESIGN).objectives[0, 0])  # type: ignore[union-attr]


@pytest.mark.slow
def test_the_band_of_a_design_is_between_its_times_with_the_constants_of_both_ends() -> None:
    problem = load_problem(design_data("mi350x"))
    assert isinstance(problem, Problem)
    (source,) = (one for one in problem.band_sources if isinstance(one, KernelBands))
    (found,) = source.bands(problem, problem.read(DESIGN))
    ends = []
    for choose, other in ((min, max), (max, min)):
        chips = {kind: measured(kind) for kind in ("bf16", "attention")}
        products = {
            "plateau": choose(npu.gemm["bf16"].plateau for npu in chips["bf16"]), "fixed_us": 3.5, "quantisation": 0,
        }  # fmt: skip
        attention = [npu.attention_constants() for npu in chips["attention"]]
        mine = {
            "plateau": choose(c.plateau for c in attention), "half_tokens": other(c.half_tokens for c in attention),
            "backward": accelerator("mi350x").attention_constants().backward,
        }  # fmt: skip
        ends.append(seconds({"base": "mi350x", "kernels": {"bf16": products, "attention": mine}, "source": OWN}))
    slow, fast = ends
    stated = seconds("mi350x")
    assert found["time_ms"].low_factor == pytest.approx(fast / stated, rel=1e-12)
    assert found["time_ms"].high_factor == pytest.approx(slow / stated, rel=1e-12)
    assert found["time_ms"].of == "class default of mi350x (bf16, attention)"
    assert set(found) == {"time_ms"}


@pytest.mark.slow
def test_both_reasons_are_parts_of_a_band() -> None:
    problem = load_problem(design_data("h20-96gb"))
    assert isinstance(problem, Problem)
    kernels, rows = (
        source.bands(problem, problem.read(DESIGN))[0]["time_ms"] for source in reversed(problem.band_sources)
    )
    (found,) = bands_of(problem, problem.read(DESIGN))
    assert found["time_ms"].parts == (*rows.parts, *kernels.reasons)
    together = hypot(log(kernels.high_factor), log(rows.high_factor))
    assert log(found["time_ms"].high_factor) == pytest.approx(together, rel=1e-12)


@pytest.mark.slow
def test_designs_of_measured_chips_have_the_band_of_their_class() -> None:
    problem = load_problem(design_data("h100-80gb"))
    assert isinstance(problem, Problem)
    (found,) = bands_of(problem, problem.read(DESIGN))
    assert found["time_ms"].of == "time of h100-80gb, bf16, dense, replicas"


def mixed_problem() -> Problem:
    """Return servers of a measured chip that are cheaper and slower than those of one that was not measured."""
    return order_problem(
        systems=["hgx-h100", "mi350x-8"], npus=64, objectives=["time", "order-cost", "tokens-per-s"],
        prices={"hgx-h100": 100_000, "mi350x-8": 250_000}, search={"evaluations": 1_000_000, "epsilon": 0},
    )  # fmt: skip


@pytest.mark.slow
def test_rows_of_a_front_have_bands_where_kernels_were_not_measured() -> None:
    problem = mixed_problem()
    frame = search(problem).frame
    assert set(frame["system"]) == {"hgx-h100", "mi350x-8"}
    assert [name for name in frame.columns if name.startswith(("low_", "high_"))] == [
        "low_time_ms", "high_time_ms", "low_s_per_Mtoken", "high_s_per_Mtoken",
    ]  # fmt: skip
    designs = frame["design"].to_list()
    found = bands_of(problem, problem.read(designs))
    for row, mine in zip(frame.to_dicts(), found, strict=True):
        ends = row["low_time_ms"], row["high_time_ms"]
        assert ends == mine["time_ms"].around(row["time_ms"])
        assert ends[0] <= row["time_ms"] < ends[1]
        assert row["low_s_per_Mtoken"] / row["s_per_Mtoken"] == pytest.approx(mine["time_ms"].low_factor)
        assert row["band"] == mine["time_ms"].of
        defaults = [part.of for part in mine["time_ms"].parts if part.of.startswith("class default")]
        unmeasured = [] if row["system"] == "hgx-h100" else ["class default of mi350x (bf16, attention)"]
        assert defaults == unmeasured
        assert read_parts(row["band"], row["band_factors"]) == mine["time_ms"].parts
    again = pickle.loads(pickle.dumps(problem))  # noqa: S301 - our own
    assert bands_of(again, again.read(designs)) == found


@pytest.mark.slow
def test_the_band_of_two_kinds_of_constants_is_one_reason_in_texts() -> None:
    # Some constants of TPU7x are defaults, and one measurement gave others.
    problem = load_problem("qwen3-235b-256")
    assert isinstance(problem, Problem)
    designs = problem.decode(problem.genome.sample(np.random.default_rng(0), 40))
    each = [found for source in problem.band_sources for found in source.bands(problem, designs)]
    bands = [band for found in each for band in found.values()]
    assert any("class default of tpu7x" in one.of and "one measurement of tpu7x" in one.of for one in bands)
    assert all(read_parts(one.of, written_factors(one.reasons)) == tuple(one.reasons) for one in bands)
