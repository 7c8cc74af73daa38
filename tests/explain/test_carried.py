"""The load in verdicts on served orders: its band, and the part that is left while a server is out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.explain.candidates import candidates_of
from evo_libra.explain.failed_part import degraded
from evo_libra.explain.verdict import verdict
from evo_libra.explain.verdict_record import Verdict
from evo_libra.front.archive import non_dominated
from evo_libra.problem.designs import violations
from evo_libra.problem.figures import NONE_LEFT, left_of, tokens_one_out, tokens_per_second, users
from evo_libra.problem.problem import Problem

ASKED = 10_000.0


def problem_of(*constraints: str, systems: tuple[str, ...] = ("hgx-b200",), **keys: Any) -> Problem:
    served = {"input": 1000, "output": 500, "concurrency": [4, 32, 64], "weights": "fp8", "kv_cache": "fp8"}
    data: dict[str, Any] = {
        "version": 1, "name": "serve", "question": "order", "systems": list(systems), "npus": [8, 16, 24],
        "workloads": [{"model": "llama-3.1-70b", "serving": served, "parallelism": {"tp": [1, 2, 8], "pp": [1, 2]}}],
        "objectives": ["tpot", "order-cost"], "constraints": ["tpot <= 50 ms", *constraints],
    }  # fmt: skip
    problem = load_problem(data | keys)
    assert isinstance(problem, Problem)
    return problem


def said_of(problem: Problem, **limits: float) -> Verdict:
    front = search(problem, engine="exhaustive")
    return verdict(front, candidates_of(front, limits), problem)


def test_the_cheapest_order_that_carries_the_load_with_one_out_is_that_of_all_designs() -> None:
    """By designs that are drawn until none is missing: 8 GPUs carry the load, and nothing while their server is out."""
    problem = problem_of("tokens-per-s >= 10 ktoken/s")
    assert problem.book is not None
    said = said_of(problem)
    assert said.one_out is not None
    assert said.one_out.costs_usd is not None
    drawn = problem.decode(problem.genome.sample(np.random.default_rng(1), 20_000))
    kept = (tokens_one_out(problem.measure(drawn)) >= ASKED) & (problem.evaluate(drawn).violation <= 0.0)
    usd = problem.book.order_usd(drawn)
    bought = float(usd.min())
    assert bought + said.one_out.costs_usd == pytest.approx(usd[kept].min(), rel=1e-12)
    cheapest = np.flatnonzero(kept & (usd == usd[kept].min()))
    waits = users(problem.measure(drawn.select(cheapest))).token
    design = problem.notation.written(drawn.select(cheapest[[int(waits.argmin())]]))[0]
    assert (said.one_out.design, said.one_out.tokens_per_s) == (design, 0.0)
    order, _, plan = design.partition(" | ")
    text = f"With a server out: it carries nothing; {order} (with the plan {plan}) still carries the 10,000 asked for "
    assert text in said.text
    low = said.one_out.order_low_tokens_per_s
    assert low is not None
    assert (f"but {low:,.5g} at the lower end of the band" in said.text) == (low < ASKED)
    spare = search(problem_of("tokens-per-s-one-out >= 10 ktoken/s"), engine="exhaustive").frame["order_cost_usd"]
    assert float(spare.to_numpy().min()) == pytest.approx(usd[kept].min(), rel=1e-12)


def test_a_server_takes_the_replicas_on_it() -> None:
    """Replicas of 8, of 2, and of two stages of 8, which lie in two servers; a tray of 4 of 72, and one of 8 spare."""
    problem = problem_of()
    designs = [f"3 hgx-b200 / 1 x 400G / qm9700 tor 1:1 | {plan} c4" for plan in ("tp8 dp3", "tp2 dp12", "tp2 pp2 dp6")]
    figures = problem.measure(problem.read(designs))
    left = tokens_one_out(figures) / tokens_per_second(figures)
    assert left.tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    racks = problem_of(systems=("gb200-nvl72",), npus=[64, 72])
    figures = racks.measure(racks.read(["1 gb200-nvl72 | tp2 dp36 c4", "1 gb200-nvl72 (64 active) | tp2 dp32 c4"]))
    left = tokens_one_out(figures) / tokens_per_second(figures)
    assert left.tolist() == pytest.approx([34 / 36, 1.0])


def test_a_server_with_all_replicas_for_prompts_stops_all_answers() -> None:
    """Of two servers one only processes prompts: none answers without it. Of four, two do: one of two is left."""
    served = {"input": 1000, "output": 500, "concurrency": 4, "weights": "fp8", "kv_cache": "fp8", "prefill": [0.5]}
    workloads = [{"model": "llama-3.1-70b", "serving": served, "parallelism": {"tp": 8}}]
    problem = problem_of(workloads=workloads, npus=[16, 32])
    (table,) = problem.time.tables
    groups, size = table.serving_plans.groups_that_answer
    assert size.tolist() == [[8, 8], [8, 8]]
    assert groups.tolist() == [[1, 2], [1, 2]]
    assert left_of(groups, size, np.array([8])).tolist() == pytest.approx([NONE_LEFT, 0.5])


def test_what_is_left_is_what_a_failed_npu_leaves() -> None:
    problem = problem_of()
    designs = ["3 hgx-b200 / 1 x 400G / qm9700 tor 1:1 | tp8 dp3 c4", "1 hgx-b200 | tp8 dp1 c4"]
    found = degraded(problem, problem.read(designs), designs, "npu")
    assert found.slower.tolist() == pytest.approx([1.5, np.inf])
    assert list(found.says) == ["its server is out"] * 2


def test_a_verdict_says_the_band_of_its_rate_and_where_it_is_too_low() -> None:
    wide = said_of(problem_of("tokens-per-s >= 10 ktoken/s"))
    low, high = (
        float(one.replace(",", ""))
        for one in re.findall(r"band of this rate is ([\d,.]+) to ([\d,.]+) tok", wide.text)[0]
    )
    assert low < float(re.findall(r"carries ([\d,.]+) tokens/s", wide.text)[0].replace(",", "")) < high
    assert ("it may be less than" in wide.text) == (low < ASKED)
    racks = said_of(problem_of("tokens-per-s >= 10 ktoken/s", systems=("gb200-nvl72",), npus=[64]))
    assert "With a tray out: spare NPUs take its place." in racks.text
    most = said_of(problem_of("tokens-per-s >= 10 ktoken/s", npus=[8]))
    assert "With a server out: it carries nothing, and no order of the file carries the 10,000 asked" in most.text
    spare = said_of(problem_of("tokens-per-s-one-out >= 10 ktoken/s"))
    assert spare.one_out is not None
    assert spare.one_out.low_tokens_per_s is not None
    assert spare.one_out.low_tokens_per_s < spare.one_out.tokens_per_s
    near = problem_of(f"tokens-per-s-one-out >= {spare.one_out.tokens_per_s * 0.99} token/s")
    assert "at the lower end of the band" in said_of(near).text
    open_rate = said_of(problem_of("ttft <= 2 s"))
    assert open_rate.one_out is not None
    assert (open_rate.one_out.asked, open_rate.one_out.design) == (0.0, "")


def test_a_verdict_says_which_waits_may_be_over_their_limits() -> None:
    problem = problem_of("tokens-per-s >= 10 ktoken/s")
    found = search(problem, engine="exhaustive").frame
    wait = float(found["tpot_ms"][said_of(problem).id])
    tight = said_of(problem_of("tokens-per-s >= 10 ktoken/s", f"tpot <= {wait * 1.001} ms"))
    (late, allowed) = re.findall(r"Its tpot may be up to ([\d.]+) ms, over the ([\d.]+) ms allowed", tight.text)[0]
    assert float(late) > float(allowed)
    assert "may be up to" not in said_of(problem).text


@pytest.mark.parametrize("text", ["tokens-per-s >= 20 request/s", "tokens-per-s-one-out >= 0.02 krequests/s"])
def test_a_limit_in_requests_is_one_of_tokens_of_answers(text: str) -> None:
    """An answer has 500 tokens."""
    (found,) = (one for one in problem_of(text).constraints if one.text == text)
    assert found.limit / found.objective == pytest.approx(ASKED)


def test_requests_have_tokens_only_where_one_workload_answers_them() -> None:
    served = {"input": 1000, "output": 500, "concurrency": 4}
    two = [{"model": "llama-3.1-8b", "serving": served, "name": name, "parallelism": {"tp": 1}} for name in "ab"]
    trained = [{"model": "llama-3.1-8b", "training": {"sequence": 8192, "global_batch": 64}, "parallelism": {"tp": 8}}]
    for workloads in (two, trained):
        with pytest.raises(InputError, match=r"requests per second need a single workload, which is served, with"):
            problem_of("tokens-per-s >= 20 request/s", workloads=workloads)


APART = {"families": ["rail-optimised", "tor", "fat-tree", "apart"]}


def test_systems_that_nothing_joins_are_cheaper_and_hold_plans_of_one_system_alone() -> None:
    """Two servers without switches cost less than with them, and answer as fast where no group leaves a server."""
    problem = problem_of("tokens-per-s >= 10 ktoken/s", fabric=APART)
    joined, plan = "2 hgx-b200 / 1 x 400G / qm9700 tor 1:1", "tp2 dp8 c32"
    both = problem.read([f"2 hgx-b200 | {plan}", f"{joined} | {plan}"])
    figures, found = problem.measure(both), problem.evaluate(both)
    assert figures.time[0] == figures.time[1]
    assert figures.cost.tolist()[0] == 0.0
    assert problem.book is not None
    (alone, with_network) = problem.book.order_usd(both)
    assert alone < with_network - figures.cost[1]  # spare parts of switches, and the racks for them, go with them
    assert (found.violation == 0.0).all()
    wide = problem.read([f"2 hgx-b200 | {text} c32" for text in ("tp8 pp2 dp1", "tp2 pp2 dp4")])
    assert (problem.evaluate(wide).violation > 0.0).all()
    said = violations(problem, wide)
    assert "nothing joins its systems, and a group of its plan lies in several" in said
    out = said_of(problem).one_out
    assert out is not None
    assert out.design.startswith("2 hgx-b200 | ")
    assert out.costs_usd is not None
    assert out.costs_usd < (said_of(problem_of("tokens-per-s >= 10 ktoken/s")).one_out or out).costs_usd


def test_the_exact_front_with_systems_apart_is_that_of_drawn_designs() -> None:
    problem = problem_of("tokens-per-s >= 20 ktoken/s", fabric=APART)
    drawn = problem.decode(problem.genome.sample(np.random.default_rng(2), 20_000))
    found = problem.evaluate(drawn)
    values = found.objectives[:, found.violation <= 0.0]
    exact = search(problem, engine="exhaustive").frame
    front = np.array([exact["tpot_ms"].to_numpy() * 1e-3, exact["order_cost_usd"].to_numpy()])
    for value in values[:, non_dominated(values)].T:
        assert ((front <= value[:, None] * (1.0 + 1e-2 + 1e-9)).all(axis=0)).any()
    for value in front.T:
        assert not ((values <= value[:, None] * (1.0 - 1e-9)).all(axis=0)).any()
    apart = [design for design in exact["design"] if " / " not in design and not design.startswith("1 ")]
    assert apart


def test_systems_apart_are_of_served_workloads_alone() -> None:
    trained = [{"model": "llama-3.1-8b", "training": {"sequence": 8192, "global_batch": 64}, "parallelism": {"tp": 8}}]
    with pytest.raises(InputError, match="systems apart answer requests alone: all workloads must have the key"):
        problem_of(workloads=trained, objectives=["time", "order-cost"], constraints=[], fabric=APART)
