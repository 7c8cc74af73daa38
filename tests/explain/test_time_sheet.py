"""Sections of where the time goes, of records whose figures are chosen by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evo_libra.explain.labels import duration, groups_text, size_text
from evo_libra.explain.record import Breakdown, OrderLine, SystemRow
from evo_libra.explain.sheet import Table, section, shares_table
from evo_libra.explain.time_record import (
    Alternatives,
    Blocked,
    Communication,
    DimensionTraffic,
    Memory,
    OptimizerStream,
    OtherPlan,
    Serving,
    Simulated,
    Size,
    Training,
    WorkloadTime,
)
from evo_libra.explain.time_sheet import (
    communication_table,
    memory_parts,
    plan_parts,
    serving_parts,
    streams_table,
    training_parts,
    workload_sections,
)

SIZE = Size(
    parallelism={"tp": 2, "dp": 4}, layers=2, sequence=1024, batch_per_replica=32, micro_batch=4, global_batch=128
)
MEMORY = Memory(memory_GB={"weights": 3.0, "cache": 0.001, "rest": 0.0009}, memory_total_GB=3.0019, memory_limit_GB=80)


def texts(parts: object) -> list[str]:
    return [part for part in parts if isinstance(part, str)]


def tables(parts: object) -> list[Table]:
    return [part for part in parts if isinstance(part, Table)]


@pytest.mark.parametrize(("changed", "expected"), [
    ({}, "2 layers, sequences of 1,024 tokens, 32 per replica, 128 in all, microbatches of 4"),
    ({"layers": 1, "micro_batch": 32}, "1 layer, sequences of 1,024 tokens, 32 per replica, 128 in all"),
    ({"layers": 1200, "micro_batch": None}, "1,200 layers, sequences of 1,024 tokens, 32 per replica, 128 in all"),
    ({"sequence": None, "layers": None}, "32 samples per replica, 128 in all, microbatches of 4"),
    ({"batch_per_replica": None}, "2 layers, 128 sequences of 1,024 tokens in all"),
    ({"batch_per_replica": None, "global_batch": None, "plans": 1200, "plans_that_fit": 30},
     "2 layers, 30 of 1,200 plans fit the memory"),
])  # fmt: skip
def test_the_size_of_an_iteration(changed: dict[str, int | None], expected: str) -> None:
    assert size_text(replace(SIZE, **changed)) == expected


def test_groups_are_those_of_the_plan_where_there_is_one() -> None:
    assert groups_text(SIZE) == "tp=2 dp=4"
    assert groups_text(replace(SIZE, plan="tp2 dp4 mb4")) == "tp2 dp4 mb4"


@pytest.mark.parametrize(("seconds", "expected"), [
    # 10 s have no decimals; 3,600 s are an hour, 86,400 a day; 3,661 s are 1 h and 61 s, of which 1 min is whole.
    (9.96, "10 s"), (9.87, "9.9 s"), (10.0, "10 s"), (59.0, "59 s"), (60.0, "1 min 0 s"), (3599.0, "59 min 59 s"),
    (3600.0, "1 h 0 min"), (3661.0, "1 h 1 min"), (86399.0, "23 h 59 min"), (86400.0, "1 d 0 h"),
    (200000.0, "2 d 7 h"),
])  # fmt: skip
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_shares_add_up_to_all() -> None:
    # 6 ms of 24 are 25 %.
    found = shares_table("time", [("one", 6.0), ("two", 18.0)], total=True)
    assert (found.title, found.columns) == ("time [ms]", ("part", "time", "%"))
    assert found.rows == (("one", "6", "25.0"), ("two", "18", "75.0"), ("all", "24", "100.0"))
    # 12 s in all are shown in seconds, without the sum unless it is asked for.
    assert shares_table("time", [("one", 3000.0), ("two", 9000.0)]).rows == (("one", "3", "25.0"), ("two", "9", "75.0"))
    assert section("head", "", "text", ["", "more"], found).parts == ("text", "more", found)


def training(**changed: object) -> Training:
    found = Training(
        npu="h100", split_ms={"forward": 6.0, "backward": 18.0}, memory=MEMORY, samples_per_s=8.0,
        samples_per_s_per_npu=2.0,
    )  # fmt: skip
    return replace(found, **changed)


def test_a_training_step() -> None:
    assert texts(training_parts(training())) == ["8 samples/s, 2 on each h100"]
    whole = training(
        tokens_per_s=4096.0, tokens_per_s_per_npu=1024.0, model_flop_utilisation=0.425, training_tokens=2e12,
        training_days=30.5, power_MW=1.5, energy_per_token_J=2.5, training_energy_MWh=700.0,
    )  # fmt: skip
    # 0.425 are 42.5 %.
    assert texts(training_parts(whole)) == [
        "4096 tokens/s, 1024 on each h100; model FLOP utilisation 42.5 % of the peak in bf16",
        "2e+12 tokens take 30.5 days",
        "1.5 MW of NPUs and network, 2.5 J per token, 700 MWh for all of them",
    ]
    assert texts(training_parts(training(power_MW=1.5, energy_per_sample_J=30.0)))[-1] == (
        "1.5 MW of NPUs and network, 30 J per sample"
    )
    assert [one.title for one in tables(training_parts(whole))] == [
        "time of a step by part [ms]", "memory of an NPU [GB]; at most 80",
    ]  # fmt: skip


def test_streams_side_by_side() -> None:
    streams = (
        OptimizerStream(pass_="update", stream="host", time_ms=2000.0, binds=True),  # noqa: S106 - of a step
        OptimizerStream(pass_="update", stream="NPU", time_ms=12000.0, binds=False),  # noqa: S106 - the same
    )
    found = streams_table(streams, "gpt")
    # The longest, 12 s, sets the unit.
    assert found.title == "gpt: what runs side by side in each pass of a microbatch [s]"
    assert found.rows == (("update", "host", "2", "binds"), ("update", "NPU", "12", ""))
    assert found.strong == ((0, 2),)
    assert streams_table(streams).title.startswith("what runs")
    assert tables(training_parts(training(optimizer_streams=streams)))[1] == streams_table(streams)


def test_memory_from_a_megabyte_on() -> None:
    (found,) = memory_parts(MEMORY)
    assert isinstance(found, Table)
    assert found.columns == ("class", "GB")
    assert found.rows == (("weights", "3"), ("cache", "0.001"), ("all", "3"))
    away = replace(MEMORY, expansion_GB={"weights": 5.0, "cache": 0.5})
    table, sentence = memory_parts(away)
    assert isinstance(table, Table)
    assert table.title == "memory of an NPU [GB]; at most 80 of its own"
    # 5 and 0.5 GB lie in expansion memory, 5.5 in all.
    assert table.columns == ("class", "own", "expansion")
    assert table.rows == (("weights", "3", "5"), ("cache", "0.001", "0.5"), ("all", "3", "5.5"))
    assert str(sentence).startswith("Accesses to expansion memory run alongside the compute")
    (free,) = memory_parts(replace(MEMORY, memory_limit_GB=None, expansion_GB={"weights": 0.0}))
    assert isinstance(free, Table)
    assert free.title == "memory of an NPU [GB]"


def serving(**changed: object) -> Serving:
    found = Serving(
        npu="h100", input=1000, output=200, concurrency=8, replicas=4, prefill_replicas=0, users=32,
        ttft_one_user_ms=50.0, ttft_ms=50.0, tpot_ms=20.0, request_ms=4030.0, tokens_per_s=1600.0,
        tokens_per_s_per_npu=100.0, prefill_ms={"compute": 30.0, "network": 20.0}, decode_ms={"compute": 20.0},
        memory=MEMORY,
    )  # fmt: skip
    return replace(found, **changed)


def test_what_users_see() -> None:
    assert texts(serving_parts(serving())) == [
        "32 users: 8 of each of 4 replicas; 1,000 tokens in, 200 out",
        "first token after 50 ms, a further one each 20 ms, the last one after 4030 ms",
        "1600 tokens/s, 100 on each h100",
    ]
    # Of 4 replicas one only processes prompts: 3 answer.
    pools = serving(
        prefill_replicas=1, prefill_parallelism={"tp": 2, "pp": 1}, ttft_ms=80.0, energy_per_token_J=3.0,
        usd_per_Mtoken=0.5, not_simulated="too long", transfer_ms={"network": 4.0},
    )  # fmt: skip
    assert texts(serving_parts(pools)) == [
        "32 users: 8 of each of 3 replicas, 1 more for prompts alone with tp 2; 1,000 tokens in, 200 out",
        "first token after 50 ms (alone) to 80 ms (all at once), a further one each 20 ms, the last one after 4030 ms",
        "1600 tokens/s, 100 on each h100",
        "not simulated request by request: too long",
        "3 J per token of NPUs and network, 0.5 USD per million tokens",
    ]
    assert "with tp 1;" in texts(serving_parts(replace(pools, prefill_parallelism={"tp": 1, "pp": 1})))[0]
    assert texts(serving_parts(replace(pools, usd_per_Mtoken=None)))[-1] == "3 J per token of NPUs and network"
    assert [one.title for one in tables(serving_parts(pools))][:3] == [
        "time of prefill of a prompt [ms]", "time of a step of decoding [ms]", "time of the cache on its way [ms]",
    ]  # fmt: skip
    assert tables(serving_parts(pools))[0].rows[-1] == ("all", "50", "100.0")


def test_what_a_simulation_says() -> None:
    found = Simulated(
        ttft_one_by_one_ms=50.0, ttft_at_once_ms=90.0, tpot_ms=21.0, tokens_per_s=1500.0,
        formula_off_percent={"tpot": -5.0, "tokens_per_s": 7.0}, formula_holds=False,
    )  # fmt: skip
    assert texts(serving_parts(serving(simulated=found)))[3:] == [
        (
            "simulated request by request: first token after 50 ms where users ask one by one, 90 ms where all ask at "
            "once; a further one each 21 ms, 1500 tokens/s"
        ),
        "the formula is off by -5 % in the time of a token, +7 % in tokens/s",
    ]
    alike = replace(found, ttft_at_once_ms=50.0, formula_holds=True)
    assert texts(serving_parts(serving(simulated=alike)))[3:] == [
        "simulated request by request: first token after 50 ms; a further one each 21 ms, 1500 tokens/s"
    ]


def other(change: str = "tp 4", **changed: object) -> OtherPlan:
    found = OtherPlan(change=change, plan="tp4 dp2", time_ms=12000.0, slower_percent=20.0, memory_GB=12.5,
                      fits_memory=True, fits_network=True)  # fmt: skip
    return replace(found, **changed)


def test_other_plans() -> None:
    found = Alternatives(
        changes=(
            other(), other("tp 1", time_ms=9000.0, slower_percent=-10.0, fits_memory=False, most_memory="weights"),
            other("pp 2", time_ms=None, slower_percent=None, fits_network=False),
        ),
        blocked=(Blocked(change="tp 8", reason="4 heads"),), time_with_faster_network_ms=9500.0, faster_plans=0,
    )  # fmt: skip
    (table,) = tables(plan_parts(found, several=False))
    assert table.title == "other plans on this network [s]"
    assert table.rows == (
        ("tp 4", "12", "+20.0", "12.5"), ("tp 1", "9", "-10.0", "12.5, too much: weights"),
        ("pp 2", "-", "does not fit the network", "12.5"),
    )  # fmt: skip
    assert texts(plan_parts(found, several=True)) == [
        "no plan that fits is faster on this network", "with 10 % more bandwidth everywhere: 9.5 s",
        "no tp 8: 4 heads",
    ]  # fmt: skip
    assert tables(plan_parts(found, several=True))[0].title.endswith("[s], all workloads together")
    better = replace(found, faster_plans=1200, next_plan=other())
    assert texts(plan_parts(better, several=True))[0] == (
        "1,200 of the plans that fit are faster on this network; the fastest of the others is tp4 dp2, 12 s"
    )
    assert texts(plan_parts(replace(better, next_plan=other(time_ms=None)), several=True))[0].endswith("this network")


def workload(**changed: object) -> WorkloadTime:
    inner, outer = (DimensionTraffic(dimension=d, traffic_MB=1.0, time_ms=ms) for d, ms in ((0, 3000.0), (2, 9000.0)))
    entry = Communication(
        phase="weight_gradient", collective="all-reduce", group="dp", count=4, size_MB=1.0, time_ms=15000.0,
        bottleneck_dimension=2, dimensions=(inner, outer),
    )  # fmt: skip
    found = WorkloadTime(name="gpt", weight=1.0, size=SIZE, time_ms=58.0, compute_ms=33.0, collectives=(entry,),
                         messages=())  # fmt: skip
    return replace(found, **changed)


def test_collectives_by_dimension() -> None:
    table = communication_table(workload(), [0, 2])
    # 15 s are the longest: seconds. Dimension 2, the second column of the dimensions, binds.
    assert table.title == "time by collective and dimension [s]; bold is the bottleneck"
    assert table.columns == ("phase", "collectives", "time", "dim 0", "dim 2")
    assert table.rows == (("weight gradient", "4 all-reduce (dp)", "15", "3", "9"),)
    assert table.strong == ((0, 4),)
    (entry,) = workload().collectives
    message = replace(entry, phase="trace", collective="", group="", time_ms=6.0, beyond_bandwidth_ms=1.0)
    table = communication_table(workload(messages=(message,)), [0, 2])
    assert table.title == (
        "time by collective and message, and bytes over bandwidth of each dimension [s]; bold is the bottleneck"
    )
    assert table.rows[1] == ("trace", "4 send over dim 2", "0.006", "3", "9")
    assert table.strong == ((0, 4), (1, 4))
    assert "[ms]" in communication_table(workload(collectives=()), [0, 2]).title


def test_a_section_of_each_workload() -> None:
    trained = workload(name="big", training=training())
    served = workload(name="chat", serving=serving())
    heads = [one.title for one in workload_sections(Breakdown(workloads=(workload(), trained, served), dimensions=()))]
    assert heads == [
        "gpt (tp=2 dp=4): 58 ms, 33 ms of it compute", "big (tp=2 dp=4): 58 ms, 33 ms on a network that costs no time",
        "chat (tp=2 dp=4): 58 ms, 33 ms on a network that costs no time",
    ]  # fmt: skip
    plans = Alternatives(changes=(), blocked=(), time_with_faster_network_ms=1.0, faster_plans=0)
    (alone,) = workload_sections(Breakdown(workloads=(workload(alternatives=plans),), dimensions=()))
    assert tables(alone.parts)[0].title == "other plans on this network [ms]"
    two = list(workload_sections(Breakdown(workloads=(workload(alternatives=plans), trained), dimensions=())))
    assert tables(two[0].parts)[0].title == "other plans on this network [ms], all workloads together"


def test_a_step_of_another_batch_has_both_times() -> None:
    # 128 sequences of the plan, 192 of the file: 58 ms for the first are 58 x 192 / 128 = 87 ms for the second.
    plans = Alternatives(changes=(), blocked=(), time_with_faster_network_ms=80.0, faster_plans=0)
    one = workload(training=training(stated_batch=192), alternatives=plans)
    (alone,) = workload_sections(Breakdown(workloads=(one,), dimensions=()))
    assert "58 ms for its 128 sequences, 87 ms for the 192 of the file" in alone.parts
    assert [table.title for table in tables(alone.parts)] == [
        "time of a step of 128 sequences by part [ms]", "memory of an NPU [GB]; at most 80",
        "other plans on this network, for 192 sequences [ms]",
        "time of 128 sequences by collective and dimension [s]; bold is the bottleneck",
    ]  # fmt: skip
    assert "with 10 % more bandwidth everywhere, for 192 sequences: 80 ms" in alone.parts


def test_power_is_of_all_that_draws_it() -> None:
    trained = workload(training=training(power_MW=1.5, energy_per_token_J=2.5))
    line = OrderLine(
        section="storage", product="storage-network", what="ports", pieces=2.0, unit_usd=5.0, low_usd=8.0,
        cost_usd=10.0, high_usd=14.0, power_W=6.0, source="",
    )  # fmt: skip
    row = SystemRow(item="host", unit="host", pieces=1.0, unit_usd=1.0, cost_usd=1.0, unit_W=1.0, power_kW=1.0,
                    source="")  # fmt: skip
    bills: tuple[tuple[dict[str, object], str], ...] = (
        ({}, "NPUs and network"), ({"order": (line,)}, "the whole order"), ({"system": (row,) * 2}, "NPUs and network"),
        ({"system": (row,) * 3}, "the whole system"),
    )  # fmt: skip
    for more, name in bills:
        (alone,) = workload_sections(Breakdown(workloads=(trained,), dimensions=(), **more))
        assert f"1.5 MW of {name}, 2.5 J per token" in alone.parts


def test_the_time_of_a_breakdown_is_weighted() -> None:
    found = Breakdown(workloads=(workload(), workload(weight=0.25, time_ms=40.0)), dimensions=())
    # 58 + 40 / 4.
    assert found.time_ms == 68.0
