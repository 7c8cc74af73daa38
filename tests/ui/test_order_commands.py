"""A small problem of orders in the commands that a buyer types."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from order_files import order_data, order_problem
from order_results import order_front
from ruamel.yaml import YAML

from evo_libra.exchange.netbox_orders import TABLES
from evo_libra.explain.rescore import rescore, rescored_front
from evo_libra.ui.commands.application import run

Shown = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the file of a problem, and its result."""
    where = tmp_path_factory.mktemp("orders")
    with (where / "buy.yaml").open("w") as file:
        YAML(typ="safe").dump(order_data(), file)
    assert run(["search", str(where / "buy.yaml"), "--out", str(where / "results"), "--no-plot"]) == 0
    return where


@pytest.fixture
def shown(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Return what runs a command in the folder and returns its words, joined by single spaces."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")

    def words(*command: str, code: int = 0) -> str:
        capsys.readouterr()
        assert run(list(command)) == code
        output = capsys.readouterr()
        return " ".join((output.out + output.err).split())

    return words


@pytest.mark.slow
def test_fronts_and_proofs_are_of_orders(shown: Shown) -> None:
    assert "orders on the front" in shown("front", "last")
    proof = shown("certify", "last")
    assert "a front of" in proof
    assert "networks of whole ports" not in proof
    assert "each order" in proof
    if "lacks" in proof:
        assert "within 1 % of a row in every objective" in proof
    assert "or comes within 1 % of, in every objective" in shown("show", "last")


@pytest.mark.slow
def test_families_and_comparisons_are_of_orders(shown: Shown) -> None:
    families = shown("front", "last", "--families")
    assert re.search(r"\d systems? of \d+ orders on the front", families)
    assert "designs" not in families
    for engine in ("nsga2", "random"):
        shown("search", "buy.yaml", "--engine", engine, "--evaluations", "2000", "--no-plot", "--out", "other")
    compared = shown("compare", "engine:nsga2,random", "--out", "other")
    assert "orders ┃" in compared
    assert "designs" not in compared


@pytest.mark.slow
def test_the_networks_of_systems_fit_a_terminal_in_one_unit(shown: Shown, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown("front", "last", "--systems")
    assert "[MUSD]" in text
    assert "MUSD │" not in text
    run(["front", "last", "--systems"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "whole"),
    [
        ("evaluate last#fastest", ("the whole order", "highest ┃", "power [W] ┃")),
        ("explain last#fastest", ("order_cost ┃",)),
        ("search buy.yaml --no-plot", ("order_cost_usd ┃", "against the ")), ("certify last", ("the exact one",)),
        ("prices last", ("stated ┃", "draws ┃")), ("prices last --score regret", ("factor ┃", "draws ┃")),
        ("catalog products-2026", ("--all all of them",)), ("catalog systems", ("--json all of them",)),
    ],
)  # fmt: skip
def test_no_line_is_longer_than_a_terminal(
    shown: Shown, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str,
    whole: tuple[str, ...],
) -> None:  # fmt: skip
    """Nor are words of tables cut; the path of a file alone may be longer."""
    shown("front", "last")
    monkeypatch.setenv("COLUMNS", "80")
    run(command.split())
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if len(line) > 80 and ".parquet" not in line] == []
    assert [word for word in whole if word not in " ".join(text.split())] == []


@pytest.mark.slow
def test_a_search_shows_all_rows_that_its_sentences_name(shown: Shown) -> None:
    text = shown("search", "dense-1k", "--evaluations", "3000", "--no-plot", "--out", "dense")
    named = set(re.findall(r"#(\d+)", text))
    assert len(named) > 2
    assert named <= set(re.findall(r"│ +(\d+) │", text))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["evaluate", "explain"])
def test_an_order_is_addressed_by_its_problem_or_result(shown: Shown, command: str) -> None:
    design = next(row["design"] for row in json.loads(shown("front", "last", "--json"))["front"])
    for where in ("buy.yaml", "last"):
        assert design.partition(" | ")[0] in shown(command, f"{where}#{design}")


@pytest.mark.slow
def test_another_time_evaluates_orders(shown: Shown) -> None:
    text = shown("rescore", "last", "--time", "astra")
    assert "on the front under astra" in text
    assert "orders; rank 1" in text
    found = json.loads(shown("rescore", "last", "--time", "astra", "--json"))
    now, before = found["verdict"], found["verdict_before"]
    assert f"Under astra: Buy #{now['id']} {now['name']}. {now['it_is']}" in text
    same = "as" if now["id"] == before["id"] else "not as"
    assert f"That is {same} under libra, which says: Buy #{before['id']}." in text
    front = {row["id"]: row for row in json.loads(shown("front", "last", "--json"))["front"]}
    ends = {row["id"]: (front[row["id"]]["low_time_ms"], front[row["id"]]["high_time_ms"]) for row in found["designs"]}
    times = {row["id"]: row["time_ms_rescored"] for row in found["designs"]}
    outside = sum(not low <= times[one] <= high for one, (low, high) in ends.items())
    assert found["outside_bands"] == outside
    assert ("outside" in text) == (outside > 0)


def test_the_front_under_another_time_has_its_verdict_and_no_bands_of_the_one_before() -> None:
    front = order_front()
    found = rescore(front, order_problem(time="astra"))
    now = rescored_front(front, found)
    assert now.banded == ()
    assert now.frame["time_ms"].is_sorted()
    assert set(now.frame["id"]) == set(found.frame.filter(found.frame["on_front"])["id"])
    times = dict(zip(found.frame["id"], found.frame["time_ms_rescored"], strict=True))
    assert all(time == times[one] for one, time in zip(now.frame["id"], now.frame["time_ms"], strict=True))


@pytest.mark.slow
def test_prices_are_of_whole_orders(shown: Shown) -> None:
    text = shown("prices", "last")
    assert "million USD of the whole order" in text
    assert "draws ┃" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "sentence"),
    [
        ("72 hgx-h100 / 1 x 800G / sn5600 tor 2:1 | tp1 dp576 mb1", "hgx-h100 takes no NIC with 1 x 800G"),
        ("72 hgx-h100 / 1 x 400G / sn5600 tor 2:1 pods 7:1 | tp1 dp576 mb1", "cannot be bought"),
        ("SW(8)@nvlink4:450_SW(72)@pod:50", "is no order"),
    ],
)
def test_an_order_that_no_vendor_accepts_is_refused(shown: Shown, design: str, sentence: str) -> None:
    text = shown("evaluate", "buy.yaml", "--design", design, code=2)
    assert sentence in text


def test_an_order_is_no_design(shown: Shown) -> None:
    order = "8 gb200-nvl72 / 1 x 400G / qm9700 rail-optimised 1:1"
    assert "is an order; the file asks for a design" in shown("evaluate", "gpt3-4k", "--design", order, code=2)


@pytest.mark.slow
def test_a_limit_on_the_cost_is_one_on_the_whole_order(shown: Shown) -> None:
    found = json.loads(shown("recommend", "last", "--max-cost", "30MUSD", "--seconds", "0", "--json"))
    assert found["limits"] == {"order_cost_usd": 3e7}
    assert all(one["order_cost_usd"] <= 3e7 for one in found["recommended"])


@pytest.mark.slow
def test_a_recommendation_begins_with_the_verdict(shown: Shown) -> None:
    found = json.loads(shown("recommend", "last", "--seconds", "0", "--json"))
    assert next(iter(found)) == "verdict"
    said = found["verdict"]
    text = " ".join(shown("recommend", "last", "--seconds", "0").split())
    assert text.startswith(f"Buy #{said['id']} {said['name']}. {said['it_is']} Next best: #{said['next_best']['id']} ")
    assert said["next_best"]["costs_usd"] > said["next_best"]["saves_usd"]
    assert (said["years"], said["pue"], said["assumed"]) == (4.0, 1.2, True)


@pytest.mark.slow
def test_the_price_of_time_can_be_given(shown: Shown) -> None:
    words = "recommend", "last", "--seconds", "0", "--json"
    by_value = json.loads(shown(*words, "--value", "2USD/GPU-hour"))["verdict"]
    assert (by_value["rule"], by_value["usd_per_npu_hour"]) == ("given price of time", 2.0)
    by_budget = json.loads(shown(*words, "--budget", "30MUSD"))
    assert by_budget["limits"] == {"order_cost_usd": 3e7}
    by_rate = json.loads(shown(*words, "--rate", "1ktoken/s"))
    assert by_rate["limits"] == {"time_per_Mtoken_s": 1000.0}
    assert by_rate["verdict"]["rule"] == "limit on time"
    assert by_rate["verdict"]["id"] == max(one["id"] for one in json.loads(shown("front", "last", "--json"))["front"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--value", "many"), "--value: found 'many'; a price of an NPU-hour is needed, such as 2USD/GPU-hour"),
        (("--deadline", "soon"), "--deadline: found 'soon'; a duration above 0 in s, min, h or d is needed"),
        (("--rate", "0"), "--rate: found '0'; tokens or requests per second above 0 are needed, such as 5Mtoken/s"),
        (("--rate", "20request/s"), "--rate: requests per second need a problem of one served workload; give tokens"),
        (("--rate", "9Gtoken/s"), "--rate: found '9Gtoken/s'; tokens or requests per second above 0 are needed"),
    ],
)
def test_what_is_no_price_of_time_is_refused(shown: Shown, words: tuple[str, str], said: str) -> None:
    assert said in shown("recommend", "last", *words, code=2)


@pytest.mark.slow
def test_nothing_beats_a_row_of_an_exact_front_and_none_is_proven_again(shown: Shown) -> None:
    found = json.loads(shown("recommend", "last", "--json"))
    assert found["proof_complete"]
    assert all(one["factor"] == 1.0 for one in found["recommended"])
    assert "Proven of the space below: no" in shown("recommend", "last")


@pytest.mark.slow
def test_every_format_writes_an_order_or_says_why_not(shown: Shown, tmp_path: Path) -> None:
    for name in ("megatron-arguments", "deepspeed", "bill-csv", "bill-excel", "graphviz", *TABLES):
        assert f"wrote {tmp_path / name}" in shown("export", "last#fastest", "--to", name, "-o", str(tmp_path / name))
    assert (tmp_path / "bill-csv").read_text().startswith("section,part,item,pieces,unit_usd,cost_usd,low_usd,high_usd")
    refused = shown("export", "last#fastest", "--astra-sim", str(tmp_path / "astra"), code=2)
    assert "no word for the tiers, planes and ratios of an order" in refused


def test_an_order_is_drawn_by_its_result_and_by_its_notation(shown: Shown, tmp_path: Path) -> None:
    assert "MUSD whole order" in shown("draw", "last#fastest", "--ascii")
    order = "112 gb300-nvl72 / 1 x 800G / q3450-ld fat tree 2:1"
    # 4 racks of 72 ports fill 3 leaves of 96.
    assert "[ 84 leaves q3450-ld: 96 down, 48 up, 2:1, 3 per 4 systems ]" in shown("draw", order, "--ascii")
    assert shown("draw", order, "-o", str(tmp_path / "order.svg")) == f"picture {tmp_path / 'order.svg'}"
    assert "sketch" not in json.loads(shown("draw", order, "--json"))
    assert "unknown switch 'q3450'" in shown("draw", order.replace("q3450-ld", "q3450"), code=2)


@pytest.mark.slow
def test_outputs_say_which_question_they_answer(shown: Shown) -> None:
    commands = "front last", "front last --systems", "recommend last --seconds 0", "evaluate last#fastest"
    for command in (*commands, "explain last#fastest", "prices last --scenarios 2"):
        assert json.loads(shown(*command.split(), "--json"))["question"] == "order", command
    assert {run["question"] for run in json.loads(shown("results", "--json"))["runs"]} == {"order"}
    assert shown("results").endswith("questions: 1 order")


@pytest.mark.slow
def test_all_tables_of_netbox_are_written_to_a_folder(shown: Shown, folder: Path) -> None:
    assert "--file names the folder" in shown("export", "last#0", "--to", "netbox", code=2)
    words = shown("export", "last#0", "--to", "netbox", "--file", "tables")
    assert {file.stem for file in (folder / "tables").iterdir()} >= set(TABLES)
    for name in TABLES:
        assert f"wrote tables/{name}.csv" in words
        alone = shown("export", "last#0", "--to", name)
        assert " ".join((folder / "tables" / f"{name}.csv").read_text().split()) in alone


@pytest.mark.slow
def test_a_network_of_a_problem_is_drawn_by_its_options(shown: Shown) -> None:
    whole = shown("draw", "last#0")
    design = json.loads(shown("evaluate", "last#0", "--json"))["design"]
    assert shown("draw", "buy.yaml", "--design", design) == whole
    assert shown("draw", "last", "--id", "0") == whole
    assert "unknown key" in shown("draw", "buy.yaml", "--set", "npu_count=128", "--design", design, code=2)


@pytest.mark.slow
def test_a_verdict_is_asked_again_at_other_prices_with_failures_and_by_new_searches(shown: Shown) -> None:
    asked = (
        "--price",
        "gb200-nvl72=x3",
        "--power",
        "0.2USD/kWh",
        "--fail",
        "nic",
        "--without",
        "gb200",
        "--npus",
        "288",
    )
    text = shown("recommend", "last", "--seconds", "0", *asked, "--plot", "t.png")
    assert "If the price of gb200-nvl72 changes by +200 %: the verdict does not hold. Buy #1 72 hgx-h100" in text
    assert "If energy costs 0.2 USD/kWh: the verdict holds." in text
    assert "If all of these prices change: the verdict does not hold." in text
    assert "If a NIC fails: #0 takes" in text
    assert "If there are 288 NPUs: the verdict" in text
    assert "If gb200 cannot be bought: the verdict does not hold. Buy 72 hgx-h100" in text
    assert "Prices and failures are those of the 2 orders of the front." in text
    assert "assumptions that move the verdict most" in text
    assert Path("t.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow
def test_a_verdict_under_other_assumptions_is_json_and_refuses_what_is_not_there(shown: Shown) -> None:
    found = json.loads(shown("recommend", "last", "--seconds", "0", "--workload", "sequence=2048", "--json"))
    assert [one["change"] for one in found["what_if"]] == ["sequence is 2048"]
    assert found["assumptions"]["swings"][0]["low_usd"] != found["assumptions"]["swings"][0]["high_usd"]
    for option, value, why in (
        ("--workload", "sequenc=1", "unknown key of a workload"), ("--fail", "fan", "unknown part 'fan'"),
        ("--without", "qm97", "--without: unknown product"), ("--plot", "t.pdf", "ends in .png"),
        ("--price", "a=b", "--price: found 'a=b'"), ("--power", "b", "--power: found 'b'"),
    ):  # fmt: skip
        assert why in shown("recommend", "last", "--seconds", "0", option, value, code=2)


def test_a_rate_of_requests_is_one_of_tokens_of_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer has 500 tokens: 10 requests a second are 5,000 tokens."""
    monkeypatch.chdir(tmp_path)
    served = {"input": 1000, "output": 500, "concurrency": [1, 32, 64]}
    data = {
        "version": 1, "name": "serve", "question": "order", "systems": ["hgx-b200"], "npus": [8, 16],
        "workloads": [{"model": "llama-3.1-70b", "serving": served, "parallelism": {"tp": [1, 8]}}],
        "objectives": ["tpot", "order-cost"], "constraints": ["tokens-per-s >= 5 ktoken/s"],
    }  # fmt: skip
    with Path("serve.yaml").open("w") as file:
        YAML(typ="safe").dump(data, file)
    assert run(["search", "serve.yaml", "--no-plot"]) == 0
    found = []
    for rate in ("10request/s", "5ktokens/s"):
        capsys.readouterr()
        assert run(["recommend", "last", "--rate", rate, "--seconds", "0", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["limits"] == found[1]["limits"] == {"time_per_Mtoken_s": 200.0}
    assert found[0]["verdict"] == found[1]["verdict"]
    bought = found[0]["bought"]
    assert bought["id"] == found[0]["verdict"]["id"]
    assert sum(part["cost_usd"] for part in bought["parts"]) == pytest.approx(bought["order_cost_usd"], abs=0.01)
    assert run(["recommend", "last", "--seconds", "0"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"to buy tpot {bought['tpot_ms']:.5g} ms" in shown or bought["id"] in [
        one["id"] for one in found[0]["recommended"]
    ]
    assert found[0]["verdict"]["it_is"].startswith("It is the cheapest order within tokens/s >= 5,000, at ")
    assert "assumptions that move the verdict most" in shown, "money decides: the cheapest order is bought"
    capsys.readouterr()
    assert run(["recommend", "last", "--seconds", "0", "--fail", "npu", "--npus", "16", "--json"]) == 0
    failed, more = json.loads(capsys.readouterr().out)["what_if"]
    assert failed["text"].count("its server is out") == 2, "of the best rival, too"
    assert more["text"].endswith("It turns between 8 and 16, to 2 hgx-b200 / 1 x 400G / qm9700 tor 1:1.")


@pytest.mark.slow
def test_rented_systems_have_no_power_to_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their bill is a rent, and a limit would take it for 0 kW."""
    monkeypatch.chdir(tmp_path)
    served = {"input": 1000, "output": 500, "concurrency": [4, 32], "weights": "fp8", "kv_cache": "fp8"}
    data = {
        "version": 1, "name": "rent", "question": "order", "systems": ["tpu7x-slice"], "npus": 64,
        "limits": {"order": ["rent"]}, "rent": {"tpu7x-slice": 5.0},
        "workloads": [{"model": "llama-3.1-70b", "serving": served, "parallelism": {"tp": [4, 8]}}],
        "tco": {"years": 4, "usd_per_kWh": 0.1, "pue": 1.2}, "objectives": ["tpot", "usd-per-Mtoken"],
    }  # fmt: skip
    with Path("rent.yaml").open("w") as file:
        YAML(typ="safe").dump(data, file)
    assert run(["search", "rent.yaml", "--no-plot"]) == 0
    assert run(["recommend", "last", "--max-power", "1MW", "--seconds", "0"]) == 2
    assert "--max-power: tpu7x-slice is rented, and no source gives its power" in capsys.readouterr().err
