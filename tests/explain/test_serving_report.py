"""A served model on 64 NPUs: figures against each other and against `evaluate`, worked by hand."""

from __future__ import annotations

from functools import cache

import pytest
from designs import design_file

from evo_libra import load_problem, search
from evo_libra.explain import step_report as serving_report
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.explain import breakdown_of
from evo_libra.explain.time_record import Serving
from evo_libra.explain.verdict import verdict
from evo_libra.problem.bands import bands_of
from evo_libra.problem.problem import Problem

DESIGN = "SW(8)@nvlink4:450_CL(8)@optics-400g:50 npu=h100-80gb | tp8 dp8 c8 bf16 kv-bf16"


@cache
def chat(*changes: str) -> Problem:
    found = load_problem(design_file("llama3-70b-serving"), changes)
    assert isinstance(found, Problem)
    return found


def report(problem: Problem, design: str = DESIGN) -> Serving:
    (workload,) = breakdown_of(problem, problem.read(design), alternatives=False).workloads
    assert workload.serving is not None
    return workload.serving


@pytest.mark.slow
def test_what_users_see() -> None:
    found, tpot = report(chat()), chat().evaluate(DESIGN).objectives[0, 0]
    # 64 NPUs are 8 replicas of 8, with 8 users each.
    assert (found.replicas, found.prefill_replicas, found.users, found.concurrency) == (8, 0, 64, 8)
    assert (found.input, found.output, found.prefill_parallelism, found.transfer_ms) == (1000, 500, {}, None)
    assert found.tpot_ms == pytest.approx(tpot * 1e3)
    # A prompt alone takes its parts, and with 7 others before it in the mean 4.5 times as long.
    assert found.ttft_one_user_ms == pytest.approx(sum(found.prefill_ms.values()))
    assert found.ttft_ms == pytest.approx(4.5 * found.ttft_one_user_ms)
    # 64 users get 500 tokens in the time of a request.
    assert found.tokens_per_s == pytest.approx(64 * 500 / (found.request_ms / 1e3))
    assert found.tokens_per_s_per_npu == pytest.approx(500 / (found.request_ms / 1e3))
    assert set(found.prefill_ms) == {"compute", "head", "overhead", "tensor"}
    assert set(found.decode_ms) == {"cache", "compute", "head", "overhead", "tensor"}
    # Eighty layers move 2 x 70.6e9 bytes of weights over 8 NPUs through memory at 3.35 TB/s at most, 5.3 ms.
    assert found.decode_ms["compute"] == pytest.approx(7.13, abs=0.01)
    # 160 all-reduces of 16.4 MB: 13.69 ms of bytes, and 160 x 75.3 us that 14.2 MB before the first byte take.
    assert found.prefill_ms["tensor"] == pytest.approx(13.69 + 12.05, abs=0.01)


@pytest.mark.slow
def test_costs_of_a_token() -> None:
    found, problem = report(chat()), chat()
    assert found.usd_per_Mtoken == pytest.approx(problem.evaluate(DESIGN).objectives[1, 0])
    # 64 NPUs of 700 W and the network, over the tokens of a second.
    watts = problem.measure(problem.read(DESIGN)).watts[0]
    assert found.energy_per_token_J == pytest.approx((64 * 700 + watts) / found.tokens_per_s)
    priced = chat("fabric={catalog: libra, max_dimensions: 2}", "bandwidth={max_GBps: 1000}", "npu=h100-80gb",
                  "time=libra", "objectives=[tpot, cost]", "tco=null")  # fmt: skip
    bare = report(priced, "SW(64)@pod:450 | tp8 dp8 c8 bf16 kv-bf16")
    assert (bare.energy_per_token_J, bare.usd_per_Mtoken) == (None, None)


@pytest.mark.slow
def test_the_formula_against_requests_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found = report(chat())
    simulated = found.simulated
    assert simulated is not None
    assert found.not_simulated == ""
    assert simulated.formula_off_percent == pytest.approx({
        "tpot": 100 * (found.tpot_ms / simulated.tpot_ms - 1),
        "tokens_per_s": 100 * (found.tokens_per_s / simulated.tokens_per_s - 1),
    }, abs=1e-9)  # fmt: skip
    assert [simulated.tpot_ms, simulated.tokens_per_s] == pytest.approx([13.816534, 4606.4520], rel=1e-6)
    # A prompt shares the pass of a step, with which its first token comes.
    assert found.ttft_one_user_ms < simulated.ttft_one_by_one_ms < found.ttft_one_user_ms + found.tpot_ms
    assert simulated.ttft_at_once_ms == pytest.approx(found.ttft_ms)
    assert simulated.formula_holds
    # Either figure beyond its limit breaks the formula; at the limit it holds.
    off = max(map(abs, simulated.formula_off_percent.values())) / 100
    monkeypatch.setattr(serving_report, "OFF", off)
    assert report(chat()).simulated.formula_holds
    monkeypatch.setattr(serving_report, "OFF", off * 0.999)
    assert not report(chat()).simulated.formula_holds


@pytest.mark.slow
def test_too_many_passes_are_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = serving_report.passes(*setup())
    monkeypatch.setattr(serving_report, "LONGEST", passes)
    assert report(chat()).simulated is not None
    monkeypatch.setattr(serving_report, "LONGEST", passes - 1)
    found = report(chat())
    assert found.simulated is None
    assert found.not_simulated.startswith("about ")


def setup() -> tuple[object, object]:
    problem = chat()
    (loop,) = problem.pinned(problem.read(DESIGN)).time.loops
    return loop.workload.setup, loop.workload.serving_plan


def test_times_of_users_have_the_bands_of_the_objectives() -> None:
    found, problem = report(chat()), chat()
    (bands,) = bands_of(problem, problem.read(DESIGN))
    tpot, cost = bands["tpot_ms"], bands["cost_per_Mtoken_usd"]
    assert found.between["tpot_ms"] == pytest.approx(tpot.around(found.tpot_ms))
    assert found.usd_per_Mtoken is not None
    assert found.between["usd_per_Mtoken"] == pytest.approx(cost.around(found.usd_per_Mtoken))
    ends = found.tokens_per_s / tpot.high_factor, found.tokens_per_s / tpot.low_factor
    assert found.between["tokens_per_s"] == pytest.approx(ends)


def test_a_verdict_says_how_long_users_wait_where_other_workloads_have_no_tokens() -> None:
    """A vision model beside a served one: tokens a second of both together would mean nothing."""
    chat = {"name": "chat", "model": "llama-3.1-70b", "serving": {"input": 1000, "output": 500, "concurrency": [1, 8]}}
    problem = load_problem({
        "version": 1, "name": "both", "npus": 64, "npu": "h100-80gb", "bandwidth": "ports",
        "fabric": {"catalog": "parts-2024", "technologies": ["nvlink4", "optics-400g"], "max_dimensions": 2},
        "workloads": [chat | {"parallelism": {"tp": [4, 8]}}, {"name": "vision", "model": "resnet-50-libra"}],
        "objectives": ["tpot", "cost"],
    })  # fmt: skip
    found = search(problem, evaluations=200, population=40, seed=1)
    said = verdict(found, candidates_of(found), problem).it_is
    assert "Users wait for a first token after " in said
    assert "tokens/s" not in said
