"""Fabrics as graphs and tables of NetBox, and bills as workbooks: counts are those of the bill."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from collections import Counter

import numpy as np
import pytest
from designs import design_file
from openpyxl import load_workbook

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.exchange.formats import Chosen
from evo_libra.exchange.graphviz import FULL
from evo_libra.exchange.netbox import CABLES, INTERFACES
from evo_libra.exchange.registry import write_as
from evo_libra.network.cabling import cables

SMALL = ("roce-128", "mixtral-8x7b-256", "wafer-20", "opt-175b-offload")
LARGE = ("deepseek-v3-2k", "dense-4k", "moe-4k", "llama3-405b-16k")
LINKS = ("link", "uplink", "short link", "short uplink")


def designs(name: str, count: int = 2) -> list[Chosen]:
    problem = load_problem(design_file(name))
    population = problem.decode(problem.genome.sample(np.random.default_rng(11), 90))
    best = np.argsort(problem.evaluate(population).violation, kind="stable")[:count]
    return [Chosen(problem, population.select([place])) for place in best.tolist()]


def rows(writer: str, chosen: Chosen) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(str(write_as(writer, chosen).content), newline="")))


def bought(chosen: Chosen, *items: str) -> int:
    return sum(row["pieces"] for row in chosen.problem.pricing.bill(chosen.population) if row["item"] in items)


def check_inventory(chosen: Chosen) -> None:
    devices, interfaces, laid = (rows(f"netbox-{what}", chosen) for what in ("devices", "interfaces", "cables"))
    assert (tuple(interfaces[0]), tuple(laid[0])) == (INTERFACES, CABLES)
    assert len(laid) == bought(chosen, *LINKS)
    assert Counter(row["role"] for row in devices)["switch"] == bought(chosen, "switch")
    labels = Counter(row["description"].partition(",")[0] for row in laid)
    assert labels == {item: count for item in LINKS if (count := bought(chosen, item))}
    known = {(row["device"], row["name"]) for row in interfaces}
    assert len(known) == len(interfaces)
    assert {device for device, _ in known} <= {row["name"] for row in devices}
    ends = [(row[f"side_{side}_device"], row[f"side_{side}_name"]) for row in laid for side in "ab"]
    assert len(set(ends)) == len(ends)
    assert set(ends) == known
    # Every switch has a cable, and a switch of a dimension is one that the devices have there.
    where = {row["name"]: row["comments"].partition(",")[0] for row in devices if row["role"] == "switch"}
    reached = {row["device"]: row["description"].partition(",")[0] for row in interfaces if row["device"] in where}
    assert reached == where


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_cables_connect_interfaces_of_devices_as_the_bill_counts_them(name: str) -> None:
    for chosen in designs(name):
        check_inventory(chosen)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_cables_of_large_networks_are_those_of_the_bill(name: str) -> None:
    for chosen in designs(name):
        check_inventory(chosen)


@pytest.mark.slow
def test_spares_are_devices_without_cables() -> None:
    given = ["npus=512", "faults={checkpoint_s: 10, restart_s: 600}", "objectives=[goodput, cost]"]
    problem = load_problem("moe-4k", given)
    chosen = Chosen(problem, problem.read("SW(8)@nvlink4:450_CL(64)@optics-400g:50 spares=16"))
    assert Counter(row["role"] for row in rows("netbox-devices", chosen))["npu"] == 512 + 16
    assert len(rows("netbox-cables", chosen)) == bought(chosen, *LINKS)
    assert len({row["device"] for row in rows("netbox-interfaces", chosen) if row["device"].startswith("npu")}) == 512
    assert "spare NPUs" in write_as("netbox-cables", chosen).left[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["roce-128", "wafer-20", "mixtral-8x7b-256"])
def test_graphs_have_the_counts_of_the_bill(name: str) -> None:
    for chosen in designs(name, 3):
        written = write_as("graphviz", chosen)
        text, devices = str(written.content), chosen.problem.npus + bought(chosen, "switch")
        edges = re.findall(r'^  "[^"]+" -- "[^"]+" \[label="(?:(\d+) x )?', text, re.MULTILINE)
        if devices <= FULL:
            assert len(re.findall(r'^  "[^"]+"( \[shape=ellipse\])?;$', text, re.MULTILINE)) == devices
            assert sum(int(count or 1) for count in edges) == bought(chosen, *LINKS)
            assert written.left == ()
        else:
            assert edges == []
            folded = re.findall(r"([\d,]+) x (?:short )?(?:up)?link", text)
            assert sum(int(count.replace(",", "")) for count in folded) == bought(chosen, *LINKS)
            assert f"more than {FULL}" in written.left[0]


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_the_graph() -> None:
    (chosen,) = designs("wafer-20", 1)
    text = str(write_as("graphviz", chosen).content)
    found = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True)
    assert found.stdout.count('class="node"') == 20 + bought(chosen, "switch")


def test_the_graph_of_a_block_that_nobody_has_wired_is_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    (chosen,) = designs("wafer-20", 1)
    monkeypatch.setattr(cables, "_WIRES", {})
    written = write_as("graphviz", chosen)
    assert "npus [label=" in str(written.content)
    assert "are not known one by one" in written.left[0]
    with pytest.raises(InputError, match="are not known one by one"):
        write_as("netbox-cables", chosen)


def test_problems_without_parts_say_so() -> None:
    (chosen,) = designs("gpt3-4k", 1)
    for name in ("netbox-interfaces", "netbox-cables"):
        with pytest.raises(InputError, match="'gpt3-4k' has no parts to connect; it needs a catalogue of parts"):
            write_as(name, chosen)
    written = write_as("graphviz", chosen)
    assert "npus -- " in str(written.content)
    assert written.left == ("parts, which the problem has no catalogue of",)


def test_a_workbook_opens_with_the_rows_of_the_csv_and_sums_that_are_formulas() -> None:
    (chosen,) = designs("opt-175b-offload", 1)
    content = write_as("bill-excel", chosen).content
    assert isinstance(content, bytes)
    head, *body, last = load_workbook(io.BytesIO(content))["bill"].iter_rows(values_only=True)
    table = rows("bill-csv", chosen)
    assert list(head) == list(table[0])
    assert len(body) == len(table)
    for cells, row in zip(body, table, strict=True):
        for key, cell in zip(head, cells, strict=True):
            found = row[str(key)]
            assert str("" if cell is None else cell) == found or float(found) == pytest.approx(cell, rel=1e-14)
    formulas = {str(key): str(cell) for key, cell in zip(head, last, strict=True) if cell is not None}
    assert set(formulas) == {"cost_usd", "power_W"}
    assert all(text.startswith("=SUBTOTAL(109,[") for text in formulas.values())
