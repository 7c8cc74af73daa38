"""Problems of 8 NPUs with round prices, bandwidths and layers, whose figures can be worked out by hand."""

from __future__ import annotations

from pathlib import Path

from evo_libra import load_problem
from evo_libra.problem.problem import Problem

PRICES = """
name: round
source: made up
technologies:
  board: {link_usd_per_GBps: 2}
  rack: {link_usd_per_GBps: 3, switch_usd_per_GBps: 5, nic_usd_per_GBps: 7, blocks: [switch]}
"""
PARTS = """
kind: parts
name: pieces
source: made up
parts:
  cable: {kind: link, price_usd: 10, power_W: 1, source: made up, year: 2024}
  module: {kind: transceiver, price_usd: {low: 20, value: 30, high: 80}, power_W: 2, source: made up, year: 2024}
  card: {kind: nic, ports: 2, price_usd: 100, power_W: 10, source: made up, year: 2024}
  box: {kind: switch, ports: 4, price_usd: {low: 900, value: 1000, high: 1300}, power_W: {idle: 60, busy: 100},
        latency_ns: 100, source: made up, year: 2023}
technologies:
  board: {port_GBps: 50, ports: 4, latency_ns: 10, blocks: [ring], link: cable, source: made up, year: 2024}
  rack: {port_GBps: 25, ports: 4, latency_ns: 20, blocks: [switch], link: cable, uplink: cable, transceiver: module,
         nic: card, switch: box, source: made up, year: 2024}
"""
LAYERS = "HYBRID_TRANSFORMER\n2\n" + "".join(
    f"{name} -1 4000 ALLREDUCE 800000 3000 NONE 0 2000 ALLREDUCE 400000 0\n" for name in "ab"
)
"""Two layers of 9 us, which all-reduce 0.8 MB over tp forward, and 0.4 MB of gradients over dp."""
DESIGN = "RI(4)@board:100_SW(2)@rack:50"


def small(folder: Path, *changes: str, parts: bool = False) -> Problem:
    """Return a problem of two layers on four NPUs of a board and two boards of a rack."""
    (folder / "catalog.yaml").write_text(PARTS if parts else PRICES)
    (folder / "layers.txt").write_text(LAYERS)
    (folder / "problem.yaml").write_text(
        "name: small\nnpus: 8\nfabric: {catalog: catalog.yaml, max_dimensions: 2}\n"
        "workloads: [{name: two, file: layers.txt, parallelism: {tp: 4}}]\ntime: libra\nobjectives: [time, cost]\n"
        f"bandwidth: {'ports' if parts else '{mode: search, min_GBps: 1, max_GBps: 400}'}\n"
    )
    found = load_problem(str(folder / "problem.yaml"), changes)
    assert isinstance(found, Problem)
    return found
