"""The sentence on accelerators whose kernels were not measured."""

from __future__ import annotations

from typing import Any

import pytest
from order_files import order_data, order_problem

from evo_libra import load_problem
from evo_libra.network.catalog.accelerators import accelerator, load_accelerators, read_accelerator
from evo_libra.problem.designs import warnings_of
from evo_libra.problem.problem import Problem


def sentences(problem: Any) -> list[str]:
    assert isinstance(problem, Problem)
    return [note.sentence for note in problem.notes if note.name == "class-default"]


@pytest.mark.parametrize(("name", "kinds"), [
    ("h100-80gb", ()), ("h200-141gb", ()), ("a100-80gb", ()), ("b200", ()), ("gb200", ()), ("h800-80gb", ()),
    ("mi355x", ()), ("mi300x", ("decode",)), ("mi325x", ("fp8", "decode", "attention")),
    ("gaudi3", ("decode", "attention")),
    ("b300", ()), ("gb300", ()), ("l40s-48gb", ()), ("rtx-pro-6000", ()),
    ("h20-96gb", ("bf16", "fp8", "decode", "attention")), ("tpu-v6e", ("decode",)), ("tpu7x", ("fp8",)),
])  # fmt: skip
def test_an_accelerator_knows_which_kernels_were_not_measured(name: str, kinds: tuple[str, ...]) -> None:
    assert accelerator(name).class_defaults() == kinds


def test_a_figure_of_ones_own_is_no_default() -> None:
    own = {"base": "mi325x", "kernels": {"decode": {"bandwidth": 0.8, "fixed_us": 3}}, "source": "our own, 2026"}
    assert read_accelerator("ours", own).class_defaults() == ("fp8", "attention")


def test_every_accelerator_has_a_share_of_each_kernel() -> None:
    for npu in load_accelerators().values():
        assert set(npu.class_defaults()) <= npu.kernel_shares().keys()
        wide = {kind: share for kind, share in npu.kernel_shares().items() if not kind.endswith("fp4")}
        assert all(0.3 <= share <= 0.95 for share in wide.values())


def test_orders_of_measured_chips_have_no_sentence() -> None:
    assert sentences(order_problem()) == []


def test_the_sentence_has_the_kernels_that_a_workload_runs_and_the_spread_of_measured_chips() -> None:
    """Attention reaches 41 % (L40S) to 81.5 % of the peak (B300 with long sequences)."""
    systems = ["hgx-h100", "hgx-b300", "mi325x-8"]
    (sentence,) = sentences(order_problem(systems=systems, prices={"mi325x-8": 250_000}))
    assert sentence.startswith("no public measurement of kernels: the constants of mi325x (attention) are the default")
    assert "Measured chips reach 41 to 82 % of their peak in attention" in sentence


SPREAD = "Measured chips reach 51 to 84 % of their peak in bf16, 41 to 82 % of their peak in attention"


@pytest.mark.parametrize(("npu", "words"), [
    ("mi325x", "mi325x (attention)"),
    ("mi350x", f"mi350x (bf16, attention) are the default of their class. {SPREAD}"),
])  # fmt: skip
def test_a_design_has_it_too(npu: str, words: str) -> None:
    """An A100 reaches 84 % in bf16, and an MI300X 51.1."""
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
