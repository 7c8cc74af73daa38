"""Every writer on designs of shipped problems: bills, devices and cables are those that `evaluate` has."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import load_workbook

from evo_libra import load_problem
from evo_libra.errors import InputError
from evo_libra.exchange import writer_registry
from evo_libra.exchange.graphviz import FULL
from evo_libra.exchange.netbox import CABLES, DEVICES, INTERFACES
from evo_libra.exchange.writer import Exported, Writer, Written, exported
from evo_libra.exchange.writer_conformance import faults
from evo_libra.exchange.writer_registry import PACKAGED, writer_named, writers
from evo_libra.front.bill_table import TOTALS, totals
from evo_libra.front.explain import explain
from evo_libra.front.system_bill import NETWORK, sum_of

PRICED = ("roce-128", "mixtral-8x7b-256", "wafer-20", "opt-175b-offload")
LARGE = ("deepseek-v3-2k", "dense-4k", "moe-4k", "llama3-405b-16k")


def designs(name: str, count: int = 2) -> list[Exported]:
    problem = load_problem(name)
    population = problem.decode(problem.genome.sample(np.random.default_rng(11), 30))
    best = np.argsort(problem.evaluate(population).violation, kind="stable")[:count]
    return [exported(problem, population.select([place])) for place in best.tolist()]


def rows(writer: str, design: Exported) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(str(writer_named(writer).write(design).content), newline="")))


@pytest.mark.parametrize("writer", PACKAGED, ids=lambda writer: writer.name)
def test_writers_conform(writer: Writer) -> None:
    assert faults(writer, [design for name in PRICED for design in designs(name, 1)]) == []
    assert writers()[writer.name] is writer


def test_a_writer_that_fails_is_found_out() -> None:
    (one,) = designs("wafer-20", 1)
    good = writer_named("graphviz")
    assert "writes none" in faults(good, [])[0]
    assert "ZeroDivisionError" in faults(replace(good, write=lambda _: 1 // 0), [one])[0]  # type: ignore[arg-type, return-value]
    counter = iter(range(9))
    assert "differs" in faults(replace(good, write=lambda _: Written(f"{next(counter)}\n")), [one])[0]
    assert any("binary=False" in fault for fault in faults(replace(good, write=lambda _: Written(b"x")), [one]))
    assert any("recognise" in fault for fault in faults(replace(good, reader="nemo"), [one]))


def test_a_package_registers_its_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name = "mine"

        def __init__(self, loaded: object) -> None:
            self.load = lambda: loaded

    mine = Writer("mine", "a test", lambda _: Written("x\n"))
    monkeypatch.setattr(writer_registry, "entry_points", lambda **_: [Entry((mine,))])
    assert writer_named("mine") is mine
    with pytest.raises(InputError, match="did you mean 'graphviz'"):
        writer_named("grafviz")
    monkeypatch.setattr(writer_registry, "entry_points", lambda **_: [Entry(3)])
    with pytest.raises(InputError, match=r"group evo_libra\.writers is no writer but 3"):
        writers()


@pytest.mark.parametrize("name", [*PRICED, *LARGE])
def test_bills_add_up_to_what_evaluate_says(name: str) -> None:
    for design in designs(name):
        found = rows("bill-csv", design)
        breakdown = explain(design.problem, design.population)
        system = [row for row in breakdown.get("system", []) if row["item"] != NETWORK]
        spares = breakdown.get("faults", {}).get("spares", {"npus": 0, "cost_usd": 0.0})
        network = sum(row["cost_usd"] for row in breakdown["bill"]) + (spares["cost_usd"] if spares["npus"] else 0.0)
        around = sum_of(system, "cost_usd")
        read = [{key: float(row[key]) if row[key] else None for key in TOTALS} for row in found]
        assert totals(read)["cost_usd"] == (None if around is None else pytest.approx(network + around, rel=1e-12))
        values = design.problem.evaluate(design.population).objectives[:, 0]
        for objective, value in zip(design.problem.objectives, values, strict=True):
            if objective.name == ("system-cost" if system else "cost"):
                assert totals(read)["cost_usd"] == pytest.approx(float(value), rel=1e-9)
        for row in found:
            if row["unit_usd"] and row["cost_usd"]:
                assert float(row["unit_usd"]) * float(row["pieces"]) == pytest.approx(float(row["cost_usd"]), rel=1e-9)
            if row["dimension"] and row["part"]:
                power = float(row["unit_power_W"]) * float(row["pieces"])
                assert power == pytest.approx(float(row["power_W"]), rel=1e-9, abs=1e-9)
                assert row["source"]


@pytest.mark.parametrize("name", ["roce-128", "opt-175b-offload"])
def test_the_workbook_has_the_rows_and_totals_of_the_csv(name: str) -> None:
    (design,) = designs(name, 1)
    content = writer_named("bill-excel").write(design).content
    assert isinstance(content, bytes)
    values, formulas = (load_workbook(io.BytesIO(content), data_only=only)["bill"] for only in (True, False))
    head, *body, last = list(values.iter_rows(values_only=True))
    table = rows("bill-csv", design)
    assert list(head) == list(table[0])
    assert len(body) == len(table)
    for written, row in zip(body, table, strict=True):
        for key, value in zip(head, written, strict=True):
            assert str("" if value is None else value) == row[key] or float(row[key]) == pytest.approx(value, rel=1e-14)
    assert last[0] == "total"
    for key in TOTALS:
        place = head.index(key)
        summed = [row[key] for row in table]
        if all(summed):
            assert last[place] == pytest.approx(sum(map(float, summed)), rel=1e-12)
            assert formulas.cell(len(table) + 2, place + 1).value.startswith("=SUM(")


def bill_of(design: Exported, words: str) -> int:
    bill = design.problem.pricing.bill(design.population)
    return sum(row["pieces"] for row in bill if row["item"] in words.split(", "))


LINKS = "link, uplink, short link, short uplink"


def check_inventory(design: Exported) -> None:
    devices, interfaces, cables = (rows(f"netbox-{what}", design) for what in ("devices", "interfaces", "cables"))
    assert [tuple(some[0]) for some in (devices, interfaces, cables)] == [DEVICES, INTERFACES, CABLES]
    roles = Counter(row["role"] for row in devices)
    assert roles["switch"] == bill_of(design, "switch")
    assert len(cables) == bill_of(design, LINKS)
    names = [row["name"] for row in devices]
    assert len(set(names)) == len(names)
    around = {row["unit"]: row["pieces"] for row in explain(design.problem, design.population).get("system", [])}
    assert roles["npu"] == around.get("NPU", design.problem.npus)
    known = {(row["device"], row["name"]) for row in interfaces}
    assert len(known) == len(interfaces)
    assert {device for device, _ in known} <= set(names)
    ends = [(row[f"side_{side}_device"], row[f"side_{side}_name"]) for row in cables for side in "ab"]
    assert len(set(ends)) == len(ends)
    assert set(ends) == known
    assert all(row[column] for row in devices for column in DEVICES if column != "description")


@pytest.mark.parametrize("name", PRICED)
def test_devices_and_cables_are_those_of_the_bill(name: str) -> None:
    for design in designs(name):
        check_inventory(design)


def test_spares_are_in_the_bill_and_have_no_cables() -> None:
    given = ["npus=512", "faults={checkpoint_s: 10, restart_s: 600}", "objectives=[goodput, cost]"]
    problem = load_problem("moe-4k", given)
    design = exported(problem, "SW(8)@nvlink4:450_CL(64)@optics-400g:50 spares=16")
    cost = problem.evaluate(design.population).objectives[1, 0]
    assert sum(float(row["cost_usd"]) for row in rows("bill-csv", design)) == pytest.approx(cost, rel=1e-12)
    roles = Counter(row["role"] for row in rows("netbox-devices", design))
    assert roles == {"npu": 512 + 16, "switch": bill_of(design, "switch")}
    assert len(rows("netbox-cables", design)) == bill_of(design, LINKS)
    assert not any(row["side_a_device"].startswith("spare") for row in rows("netbox-cables", design))


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_devices_and_cables_of_large_networks_are_those_of_the_bill(name: str) -> None:
    for design in designs(name):
        check_inventory(design)


@pytest.mark.parametrize("name", ["roce-128", "wafer-20", "mixtral-8x7b-256", "dense-4k"])
def test_graphs_have_the_counts_of_the_bill(name: str) -> None:
    for design in designs(name, 3):
        written = writer_named("graphviz").write(design)
        text = str(written.content)
        devices = design.problem.npus + bill_of(design, "switch")
        edges = re.findall(r'^  ("[^"]+") -- ("[^"]+") \[label="(?:(\d+) x )?', text, re.MULTILINE)
        if devices <= FULL:
            assert len(re.findall(r'^  "[^"]+"( \[shape=ellipse.*)?;$', text, re.MULTILINE)) == devices
            assert sum(int(count or 1) for *_, count in edges) == bill_of(design, LINKS)
            assert written.unsaid == ()
        else:
            assert edges == []
            folded = re.findall(r"([\d,]+) x (?:short )?(?:up)?link", text)
            assert sum(int(count.replace(",", "")) for count in folded) == bill_of(design, LINKS)
            assert f"up to {FULL} are" in written.unsaid[0]


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_the_graph() -> None:
    (design,) = designs("wafer-20", 1)
    text = str(writer_named("graphviz").write(design).content)
    found = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True)
    assert found.stdout.count('class="node"') == 20 + bill_of(design, "switch")


def test_problems_without_parts_say_so() -> None:
    (design,) = designs("gpt3-4k", 1)
    for name in ("bill-csv", "bill-excel", "netbox-devices", "netbox-interfaces", "netbox-cables"):
        with pytest.raises(InputError, match="'gpt3-4k' has no bill of parts; it needs a catalogue of parts"):
            writer_named(name).write(design)
    assert "npus -- " in str(writer_named("graphviz").write(design).content)


def test_the_command_writes_files_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from evo_libra.ui.commands.export import export  # noqa: PLC0415 - the command line takes a while

    design = "roce-128#SW(32)@roce-400g.pfc:50_CL(4)@roce-400g.dctcp:50"

    def told(**given: Any) -> Any:
        assert export(design, **given) == 0
        return capsys.readouterr()

    text = told(to="deepspeed-json")
    assert json.loads(text.out)["train_batch_size"] > 0
    assert "not said: tensor parallelism" in text.err
    found = json.loads(told(to="deepspeed-json", as_json=True).out)
    assert found["content"] == text.out
    assert len(found["not_said"]) == text.err.count("not said")
    assert "wrote" in told(to="bill-excel", path=tmp_path / "bill.xlsx").out
    assert (tmp_path / "bill.xlsx").read_bytes().startswith(b"PK")
    help_text = export.__doc__ or ""
    assert all(name in help_text for name in writers())
    for given, words in (
        ({"to": "bill-excel"}, "bill-excel is no text"),
        ({"to": "bill-exel"}, "did you mean 'bill-excel'"),
        ({}, "--to and a format, or --astra-sim and a folder"),
        ({"to": "bill-csv", "time": "astra"}, "--time and --set belong to --astra-sim"),
        ({"astra_sim": tmp_path, "path": Path("x")}, "the value of --astra-sim"),
        ({"astra_sim": tmp_path, "workload": "x"}, "--workload belongs to --to"),
        ({"to": "bill-csv", "path": tmp_path / "no" / "bill.csv"}, "cannot be written"),
    ):
        with pytest.raises(InputError, match=words):
            told(**given)
