"""Every writer on designs of shipped problems, and what comes back when its files are read."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from designs import design_file
from effort import costly
from hypothesis import Phase, given
from hypothesis import strategies as st

from evo_libra.errors import InputError
from evo_libra.exchange.conformance import faults_of_writer
from evo_libra.exchange.formats import Chosen, TrainedPlan, Writer, Written, trained_plan
from evo_libra.exchange.problem_text import made_of
from evo_libra.exchange.registry import PACKAGED_WRITERS, read_text_as, write_as, writers
from evo_libra.explain.system_bill import sum_of, system_bill
from evo_libra.files.source import parse_source
from evo_libra.problem.file.registry import load_problem
from evo_libra.problem.problem import Problem
from evo_libra.workload.models.stacks import STACKS

FOLDER = Path(__file__).parents[2] / "problems"
TRAINED = ("llama3-405b-16k", "deepseek-v3-2k", "mixtral-8x7b-256", "gpt3-175b-1536", "megatron-1t-3072")
OTHERS = ("dense-1k", "gpt3-4k", "opt-175b-offload", "transformer-1t-memory", "llama3-70b-serving", "mixed-models-4k")
DRAWN = ("dense-1k", "deepseek-v3-2k", *OTHERS[1:3], "buy-deepseek-v3-8k")
"""Problems whose designs every writer writes or refuses; the last is of orders."""
FEW = costly(25, phases=[Phase.explicit, Phase.generate])
MANY = costly(50, phases=[Phase.explicit, Phase.generate])


@cache
def problem_of(name: str, *changes: str) -> Problem:
    found = load_problem(design_file(name), list(changes))
    assert isinstance(found, Problem)
    return found


def drawn(name: str, seed: int, *changes: str) -> Chosen:
    problem = problem_of(name, *changes)
    population = problem.decode(problem.genome.sample(np.random.default_rng(seed), 40))
    fits = np.flatnonzero(problem.evaluate(population).violation == 0)
    return Chosen(problem, population.select([int(fits[0]) if len(fits) else 0]))


def read_back(chosen: Chosen, text: str) -> dict[str, Any]:
    """Return the workload of the problem that a written file is read as."""
    problem = chosen.problem
    draft = read_text_as(text, "written")[1]
    return dict(
        made_of({"written": draft}, "again", problem.npus, problem.sources.npu.names[0], question="design").data[
            "workloads"
        ][0]
    )


def with_workload(name: str, workload: dict[str, Any]) -> Problem:
    """Return a problem with another workload."""
    path = Path(design_file(name))
    data = parse_source((path if path.suffix else FOLDER / f"{name}.yaml").read_text(), name).data
    found = load_problem({**data, "workloads": [workload]})
    assert isinstance(found, Problem)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("writer", PACKAGED_WRITERS, ids=lambda writer: writer.name)
def test_writers_write_or_refuse_designs_of_shipped_problems(writer: Writer) -> None:
    assert faults_of_writer(writer, [drawn(name, 0) for name in DRAWN]) == []
    assert writers()[writer.name] is writer


def test_a_writer_that_fails_is_found_out() -> None:
    turns = iter(range(100))
    wrong = [
        Writer("careless", "", lambda chosen: Written(str({}[chosen.notation]))),
        Writer("empty", "", lambda _: Written("")),
        Writer("random", "", lambda _: Written(str(next(turns)))),
        Writer("long", "", lambda _: Written("x", ("two\nlines",))),
    ]
    for writer in wrong:
        assert len(faults_of_writer(writer, [drawn("dense-1k", 0)])) >= 1


@pytest.mark.slow
@given(st.sampled_from(TRAINED), st.integers(0, 10**6))
@FEW
def test_arguments_of_megatron_are_read_as_the_plan_that_was_written(name: str, seed: int) -> None:
    chosen = drawn(name, seed)
    written = write_as("megatron-arguments", chosen)
    assert isinstance(written.content, str)
    if any(sentence.startswith(("the order", "stages")) for sentence in written.left):
        return
    workload = read_back(chosen, written.content)
    again = with_workload(name, workload)
    network = chosen.notation.partition(" |")[0]
    before, after = trained_plan(chosen), trained_plan(Chosen(again, again.read(network)))
    assert same(before) == same(after)
    for option in vars(before.plan):
        if option != "overlap_pp" or before.value("vp") > 1:
            assert before.value(option) == after.value(option), option


def same(of: TrainedPlan) -> tuple[Any, ...]:
    """Return what of a plan a file of arguments has; names, sources and measured factors of software it has not."""
    other = {"name": "", "source": "", "order": "", "year": None, "sequence": None}
    decoder = of.setup.decoder.model_copy(update=other)
    order = tuple(group for group in of.order if of.value(group) > 1)
    return replace(of.setup, decoder=decoder, stack=STACKS["any"], uneven=False), order


@pytest.mark.slow
def test_an_imported_plan_takes_the_time_of_the_plan_that_was_exported() -> None:
    chosen = drawn("mixtral-8x7b-256", 3)
    written = write_as("megatron-arguments", chosen)
    workload = read_back(chosen, str(written.content))
    (own,) = chosen.problem.spec["workloads"]
    workload["training"] |= {key: own["training"][key] for key in ("stack",) if key in own["training"]}
    again = with_workload(chosen.problem.name, workload)
    network = chosen.notation.partition(" |")[0]
    expected = chosen.problem.evaluate(chosen.population).objectives
    np.testing.assert_allclose(again.evaluate([network]).objectives[:2], expected[:2], rtol=1e-12)


@pytest.mark.slow
@given(st.sampled_from((*TRAINED, "opt-175b-offload")), st.integers(0, 10**6))
@MANY
def test_deepspeeds_file_is_read_as_batch_stage_and_replicas_of_the_plan(name: str, seed: int) -> None:
    chosen = drawn(name, seed)
    written, of = write_as("deepspeed", chosen), trained_plan(chosen)
    draft = read_text_as(str(written.content), "ds.json")[1]
    assert draft.parallelism == {"dp": of.value("dp")}
    assert draft.training == {
        "global_batch": of.setup.global_batch, "micro_batch": of.value("micro_batch"), "zero": of.value("zero"),
        "precision": "bf16", "gradients": "fp32" if of.setup.gradient_bytes == 4 else "bf16",
        "overlap": {"dp": bool(of.value("overlap_dp"))},
    }  # fmt: skip
    away = json.loads(str(written.content))["zero_optimization"].get("offload_optimizer", {}).get("device")
    assert away == {0: None, 1: "cpu", 2: "nvme", 3: None}[of.value("optimizer")]
    assert (of.value("tp") > 1) == any(sentence.startswith("tensor parallelism") for sentence in written.left)


@pytest.mark.slow
@given(st.sampled_from((*TRAINED, *OTHERS)), st.integers(0, 10**6))
@MANY
def test_bills_add_up_to_what_evaluate_says(name: str, seed: int) -> None:
    chosen = drawn(name, seed)
    if name == "gpt3-4k":
        with pytest.raises(InputError, match="no bill of parts"):
            write_as("bill-csv", chosen)
        return
    rows = list(csv.DictReader(io.StringIO(str(write_as("bill-csv", chosen).content))))
    figures = chosen.problem.measure(chosen.population, timed=False)
    system = system_bill(chosen.problem, chosen.population)
    of_network = [row for row in rows if row["dimension"] or row["item"] == "spares"]
    assert sum(float(row["cost_usd"]) for row in of_network) == pytest.approx(float(figures.cost[0]), rel=1e-9)
    assert sum(float(row["power_W"]) for row in of_network) == pytest.approx(float(figures.watts[0]), rel=1e-9)
    if system and (whole := sum_of(system, "cost_usd")) is not None:
        assert sum(float(row["cost_usd"]) for row in rows) == pytest.approx(whole, rel=1e-9)
    for row in rows:
        if row["unit_usd"]:
            assert float(row["unit_usd"]) * float(row["pieces"]) == pytest.approx(float(row["cost_usd"]), rel=1e-9)


@pytest.mark.slow
def test_spares_are_rows_of_the_bill_and_have_no_cables() -> None:
    changes = "faults={checkpoint_s: 10, restart_s: 600, spares: [64]}", "objectives=[goodput, cost]"
    problem = problem_of("moe-4k", *changes)
    chosen = Chosen(problem, problem.read("SW(8)@nvlink4:450_CL(512)@optics-400g:50 spares=64"))
    rows = list(csv.DictReader(io.StringIO(str(write_as("bill-csv", chosen).content))))
    (spares,) = [row for row in rows if row["item"] == "spares"]
    assert float(spares["pieces"]) == 64
    figures = problem.measure(chosen.population, timed=False)
    assert sum(float(row["cost_usd"]) for row in rows if row["dimension"]) < float(figures.cost[0])
    assert sum(float(row["cost_usd"]) for row in rows) == pytest.approx(float(figures.cost[0]), rel=1e-9)
    assert any(sentence.startswith("cables of spare NPUs") for sentence in write_as("netbox-cables", chosen).left)


def test_a_workbook_has_the_rows_of_the_table() -> None:
    chosen = drawn("opt-175b-offload", 1)
    rows = list(csv.DictReader(io.StringIO(str(write_as("bill-csv", chosen).content))))
    content = write_as("bill-excel", chosen).content
    assert isinstance(content, bytes)
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        sheet = ET.fromstring(book.read("xl/worksheets/sheet1.xml"))  # noqa: S314 - our own file
        shared = ET.fromstring(book.read("xl/sharedStrings.xml"))  # noqa: S314 - likewise
        texts = ["".join(one.itertext()) for one in shared]
    found: list[dict[str, str]] = []
    for row in sheet.iterfind(".//{*}row"):
        cells = {str(one.get("r")).rstrip("0123456789"): one for one in row.iterfind("{*}c")}
        values = {column: (one.get("t"), one.findtext("{*}v") or "") for column, one in cells.items()}
        found.append({column: texts[int(value)] if kind == "s" else value for column, (kind, value) in values.items()})
    assert tuple(found[0].values()) == tuple(rows[0])
    place = next(column for column, title in found[0].items() if title == "cost_usd")
    costs = [float(row[place]) for row in found[1 : len(rows) + 1]]
    assert costs == pytest.approx([float(row["cost_usd"]) for row in rows], rel=1e-12)
    assert len(found) == len(rows) + 2, "a row of sums"
    source = list(found[0].values()).index("source") + 1
    widths = {int(one.get("min", "0")): float(one.get("width", "0")) for one in sheet.iterfind(".//{*}col")}
    assert 50 < widths[source] < 60, "400 pixels, however long a source is"


def test_a_bill_counts_dimensions_from_0_and_has_the_ends_of_prices() -> None:
    chosen = drawn("dense-1k", 1)
    rows = list(csv.DictReader(io.StringIO(str(write_as("bill-csv", chosen).content))))
    network = [row for row in rows if row["dimension"]]
    assert network[0]["dimension"] == "0"
    for row in network:
        if row["part"]:
            assert float(row["low_usd"]) <= float(row["cost_usd"]) <= float(row["high_usd"])
    assert any(float(row["low_usd"]) < float(row["high_usd"]) for row in network if row["low_usd"])


@given(st.sampled_from(["dense-1k", "mixtral-8x7b-256", "opt-175b-offload"]), st.integers(0, 10**6))
@MANY
def test_devices_are_those_of_the_bill(name: str, seed: int) -> None:
    chosen = drawn(name, seed)
    rows = list(csv.DictReader(io.StringIO(str(write_as("bill-csv", chosen).content))))
    devices = list(csv.DictReader(io.StringIO(str(write_as("netbox-devices", chosen).content))))
    counted = Counter(device["role"] for device in devices)
    bill = Counter[str]()
    for row in rows:
        bill[row["item"].lower()] += round(float(row["pieces"]))
    assert counted["npu"] == chosen.problem.npus
    assert all(counted[role] == bill[role] for role in ("switch", "host", "server"))
    assert len({device["name"] for device in devices}) == len(devices)


@pytest.mark.slow
def test_what_cannot_be_written_is_one_sentence() -> None:
    with pytest.raises(InputError, match=r"--to: unknown format 'bill-cvs'; allowed: .*; did you mean 'bill-csv'\?"):
        write_as("bill-cvs", drawn("dense-1k", 0))
    with pytest.raises(InputError, match="trains no language model"):
        write_as("deepspeed", drawn("llama3-70b-serving", 0))
    several = drawn("mixed-models-4k", 0)
    with pytest.raises(InputError, match=r"several workloads have a plan; name one of .* by --workload"):
        write_as("deepspeed", several)
    names = [table.name for table in several.problem.time.tables]
    assert write_as("deepspeed", replace(several, workload=names[1])).content
    with pytest.raises(InputError, match="--workload: unknown workload 'gpt'"):
        write_as("deepspeed", replace(several, workload="gpt"))


DESIGN = "dense-1k#SW(8)@nvlink4:450_SW(128)@optics-400g:50"


@pytest.mark.slow
def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from evo_libra.ui.commands.application import run  # noqa: PLC0415 - the command line takes a while

    assert run(["export", DESIGN, "--to", "bill-csv"]) == 0
    text = capsys.readouterr().out
    assert run(["export", DESIGN, "--to", "bill-csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["content"] == text
    out = tmp_path / "bill.xlsx"
    assert run(["export", DESIGN, "--to", "bill-excel", "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"wrote {out}\n"
    assert zipfile.is_zipfile(out)
    assert run(["export", DESIGN, "--to", "netbox-devices"]) == 0
    said = capsys.readouterr()
    assert said.err.startswith("left out: manufacturers")
    assert "left out" not in said.out


@pytest.mark.parametrize("command", [["evaluate"], ["export", "--to", "bill-csv"]])
def test_a_problem_file_of_ones_own_has_addresses_of_designs(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from evo_libra.ui.commands.application import run  # noqa: PLC0415 - likewise

    path = tmp_path / "own.yaml"
    path.write_text((FOLDER / "dense-1k.yaml").read_text())
    assert run([command[0], f"{path}#{DESIGN.partition('#')[2]}", *command[1:]]) == 0
    assert capsys.readouterr().out


@pytest.mark.parametrize(("words", "sentence"), [
    ([], "one of --to NAME and --astra-sim FOLDER is needed"),
    (["--to", "bill-csv", "--astra-sim", "out"], "one of --to NAME and --astra-sim FOLDER is needed"),
    (["--to", "bill-excel"], "bill-excel is no text; --file names the file to write"),
    (["--to", "bill-csv", "--file", "no/folder/bill.csv"], "no/folder/bill.csv cannot be written: no such file"),
    (["--to", "bill-csv", "--time", "astra"], "--time and --set belong to --astra-sim"),
    (["--astra-sim", "out", "--workload", "a"], "--file and --workload belong to --to"),
])  # fmt: skip
def test_what_the_command_cannot_do_is_one_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from evo_libra.ui.commands.application import run  # noqa: PLC0415 - likewise

    assert run(["export", DESIGN, *words]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.splitlines()) == 1
