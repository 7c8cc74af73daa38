"""The closed form of the useful share agrees with jobs whose pieces fail one by one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fault_simulation import YEAR, Net, Policy, pieces, simulate

from evo_libra import load_problem
from evo_libra.explain.as_json import as_json
from evo_libra.explain.fault_report import fault_report
from evo_libra.network.fabric import parse_fabric
from evo_libra.problem.problem import Problem

RADIX, OCS = 8, 48
CATALOG = f"""
kind: parts
name: small
source: figures of this test
parts:
  cable: {{kind: link, price_usd: 100, power_W: 0, source: here, year: 2024}}
  optics: {{kind: transceiver, price_usd: 600, power_W: 9, source: here, year: 2024}}
  router: {{kind: switch, price_usd: 3000, power_W: 100, ports: {RADIX}, source: here, year: 2024}}
  mirrors: {{kind: ocs, price_usd: 3000, power_W: 100, ports: {OCS}, source: here, year: 2024}}
  card: {{kind: nic, price_usd: 1000, power_W: 20, ports: 1, source: here, year: 2024}}
technologies:
  near: {{port_GBps: 25, ports: 12, latency_ns: 50, blocks: [ring, fully-connected, switch], link: cable,
          transceiver: optics, nic: card, switch: router, source: here, year: 2024}}
  far: {{port_GBps: 50, ports: 12, latency_ns: 100, blocks: [ring, switch, fat-tree, ocs-rail], link: cable,
         transceiver: optics, nic: card, switch: router, ocs: mirrors, source: here, year: 2024}}
"""
DESIGNS = (
    "SW(4)@near:50_CL(8)@far:50",
    "FC(4)@near:75_SW(8)@far:100",
    "RI(4)@near:100_SW(32)@far:50",
    "SW(8)@near:200_OC(8)@far:200",
    "SW(8)@near:75_RI(6)@far:100",
    "SW(3)@near:25_FC(4)@near:75_SW(4)@far:150",
    "RI(2)@near:25_CL(12)@far:50",
    "RI(8)@near:100",
)
KINDS = ("npu", "host", "software", "nic", "link", "transceiver", "switch", "ocs")


@cache
def problem(folder: Path, npus: int, faults: str) -> Problem:
    (folder / "small.yaml").write_text(CATALOG)
    (folder / "problem.yaml").write_text(
        f"name: small\nnpus: {npus}\nfabric: {{catalog: small.yaml, max_dimensions: 3, domains: any}}\n"
        "workloads: [{model: gpt-3-libra, parallelism: {tp: 2}, compute_TFLOPS: 400}]\nbandwidth: ports\n"
        f"objectives: [time, goodput, useful-share]\nfaults: {faults}\n"
    )
    found = load_problem(str(folder / "problem.yaml"))
    assert isinstance(found, Problem)
    return found


def drawn(design: str, seed: int) -> tuple[Net, Policy, dict[str, Any]]:
    """Return a cluster with random figures, and the same as a problem file has it."""
    random = np.random.default_rng(seed)
    dimensions = parse_fabric(design).dimensions
    rate = {"near": 25e9, "far": 50e9}
    shape = [(str(one)[:2], one.npus, round((one.bandwidth or 0.0) / rate[one.technology or ""])) for one in dimensions]
    npus = parse_fabric(design).npus
    inside = npus // dimensions[-1].npus
    host = int(random.choice([n for n in (1, 2) if inside % n == 0]))
    # A stop in an hour or two, and one or two units in repair.
    weight = dict(zip(KINDS, random.dirichlet(np.ones(len(KINDS))).tolist(), strict=True))
    net = Net(shape, dict.fromkeys(KINDS, (0.0, 0.0)), RADIX, OCS, host)
    counts = {kind: sum(piece.rate for piece in pieces(_only(net, kind))) for kind in KINDS}
    per_year = {kind: YEAR / 3600 * weight[kind] / counts[kind] if counts[kind] else 0.0 for kind in KINDS}
    repair = {kind: float(random.uniform(0.05, 0.6)) for kind in KINDS} | {"software": 0.0}
    failing = {kind: (per_year[kind] / YEAR, repair[kind] * 3600) for kind in KINDS}
    net = Net(shape, failing, RADIX, OCS, host)
    unit = max(inside, host)
    policy = Policy(
        work=float(random.uniform(300, 3000)), write=float(random.uniform(5, 200)),
        restart=float(random.uniform(30, 900)), spares=int(random.integers(0, 3)), unit=unit,
    )  # fmt: skip
    file = {
        "checkpoint_s": policy.write, "restart_s": policy.restart, "interval_s": policy.work, "host_npus": host,
        "spares": policy.spares * unit, "per_year": per_year, "repair_h": repair,
    }  # fmt: skip
    return net, policy, file


def _only(net: Net, kind: str) -> Net:
    return Net(net.dimensions, {other: (float(other == kind), 0.0) for other in KINDS}, RADIX, OCS, net.host)


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_a_job_that_fails_piece_by_piece_is_useful_for_the_share_of_the_closed_form(
    design: str, tmp_path: Path
) -> None:
    for seed in range(2):
        net, policy, file = drawn(design, seed)
        ours = problem(tmp_path, net.npus, str(file))
        text = f"{design} spares={file['spares']}" if file["spares"] else design
        expected = 1.0 / float(ours.evaluate(text).objectives[2, 0])
        found, error = simulate(net, policy, events=20_000, seed=seed)
        assert error < 0.02
        assert abs(found - expected) < 4 * error, (seed, found, expected, error)


@pytest.mark.parametrize("design", DESIGNS)
def test_the_pieces_that_fail_are_those_of_the_bill(design: str, tmp_path: Path) -> None:
    net, _, file = drawn(design, 0)
    ours = problem(tmp_path, net.npus, str(file))
    rows = {row["part"]: row["pieces"] for row in as_json(fault_report(ours, ours.read(design)))["parts"]}
    names = {"link": "cable", "transceiver": "optics", "switch": "router", "ocs": "mirrors", "nic": "card"}
    for kind in KINDS:
        assert rows.get(names.get(kind, kind), 0) == sum(piece.rate > 0 for piece in pieces(_only(net, kind))), kind
