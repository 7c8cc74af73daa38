"""The sentence on accelerators whose kernels were not measured."""

from __future__ import annotations

from typing import Any

import pytest
from order_files import order_data, order_problem

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.network.catalog.accelerators import accelerator, load_accelerators, read_accelerator
from evo_libra.problem.designs import warnings_of
from evo_libra.problem.file.kernel_defaults import default_kernels
from evo_libra.problem.file.kernel_spread import assumed_kernels, assumed_of, measured_spread
from evo_libra.problem.file.spec import WorkloadSpec
from evo_libra.problem.problem import Problem


def sentences(problem: Any) -> list[str]:
    assert isinstance(problem, Problem)
    return [note.sentence for note in problem.notes if note.name == "class-default"]


BACKWARD = "attention.backward"
NARROW = ("bf16", "fp8", "mxfp8", "mxfp4", "int8", "decode", "attention")


@pytest.mark.parametrize(("name", "kinds"), [
    ("a100-80gb", ("int8",)), ("h100-80gb", ("int8", BACKWARD)), ("h200-141gb", ("int8", BACKWARD)),
    ("h800-80gb", ("int8", BACKWARD)), ("b200", ("mxfp4", "int8", BACKWARD)), ("gb200", ("mxfp4", "int8", BACKWARD)),
    ("b300", ("mxfp4", BACKWARD)), ("gb300", ("mxfp4", BACKWARD)), ("l40s-48gb", ("int8", BACKWARD)),
    ("rtx-pro-6000", ("mxfp8", "mxfp4", BACKWARD)),
    ("mi355x", ("fp8.quantisation", "mxfp8", "mxfp4.quantisation", "int8")),
    ("mi300x", ("fp8.quantisation", "int8", "decode", BACKWARD)), ("mi325x", ("fp8", "int8", "decode", "attention")),
    ("mi350x", NARROW), ("mi455x", NARROW), ("gaudi3", ("fp8.quantisation", "decode", "attention")),
    ("h20-96gb", ("bf16", "fp8", "int8", "decode", BACKWARD)), ("tpu-v6e", ("fp8", "int8", "decode", BACKWARD)),
    ("tpu7x", ("fp8", BACKWARD)), ("ascend-910c", ("bf16", "attention.half_tokens", BACKWARD)),
])  # fmt: skip
def test_an_accelerator_knows_which_constants_were_not_measured(name: str, kinds: tuple[str, ...]) -> None:
    assert accelerator(name).class_defaults() == kinds


@pytest.mark.parametrize(("name", "kinds"), [
    ("mi300x", ("bf16",)), ("mi325x", ("bf16",)), ("tpu-v6e", ("bf16", "attention")), ("gaudi3", ("fp8",)),
    ("tpu7x", ("decode", "attention")), ("ascend-910c", ("int8", "decode", "attention")),
    ("b200", ()), ("h20-96gb", ()),
])  # fmt: skip
def test_an_accelerator_knows_which_measurements_nothing_has_tried(name: str, kinds: tuple[str, ...]) -> None:
    assert accelerator(name).unchecked_kernels() == kinds


@pytest.mark.parametrize(("name", "precision"), [
    ("maia-200", "fp4"), ("tpu-v5p", "fp8"), ("tpu-v5p", "int8"), ("trainium3", "mxfp4"), ("b300", "mxfp4"),
    ("mi455x", "mxfp8"),
])  # fmt: skip
def test_a_precision_without_a_table_has_the_rate_of_the_nearest_one_and_says_so(name: str, precision: str) -> None:
    npu = accelerator(name)
    (found,) = [one for one in assumed_of(npu) if one.kind == precision]
    assert found.near
    assert str(found) == f"{precision} by its nearest precision"
    assert npu.gemm[precision].plateau in {
        constants.plateau for kind, constants in npu.gemm.items() if kind != precision
    }
    plain, wide = measured_spread(precision), found.spread
    assert plain is not None
    assert wide is not None
    assert wide.shares[0] <= plain.shares[0] < plain.shares[1] <= wide.shares[1]


def test_a_data_sheet_alone_has_the_constants_of_a_measured_chip_of_its_generation() -> None:
    """A B200 reaches 66.6 % in fp8, 75.3 % of its memory bandwidth and 65.4 % in attention; int8 has fp8's."""
    sheet = {
        "generation": "blackwell", "peak_TFLOPS": {"bf16": 500, "fp8": 1000, "int8": 1000}, "source": "made up, 2026",
        "memory": {"capacity_GB": 100, "bandwidth_GBps": 4000},
    }  # fmt: skip
    npu = read_accelerator("sheet", sheet)
    assert npu.kernel_shares() == {"bf16": 0.656, "fp8": 0.666, "int8": 0.666, "decode": 0.753, "attention": 0.654}
    assert npu.gemm["int8"].quantisation == 10.4
    assert npu.class_defaults() == tuple(npu.kernel_shares())
    assert read_accelerator("other", sheet | {"generation": None}).gemm["bf16"] == accelerator("h100-80gb").gemm["bf16"]


SHEET = {
    "peak_TFLOPS": {"bf16": 500, "fp8": 1000}, "source": "made up, 2026",
    "memory": {"capacity_GB": 100, "bandwidth_GBps": 4000},
}  # fmt: skip
"""A data sheet with nothing but peaks and memory."""


@pytest.mark.parametrize(
    ("generation", "chip", "said"),
    [
        ("ampere", "a100-80gb", "a100-80gb"),
        ("ada", "l40s-48gb", "l40s-48gb"),
        ("hopper", "h100-80gb", "h100-80gb"),
        ("blackwell", "b200", "b200"),
        ("rubin", "b200", "b200, because no Rubin was measured"),
        ("cdna3", "mi300x", "mi300x"),
        ("cdna4", "mi355x", "mi355x"),
        ("tpu", "tpu7x", "tpu7x"),
        (None, "h100-80gb", "h100-80gb, as its entry has no generation"),
    ],
)
def test_a_data_sheet_has_the_constants_of_the_measured_chip_of_its_kind_and_says_so(
    generation: str | None, chip: str, said: str
) -> None:
    npu, lender = read_accelerator("sheet", SHEET | {"generation": generation}), accelerator(chip)
    assert npu.gemm["bf16"] == lender.gemm["bf16"]
    assert npu.decode == lender.decode
    assert npu.attention == lender.attention
    assert f"those of the {said} (" in npu.source_of_kernels("attention")
    (note,) = default_kernels([npu], [workload({"training": {"precision": "bf16"}})])
    assert (
        f"the constants of sheet (bf16, attention, those of the {said}) are the default of their class" in note.sentence
    )


def test_a_generation_that_is_not_known_is_refused_with_the_nearest() -> None:
    for word, near in (("blackwel", "blackwell"), ("cdna5", "cdna"), ("TPU", "tpu")):
        with pytest.raises(InputError, match=rf"generation: unknown generation '{word}'.*did you mean '{near}") as told:
            read_accelerator("sheet", SHEET | {"generation": word})
        assert "allowed: ampere, ada, hopper, blackwell, rubin, cdna3, cdna4, tpu" in str(told.value)


def test_a_generation_of_an_entry_with_a_base_is_its_own() -> None:
    assert read_accelerator("next", {"base": "b200", "generation": "rubin"}).generation == "rubin"
    assert read_accelerator("same", {"base": "b200"}).generation == "blackwell"


def test_a_precision_that_the_hardware_has_not_stays_refused() -> None:
    for name, precision in (("h100-80gb", "fp4"), ("a100-80gb", "fp8"), ("mi355x", "fp4"), ("trainium3", "fp4")):
        with pytest.raises(InputError, match=f"{name} has no kernel constants for {precision}"):
            accelerator(name).gemm_constants(precision)


def test_a_constant_that_was_not_measured_counts_where_it_is_used() -> None:
    """Training quantises inputs in a kernel of its own: 2.3 bytes of an element on an L40S, 10.4 on an H100."""
    npu = accelerator("mi355x")
    training, serving = ({"training": {"precision": "fp8"}}, {"serving": {"weights": "fp8"}})
    found = {key: assumed_kernels([npu], [workload(one)]) for key, one in (("t", training), ("s", serving))}
    assert [str(one) for one in found["t"]["mi355x"]] == ["fp8 quantisation"]
    assert found["s"] == {}
    (note,) = default_kernels([npu], [workload(training)])
    assert note.sentence == (
        "no public measurement of kernels: the constants of mi355x (fp8 quantisation) are the default of their class. "
        "Measured chips have 2.3 to 10.4 bytes for each element that is quantised (fp8); at these ends are the bands "
        "of the times"
    )


def workload(given: dict[str, Any]) -> WorkloadSpec:
    ((kind, keys),) = given.items()
    more = (
        {"sequence": 1024, "global_batch": 32}
        if kind == "training"
        else {"input": 1024, "output": 128, "concurrency": 8}
    )
    return WorkloadSpec.model_validate({"name": "one", "model": "llama-3-8b", kind: {**keys, **more}})


def test_a_figure_of_ones_own_is_no_default() -> None:
    own = {"base": "mi325x", "kernels": {"decode": {"bandwidth": 0.8, "fixed_us": 3}}, "source": "our own, 2026"}
    assert read_accelerator("ours", own).class_defaults() == ("fp8", "int8", "attention")


def test_every_accelerator_has_a_share_of_each_kernel_that_it_runs() -> None:
    for npu in load_accelerators().values():
        assert npu.gemm.keys() == npu.peak.keys()
        assert npu.decode is not None
        assert npu.attention is not None
        wide = {kind: share for kind, share in npu.kernel_shares().items() if not kind.endswith("fp4")}
        assert all(0.3 <= share <= 0.95 for share in wide.values())


def test_orders_of_measured_chips_have_no_sentence() -> None:
    assert sentences(order_problem()) == []


@pytest.mark.slow
def test_the_sentence_has_the_kernels_that_a_workload_runs_and_the_spread_of_measured_chips() -> None:
    """Attention reaches 41 % (L40S) to 85.3 % of the peak (H20 with long sequences)."""
    systems = ["hgx-h100", "hgx-b300", "mi325x-8"]
    (sentence,) = sentences(order_problem(systems=systems, prices={"mi325x-8": 250_000}))
    assert sentence.startswith("no public measurement of kernels: the constants of mi325x (attention) are the default")
    assert "reach 42 to 85 % of their peak in attention" in sentence


SPREAD = "Measured chips reach 51 to 89 % of their peak in bf16, 42 to 85 % of their peak in attention"


@pytest.mark.parametrize(("npu", "words"), [
    ("mi325x", "mi325x (attention)"),
    ("mi350x", f"mi350x (bf16, attention) are the default of their class. {SPREAD}"),
])  # fmt: skip
def test_a_design_has_it_too(npu: str, words: str) -> None:
    """An A100 reaches 89 % in bf16, and an MI300X 51.1."""
    data = order_data()
    data["workloads"][0]["parallelism"] = {"tp": 8, "pp": 1}
    data["workloads"][0]["training"] |= {
        "global_batch": 64,
        "micro_batch": 1,
        "recompute": "full",
        "zero": 1,
        "tp_domain": "any",
    }
    fabric = {"catalog": "products-2025", "technologies": ["optics-400g"], "blocks": ["switch"], "max_dimensions": 1}
    design = {key: data[key] for key in ("version", "name", "workloads")} | {
        "npus": 64, "npu": npu, "objectives": ["time", "cost"], "time": "libra", "bandwidth": "ports",
        "fabric": fabric,
    }  # fmt: skip
    (sentence,) = sentences(load_problem(design))
    assert words in sentence


@pytest.mark.slow
@pytest.mark.parametrize(("design", "named"), [
    ("72 hgx-h100 / 1 x 400G / qm9700 tor 2:1", ()),
    ("72 mi325x-8 / connectx-7 1 x 400G / qm9700 tor 2:1", ("mi325x",)),
    ("72 mi350x-8 / connectx-7 1 x 400G / qm9700 tor 2:1", ("mi350x",)),
])  # fmt: skip
def test_a_single_order_has_the_sentence_on_its_own_chip(design: str, named: tuple[str, ...]) -> None:
    """A front of all has that on both chips."""
    systems = ["hgx-h100", "mi325x-8", "mi350x-8"]
    prices = {"mi350x-8": 200_000, "mi325x-8": 200_000}
    problem = order_problem(systems=systems, npus=576, fabric={"switches": ["qm9700"]}, prices=prices)
    (both,) = sentences(problem)
    assert "mi325x (" in both
    assert "mi350x (" in both
    found = [warned.quirk.sentence for warned in warnings_of(problem, [f"{design} | dp576 mb1 zero1"])]
    assert len(found) == len(named)
    for sentence, name in zip(found, named, strict=True):
        assert f"the constants of {name} (" in sentence
    assert [warned.quirk.sentence for warned in warnings_of(problem, ["any", "other"])] == [both]
