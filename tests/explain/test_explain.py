"""The breakdown of small designs, every figure worked by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_problems import DESIGN, small

from evo_libra import load_problem
from evo_libra.chakra.trace import Metadata
from evo_libra.chakra.write import compute_node, receive_node, send_node, write_trace
from evo_libra.explain.bill_table import bill_table
from evo_libra.explain.design_record import design_record, with_steps
from evo_libra.explain.drawn_network import bandwidth_text, drawn_network
from evo_libra.explain.explain import breakdown_of
from evo_libra.explain.parts_list import parts_list
from evo_libra.explain.system_bill import system_bill
from evo_libra.explain.time_record import Communication
from evo_libra.network.transport import TRANSPORTS

SYSTEM = (
    "npu={base: h100-80gb, price_usd: 3000, power_W: 700, source: quote 2026}",
    ("system={host: {npus: 4, price_usd: [900, 1100], power_W: 200, source: quote 2026}, "
     "storage: {capacity_TB: 5, price_usd: 30, power_W: 1.5, source: quote 2026}}"),
    "faults={checkpoint_s: 20, restart_s: 300, spares: [0, 4]}", "objectives=[time, system-cost, goodput]",
)  # fmt: skip


def shown(entry: Communication) -> tuple[object, ...]:
    return (entry.phase, entry.collective, entry.group, entry.count, entry.size_MB, entry.bottleneck_dimension)


def test_collectives_of_layers(tmp_path: Path) -> None:
    problem = small(tmp_path)
    (workload,) = breakdown_of(problem, problem.read(DESIGN)).workloads
    forward, gradient = workload.collectives
    # Two layers all-reduce 0.8 MB each: 2 x 3/4 of it from each of four NPUs, 1.2 MB, in 12 us at 100 GB/s.
    assert shown(forward) == ("forward", "all-reduce", "tp", 2, 0.8, 0)
    assert [(one.dimension, one.npus_of_group) for one in forward.dimensions] == [(0, 4), (1, 1)]
    assert [one.traffic_MB for one in forward.dimensions] == pytest.approx([2.4, 0.0])
    assert [one.time_ms for one in forward.dimensions] == pytest.approx([0.024, 0.0])
    assert forward.time_ms == pytest.approx(0.024)
    assert forward.beyond_bandwidth_ms is None
    # 0.4 MB over two NPUs: 2 x 1/2 of it, in 8 us at 50 GB/s.
    assert shown(gradient) == ("weight_gradient", "all-reduce", "dp", 2, 0.4, 1)
    assert [one.traffic_MB for one in gradient.dimensions] == pytest.approx([0.0, 0.8])
    assert gradient.time_ms == pytest.approx(0.016)
    # Each layer computes 4 + 3 + 2 us.
    assert workload.compute_ms == pytest.approx(0.018)
    assert workload.time_ms == pytest.approx(0.018 + 0.024 + 0.016)


def test_what_latency_adds(tmp_path: Path) -> None:
    problem = small(tmp_path, "time={model: astra, latency_ns: 500, chunks: 1}")
    (workload,) = breakdown_of(problem, problem.read(DESIGN)).workloads
    forward, gradient = workload.collectives
    # Bytes over the bandwidth take 24 and 16 us as before. Each of 6 steps of a ring of four has its latency on top, in
    # two layers.
    assert [one.beyond_bandwidth_ms for one in (forward, gradient)] == pytest.approx(
        [forward.time_ms - 0.024, gradient.time_ms - 0.016]
    )
    assert forward.time_ms > 0.024 + 2 * 6 * 500e-6 * 0.99


def test_messages_of_traces(tmp_path: Path) -> None:
    ends = {"source": 0, "size": 100_000, "tag": 0}
    for npu in range(8):
        nodes = [compute_node(1, "work", duration=5)]
        if npu == 0:
            # Two messages to the next NPU on the board, and one to the other board.
            nodes += [send_node(2, "a", destination=1, **ends), send_node(3, "b", destination=1, **ends),
                      send_node(4, "c", destination=4, **ends)]  # fmt: skip
        if npu == 1:
            nodes += [receive_node(2, "a", destination=1, **ends), receive_node(3, "b", destination=1, **ends)]
        if npu == 4:
            nodes += [receive_node(2, "c", destination=4, **ends)]
        write_trace(tmp_path / f"trace.{npu}.et", Metadata(), nodes)
    problem = small(tmp_path, "workloads=[{trace: trace}]")
    (workload,) = breakdown_of(problem, problem.read(DESIGN)).workloads
    board, rack = workload.messages
    # 0.1 MB take 1 us at 100 GB/s and 2 us at 50 GB/s.
    assert shown(board) == ("trace", "", "", 2, 0.1, 0)
    assert [one.traffic_MB for one in board.dimensions] == pytest.approx([0.2, 0.0])
    assert [one.time_ms for one in board.dimensions] == pytest.approx([0.002, 0.0])
    assert shown(rack) == ("trace", "", "", 1, 0.1, 1)
    assert [one.traffic_MB for one in rack.dimensions] == pytest.approx([0.0, 0.1])
    assert [one.time_ms for one in rack.dimensions] == pytest.approx([0.0, 0.002])


def test_dimensions_and_their_prices(tmp_path: Path) -> None:
    problem = small(tmp_path)
    found = breakdown_of(problem, problem.read(DESIGN))
    # 8 NPUs: 100 GB/s at 2 USD, and 50 GB/s at 3, 5 and 7 USD.
    assert [(str(one), one.bandwidth_GBps, one.cost_usd) for one in found.dimensions] == [
        ("0: ring(4) @board", 100.0, 1600.0), ("1: switch(2) @rack", 50.0, 6000.0),
    ]  # fmt: skip
    assert {key: value for key, value in found.dimensions[1].figures.items() if key != "cost_usd"} == pytest.approx(
        {"link_usd": 1200.0, "switch_usd": 2000.0, "nic_usd": 2800.0}
    )
    parts = parts_list(problem, problem.read(DESIGN))
    # The most expensive first; prices per bandwidth have no pieces.
    assert [(one.part, one.pieces) for one in parts] == [
        ("nic of rack", None), ("switch of rack", None), ("link of board", None), ("link of rack", None),
    ]  # fmt: skip
    assert [one.cost_usd for one in parts] == pytest.approx([2800.0, 2000.0, 1600.0, 1200.0])


def test_an_unused_dimension_is_not_shown(tmp_path: Path) -> None:
    problem = small(tmp_path)
    (one,) = breakdown_of(problem, problem.read("SW(8)@rack:50")).dimensions
    assert (str(one), one.cost_usd) == ("0: switch(8) @rack", 6000.0)


def test_pieces_of_a_design(tmp_path: Path) -> None:
    problem = small(tmp_path, parts=True)
    found = breakdown_of(problem, problem.read(DESIGN))
    # Two rings of four NPUs with two ports each: 8 links. Four rails of two NPUs with two ports each: 16 links with two
    # transceivers each, a card for the two ports of an NPU, and a switch of 4 ports for the two planes of a rail.
    assert [(row.dimension, row.part, row.pieces, row.cost_usd, row.power_W, row.idle_W) for row in found.bill] == [
        (0, "cable", 8, 80.0, 8.0, None), (1, "cable", 16, 160.0, 16.0, None), (1, "module", 32, 960.0, 64.0, None),
        (1, "card", 8, 800.0, 80.0, None), (1, "box", 4, 4000.0, 400.0, 240.0),
    ]  # fmt: skip
    assert found.cost_usd == 6000.0
    assert [(one.part, one.pieces, one.cost_usd) for one in parts_list(problem, problem.read(DESIGN))] == [
        ("box", 4, 4000.0), ("module", 32, 960.0), ("card", 8, 800.0), ("cable", 24, 240.0),
    ]  # fmt: skip
    # Parts in any fraction are ports, and have no bill: 8 x 2 cables of board are 80 USD.
    solved = small(tmp_path, "bandwidth={mode: optimal}", parts=True)
    design = solved.read(DESIGN)
    assert breakdown_of(solved, design).bill == ()
    assert [(one.part, one.pieces, one.cost_usd) for one in parts_list(solved, design)] == [
        ("port of rack", 2.0, 5920.0), ("port of board", 2.0, 80.0),
    ]  # fmt: skip


def test_a_bill_for_spreadsheets(tmp_path: Path) -> None:
    problem = small(tmp_path, *SYSTEM, parts=True)
    rows = bill_table(problem, problem.read(f"{DESIGN} spares=4"))
    assert [(row["dimension"], row["technology"], row["part"], row["unit_W"], row["year"]) for row in rows[:5]] == [
        (0, "board", "cable", 1.0, 2024), (1, "rack", "cable", 1.0, 2024), (1, "rack", "module", 2.0, 2024),
        (1, "rack", "card", 10.0, 2024), (1, "rack", "box", 100.0, 2023),
    ]  # fmt: skip
    # 4 spares of 8 NPUs: half of 6,000 USD and of 568 W.
    assert [(row["item"], row["part"], row["pieces"], row["unit_usd"], row["cost_usd"], row["unit_W"], row["power_W"])
            for row in rows[5:]] == [
        ("spares", "network of a spare NPU", 4, 750.0, 3000.0, 71.0, 284.0),
        ("NPU", "npu", 12.0, 3000.0, 36000.0, 700.0, 5600.0), ("host", "hosts", 3.0, 1000.0, 3000.0, 200.0, 600.0),
        ("TB", "storage", 5.0, 30.0, 150.0, 1.5, 7.5),
    ]  # fmt: skip
    plain = bill_table(problem, problem.read(f"{DESIGN} spares=0"))
    assert [row["item"] for row in plain[5:]] == ["NPU", "host", "TB"]


def test_the_bill_of_a_whole_system(tmp_path: Path) -> None:
    problem = small(tmp_path, *SYSTEM, parts=True)
    rows = system_bill(problem, problem.read(f"{DESIGN} spares=4"))
    # 12 NPUs are bought, of which 8 draw power; three hosts of four; the network of 12 NPUs, 9,000 USD and 852 W.
    assert [(row.item, row.unit, row.pieces, row.unit_usd, row.cost_usd, row.unit_W, row.power_kW) for row in rows] == [
        ("network", "network", 1.0, 9000.0, 9000.0, 852.0, 0.852), ("npu", "NPU", 12.0, 3000.0, 36000.0, 700.0, 5.6),
        ("hosts", "host", 3.0, 1000.0, 3000.0, 200.0, 0.6), ("storage", "TB", 5.0, 30.0, 150.0, 1.5, 0.0075),
    ]  # fmt: skip
    assert [row.source for row in rows] == ["", "quote 2026", "quote 2026", "quote 2026"]
    assert system_bill(small(tmp_path, parts=True), problem.read(DESIGN)) == ()
    # Without `system`, an objective of the price of NPUs has a bill of network and NPUs.
    alone = small(tmp_path, SYSTEM[0], "objectives=[time, system-cost]", parts=True)
    assert [row.item for row in system_bill(alone, alone.read(DESIGN))] == ["network", "npu"]
    assert system_bill(small(tmp_path, SYSTEM[0], parts=True), alone.read(DESIGN)) == ()


def test_what_a_picture_shows(tmp_path: Path) -> None:
    problem = small(tmp_path, parts=True)
    found = drawn_network(DESIGN, problem)
    # Two rings; a switch for each of four rails.
    assert [(one.name, one.inside, one.rails, one.copies, one.levels) for one in found.dimensions] == [
        ("RI(4) board", 1, 1, 2, ()), ("SW(2) rack", 4, 4, 1, (1,)),
    ]  # fmt: skip
    assert [one.pieces for one in found.dimensions] == [
        {"link": 8}, {"link": 16, "transceiver": 32, "nic": 8, "switch": 4},
    ]  # fmt: skip
    assert [(one.switched, bandwidth_text(one)) for one in found.dimensions] == [
        (False, "100 GB/s per NPU"), (True, "50 GB/s per NPU"),
    ]  # fmt: skip
    bare = drawn_network("RI(4)_CL(2)")
    assert [(one.name, one.rails, bandwidth_text(one), one.pieces) for one in bare.dimensions] == [
        ("RI(4)", 1, "", None), ("CL(2)", 1, "", None),
    ]  # fmt: skip
    assert drawn_network(DESIGN, small(tmp_path)).dimensions[1].levels == ()
    solved = drawn_network(DESIGN, small(tmp_path, "bandwidth={mode: optimal}", parts=True))
    assert [(one.levels, one.pieces) for one in solved.dimensions] == [((), None), ((1,), None)]


def test_the_record_of_a_design(tmp_path: Path) -> None:
    problem = small(tmp_path)
    record = with_steps(design_record(problem, DESIGN), problem)
    assert (record.name, record.feasible, record.violations, record.standing) == (DESIGN, True, (), ())
    assert record.figures == pytest.approx({"time_ms": 0.058, "cost_usd": 7600.0})
    assert record.dimensions is not None
    # 24 of 58 us and 16 of 58 us. 0.1 % more of 100 GB/s saves 24 us (1 - 1/1.001), of 50 GB/s 16 us (1 - 1/1.001).
    assert [one.busy_ms for one in record.dimensions] == pytest.approx([0.024, 0.016])
    assert [one.busy_percent for one in record.dimensions] == pytest.approx([100 * 24 / 58, 100 * 16 / 58])
    assert [one.slack_percent for one in record.dimensions] == [0.0, 0.0]
    margin = 1 - 1 / 1.001
    assert [one.saves_ms_per_GBps for one in record.dimensions] == pytest.approx(
        [0.024 * margin / 0.1, 0.016 * margin / 0.05]
    )
    assert [one.cost_usd for one in record.dimensions] == pytest.approx([1600.0, 6000.0])
    assert record.better_steps == ()
    assert design_record(problem, DESIGN, name="#3").name == "#3"
    assert design_record(problem, DESIGN).steps is None
    broken = design_record(small(tmp_path, "constraints=[cost <= 7 kUSD]"), DESIGN)
    assert not broken.feasible
    assert len(broken.violations) == 1


def test_a_dimension_with_slack(tmp_path: Path) -> None:
    problem = small(tmp_path, "workloads=[{name: two, file: layers.txt, parallelism: {tp: 8}}]")
    record = with_steps(design_record(problem, "RI(2)@board:100_RI(4)@board:10"), problem)
    assert record.dimensions is not None
    # Of 0.8 MB, 2 x 1/2 at 100 GB/s take 8 us, and 2 x 3/4 of the half that is left, at 10 GB/s, 60 us. The first one
    # could lose 1 - 8 / 60 = 86.7 %. Of 200 shares from 0.1 % to 99.9 %, 3.5 % apart, 83.98 % is the largest below:
    # 0.999 / 999^(5 / 199).
    assert [one.slack_percent for one in record.dimensions] == pytest.approx([83.985, 0.0], abs=0.01)
    assert [one.saves_ms_per_GBps for one in record.dimensions] == pytest.approx([0.0, 0.12 * (1 - 1 / 1.001) / 0.01])
    # A tenth less of it costs less and takes as long; a tenth more of the other one is faster and costs more.
    assert record.better_steps == ("dim 0: 90 GB/s instead of 100",)


def test_a_transport_is_named() -> None:
    problem = load_problem("roce-128")
    design = "SW(8)@nvlink4:450_SW(16)@roce-400g.hpcc:50"
    found = breakdown_of(problem, problem.read(design)).dimensions
    assert [(one.transport, one.transport_factor) for one in found] == [
        ("", None), ("hpcc", TRANSPORTS["hpcc"].factor),
    ]  # fmt: skip
