"""What `evo-libra catalog` shows of accelerators and language models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evo_libra.errors import InputError
from evo_libra.network.catalog.accelerators import load_accelerators
from evo_libra.network.orders.catalog import load_products
from evo_libra.problem.file.training import trained_models
from evo_libra.ui.commands.catalog import catalog
from evo_libra.ui.tables.ages import STATES, dated_entries, newest_year, stale_entries, why_missing
from evo_libra.ui.tables.catalogue_data import KINDS
from evo_libra.ui.tables.products import GROUPS
from evo_libra.workload.models.decoder import load_decoders

PRODUCTS = load_products("products-2026")


def test_accelerator_shows_its_figures_and_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("h100-80gb") == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {cells[0]: cells for line in lines if (cells := line.split())}
    assert rows["bf16"] == ["bf16", "0.736", "3.5", "2.66", "-", "-", "-", "measured"]
    assert rows["int8"] == ["int8", "0.705", "3.5", "14.2", "10.4", "-", "-", "class", "default"]
    assert rows["attention"] == ["attention", "0.55", "-", "-", "-", "1,700", "0.86", "measured"]
    assert any("memory.bandwidth_GBps" in line and "3,350" in line for line in lines)
    assert any("price_usd" in line and "25,000 to 30,678" in line for line in lines)
    assert lines[0].startswith("accelerator h100-80gb, newest source of 202")
    assert "in hgx-h100 (buy)" in lines
    assert catalog("h100-80gb", sources=True) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("  power_W: NVIDIA H100 data sheet, 2022") for line in lines)


def test_language_model_shows_its_layers_and_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("deepseek-v3") == 0
    out = capsys.readouterr().out
    assert all(text in out for text in ("layers", "61", "671,026,404,352", "37,552,282,624", "latent.kv_rank"))


def test_recommendation_model_shows_its_tables_and_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("dlrm-mlperf") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("recommendation model dlrm-mlperf" in line for line in lines)
    assert any("rows" in line and "187,767,399" in line for line in lines)
    assert any("top_mlp" in line and "1,024, 1,024, 512, 256, 1" in line for line in lines)
    assert any("embedding_parameters" in line and "24,034,227,072" in line for line in lines)


@pytest.mark.parametrize(
    ("group", "name"),
    [("accelerators", "tpu-v4"), ("language_models", "llama-2-7b"), ("recommendation_models", "dlrm-mlperf")],
)
def test_each_is_one_object_of_json(group: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog(name, as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data) == [group]
    assert list(data[group]) == [name]


def test_the_list_has_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog(as_json=True) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data["accelerators"]) == list(load_accelerators())
    assert list(data["language_models"]) == list(load_decoders())
    assert {**data["language_models"], **data["recommendation_models"]}.keys() == trained_models().keys()


@pytest.mark.slow
def test_the_overview_counts_them_and_the_whole_list_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog() == 0
    rows = {cells[0]: cells for line in capsys.readouterr().out.splitlines() if (cells := line.split())}
    assert int(rows["accelerators"][-3]) == len(load_accelerators())
    assert int(rows["switches"][-3]) == len(PRODUCTS.switches)
    assert catalog(whole=True) == 0
    out = capsys.readouterr().out
    assert "accelerators: a100-40gb, " in out
    assert "language models: deepseek-v3, " in out
    assert "recommendation models: dlrm-mlperf" in out


NAMES = [
    None, "libra", "libra-cosearch", "parts-2024", "products-2025", "luwu-2024", "wafer", "products-2026", *KINDS,
    *load_accelerators(), "llama-4-maverick", "dlrm-mlperf", "sn5600", "hpn-7", "nvlink5", "tpu7x-slice", "dgx-h100",
]  # fmt: skip


@pytest.mark.parametrize("sources", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_everything_fits_a_screen(name: str | None, sources: bool, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: FBT001 - drawn
    """80 columns, and 52 lines with the prompt; sources that a user asks for may have words longer than a line."""
    assert catalog(name, sources=sources) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines if "/" not in line)
    assert all("http" not in line for line in lines) or sources
    assert len(lines) + 1 <= 52 or sources


def test_the_overview_fits_a_small_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """24 lines, one of them the prompt."""
    assert catalog() == 0
    assert len(capsys.readouterr().out.splitlines()) + 1 <= 24


@pytest.mark.parametrize("part", GROUPS)
def test_a_kind_of_a_catalogue_of_products_is_one_table(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("products-2026", part) == 0
    own = capsys.readouterr().out
    assert catalog(part) == 0
    assert capsys.readouterr().out == own
    rows = [cells for line in own.splitlines() if (cells := line.split()) and cells[0] in getattr(PRODUCTS, part)]
    assert len(rows) == len(getattr(PRODUCTS, part))
    assert all(cells[1] in STATES for cells in rows)
    years = [cells[3 if cells[1] == "until" else 2] for cells in rows]
    assert all(year.isdigit() or year == "-" for year in years)


def test_what_a_catalogue_or_a_list_lacks_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="products-2026 has no 'qm9701'; did you mean 'qm9700'"):
        catalog("products-2026", "qm9701")
    with pytest.raises(InputError, match="clusters has no 'hpn-8'; did you mean 'hpn-7'"):
        catalog("clusters", "hpn-8")
    with pytest.raises(InputError, match=r"unknown name 'qm9701'; .*did you mean 'qm9700'\?"):
        catalog("qm9701")


@pytest.mark.parametrize(("name", "near"), [("MI355X", "mi355x"), ("GB300", "gb300"), ("Kimi-K2", "kimi-k2")])
def test_a_name_in_capitals_is_nearest_to_itself(name: str, near: str) -> None:
    with pytest.raises(InputError, match=f"unknown name '{name}'; .*did you mean '{near}'"):
        catalog(name)


def test_an_entry_has_no_part() -> None:
    said = "'b300' is one of accelerators, and has no 'systems'; `catalog b300` shows it, and `catalog systems` all"
    with pytest.raises(InputError, match=re.escape(said)):
        catalog("b300", "systems")
    with pytest.raises(InputError, match=r"'kimi-k2' is one of language models, and has no 'x'; `catalog kimi-k2`"):
        catalog("kimi-k2", "x")
    with pytest.raises(InputError, match="unknown name 'b301'"):
        catalog("b301", "systems")


def test_kernels_that_were_not_measured_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("mi325x") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "default of the class, not measured: kernels.fp8, kernels.int8, kernels.decode, kernels.attention" in out
    assert "measured, and tried by no row that the fit has not seen: kernels.bf16" in out
    assert catalog("a100-80gb") == 0
    out = capsys.readouterr().out
    assert "not measured: kernels.int8" in out
    assert "tried by no row" not in out
    assert catalog("mi355x") == 0
    assert "kernels.fp8.quantisation" in capsys.readouterr().out.partition("not measured:")[2]


def test_the_year_of_every_host_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("hosts") == 0
    rows = {cells[0]: cells for line in capsys.readouterr().out.splitlines() if len(cells := line.split()) > 9}
    assert rows["luwu-server"] == [
        "luwu-server", "-", "17,000", "-", "-", "-", "375", "1,830", "12", "2.1667", "310", "2024",
    ]  # fmt: skip


def test_stale_entries_are_those_whose_newest_source_is_older(capsys: pytest.CaptureFixture[str]) -> None:
    """Llama 2 is of 2023; Llama 3 and `hgx-h100`, whose price is of 2026, are not older than 2024."""
    assert catalog(stale=2024) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    found = {cells[2].strip(): int(cells[4].replace("estimate", "0")) for cells in rows}
    assert found["llama-2-7b"] == 2023
    assert found["gpt-3-175b"] == 2020
    assert not found.keys() & {"llama-3-8b", "kimi-k2", "deepseek-v3", "sn5600", "connectx-7"}
    assert all(year == 0 or 1990 < year < 2024 for year in found.values())
    assert list(found.values()) == sorted(found.values())


def test_stale_entries_are_one_list_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog(stale=2024, as_json=True) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)["stale"]}
    assert found["llama-2-7b"] == {
        "kind": "language model", "name": "llama-2-7b", "year": 2023, "order": "open", "missing": [],
        "reasons": {},
    }  # fmt: skip
    assert found["palomar-136"]["order"] == "own"
    assert found["palomar-136"]["missing"] == ["price_usd"]


@pytest.mark.slow
def test_stale_entries_show_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with the text of its source; an estimate has no year in JSON."""
    assert catalog(stale=2024, sources=True) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Brown et al., 2020 (arXiv 2005.14165)" in out
    assert all(entry.name in out for entry in stale_entries(2024))
    assert "newest source" not in out
    assert catalog(stale=2024, as_json=True) == 0
    years = {one["name"]: one["year"] for one in json.loads(capsys.readouterr().out)["stale"]}
    assert years["management-cables"] is None


@pytest.mark.slow
def test_a_year_is_that_of_the_newest_source_in_every_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The data sheet of an HGX A100 is of 2020, and its price is newer."""
    kinds = {"system": "systems", "NIC": "nics", "switch": "switches", "cable": "cables", "module": "modules",
             "link technology": "technologies", "reference order": "clusters"}  # fmt: skip
    for kind, word in kinds.items():
        entries = {entry.name: entry.year for entry in dated_entries() if entry.kind == kind}
        assert catalog(word) == 0
        rows = [set(re.split(r"[\s│]+", line)) for line in capsys.readouterr().out.splitlines()]
        for name, year in entries.items():
            if any(name in row for row in rows):  # A long name is folded.
                assert any({name, str(year or "-")} <= row for row in rows), (name, year)
    assert catalog("hgx-a100") == 0
    newest = next(entry.year for entry in dated_entries() if entry.name == "hgx-a100")
    assert newest > 2020
    assert f"newest source of {newest}" in capsys.readouterr().out


def test_what_is_no_longer_sold_says_until_when() -> None:
    orders = {entry.name: entry.order for entry in dated_entries() if entry.kind == "system"}
    assert (orders["hgx-h20"], orders["hgx-h800"]) == ("until 2025", "until 2023-10")
    assert (orders["hgx-b300"], orders["trn2-ultraserver"], orders["maia-200-cluster"]) == ("buy", "rent", "own")


def test_every_entry_has_an_order_state_of_its_kind() -> None:
    for entry in dated_entries():
        assert entry.order.partition(" ")[0] in STATES, entry
    states = {(entry.kind, entry.name): entry.order for entry in dated_entries()}
    known = {
        ("accelerator", "b300"): "buy", ("accelerator", "tpu-v5e"): "rent", ("accelerator", "vr200"): "buy",
        ("accelerator", "mi455x"): "roadmap",
        ("host", "luwu-testbed"): "own", ("host", "dgx-h100"): "buy", ("link technology", "ici-v5p"): "rent",
        ("link technology", "wafer-fred"): "research", ("part", "nvswitch3"): "buy",
        ("part", "fred-switch"): "research",
        ("language model", "kimi-k2"): "open", ("language model", "gpt-3-175b"): "closed",
        ("reference order", "xai-colossus"): "built", ("reference order", "dgx-b300-superpod"): "drawn",
        ("reference design", "rail-only-h100"): "research", ("rule", "spare-servers"): "buy",
        ("failure rate", "npu"): "observed",
    }  # fmt: skip
    assert {key: states[key] for key in known} == known


@pytest.mark.parametrize(("name", "rows"), [
    ("hosts", {"luwu-worker": "own", "dgx-a100": "buy", "luwu-testbed": "own"}),
    ("clusters", {"hpn-7": "built", "gb300-ai-factory": "drawn"}),
    ("designs", {"frontier-like": "built"}),
])  # fmt: skip
def test_lists_show_the_order_state(name: str, rows: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog(name) == 0
    words = re.split(r"[\s│]+", capsys.readouterr().out)
    for row, state in rows.items():
        after = words[words.index(row) + 1 :]
        assert next(word for word in after if word in STATES) == state


def test_stale_is_about_all_catalogues() -> None:
    with pytest.raises(InputError, match="--stale is about all catalogues; leave out 'hosts'"):
        catalog("hosts", stale=2024)


def test_every_entry_has_a_year() -> None:
    """But for a length of cable, whose price is an estimate from nothing that has a year."""
    entries = dated_entries()
    assert {entry.name for entry in entries if not 1990 < entry.year <= 2100} == ESTIMATED
    assert all(entry.year == 0 for entry in entries if entry.name in ESTIMATED)
    kinds = {entry.kind for entry in entries}
    assert {"accelerator", "system", "switch", "part", "link technology", "language model", "host"} <= kinds
    assert len({(entry.kind, entry.name) for entry in entries}) == len(entries)


def test_an_estimate_is_no_source(capsys: pytest.CaptureFixture[str]) -> None:
    """The price of acc-400 is an estimate of 2026, and its data sheet is of 2024."""
    years = {entry.name: entry.year for entry in dated_entries()}
    assert (years["acc-400"], years["cooling-units"], years["l40s-8"]) == (2024, 2025, 2026)
    assert catalog(stale=2024) == 0
    assert "estimate" in capsys.readouterr().out


ESTIMATED = {"management-cables"}


def test_a_price_in_that_of_systems_is_one_that_they_have() -> None:
    """An MI325X is in servers whose price nobody publishes, and a GB300 in a rack with a price."""
    reasons = {entry.name: why_missing(entry) for entry in dated_entries() if entry.kind == "accelerator"}
    assert reasons["gb300"] == "in the price of gb300-nvl72"
    for name in ("mi325x", "mi350x", "mi455x", "h800-80gb", "tpu7x", "trainium2", "trainium3"):
        assert reasons[name].startswith("No public price"), name
    assert reasons["maia-200"].startswith("It is not sold")
    assert reasons["tpu-v5e"] == "it is rented alone"


def test_a_slice_whose_rent_is_known_lacks_no_price() -> None:
    missing = {entry.name: entry.missing for entry in dated_entries() if entry.kind == "system"}
    assert missing["tpu-v4-slice"] == missing["tpu-v6e-slice"] == ("kW",)
    assert missing["tpu7x-slice"] == ("price_usd", "kW")


def test_the_years_of_a_source_are_no_numbers_of_papers() -> None:
    assert newest_year(["Brown et al., 2020 (arXiv 2005.14165)", None, "2,025 W in 2019"]) == 2020
    assert newest_year(["no year"]) == 0


def test_unknown_name_suggests_an_accelerator() -> None:
    with pytest.raises(InputError, match=r"did you mean 'h100-80gb'\?"):
        catalog("h100")


def test_products_have_their_year_and_order_state(capsys: pytest.CaptureFixture[str]) -> None:
    """The year is that of the newest source: of the QM9700 it is that of its latency, and its price is of 2024."""
    rows = {}
    for part in ("systems", "nics", "switches", "cables"):
        assert catalog("products-2026", part) == 0
        rows |= {cells[0]: cells for line in capsys.readouterr().out.splitlines() if len(cells := line.split()) > 3}
    assert rows["gb300-nvl72"][:7] == ["gb300-nvl72", "buy", "2026", "72", "900", "132", "4,000"]
    assert rows["hgx-b300"][6:] == ["~450", "1x800", "1x400", "2x400"]
    assert rows["mi325x-8"][6] == "-"
    assert rows["hgx-h20"][1:4] == ["until", "2025", "2025"]
    assert rows["hgx-h800"][1:4] == ["until", "2023", "2025"]
    assert rows["qm9700"] == ["qm9700", "buy", "2026", "747", "40", "64x400", "128x200"]
    assert rows["connectx-7"] == ["connectx-7", "buy", "2026", "24.6", "1,499", "1x400"]
    assert rows["dac-400"] == ["dac-400", "buy", "2024", "dac", "400", "2", "2", "~250"]
    assert rows["tpu7x-slice"][1:] == ["rent", "2026", "64-9,216", "600", "-", "-"]
    assert rows["tpu-v5p-slice"][1:] == ["rent", "2026", "64-6,144", "600", "-", "4.2/h"]


def test_a_catalogue_of_products_is_a_summary_and_all_of_it_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """27 systems, of which 16 are sold, 7 rented, one its owner's, one announced, and 2 no longer sold."""
    assert catalog("products-2026") == 0
    rows = {cells[0]: cells for line in capsys.readouterr().out.splitlines() if (cells := line.split())}
    assert rows["systems"][1:7] == ["27", "16", "7", "1", "1", "2"]
    assert catalog("products-2026", whole=True) == 0
    out = capsys.readouterr().out
    assert all(name in out for group in GROUPS for name in getattr(PRODUCTS, group))


def test_an_accelerator_whose_only_system_is_no_longer_sold_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("h20-96gb") == 0
    assert "in hgx-h20 (until 2025)" in capsys.readouterr().out
    orders = {entry.name: entry.order for entry in dated_entries() if entry.kind == "accelerator"}
    assert (orders["h20-96gb"], orders["h800-80gb"], orders["h100-80gb"]) == ("until 2025", "until 2023-10", "buy")


def test_products_show_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("products-2026", sources=True) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "sn5600 (2025): SN5000 user manual (docs.nvidia.com)" in out
    assert "price_usd: About 4 million USD (Morgan Stanley, May 2026)" in out
    assert "sources of switches of products-2026" in out
    assert "latency_ns, 150 to 330: 330 ns by yobitel.com, 2025" in out
    assert "efficiency, 0.6 to 0.95: Estimate: the middle" in out
    assert "latency_ns: One source, its maker, 2025" in out
    assert "cooling-units (2026): No list price was found" in out
    assert "rack (2025): Racks of 600 mm" in out


def test_products_are_one_object_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert catalog("products-2026", as_json=True) == 0
    found = json.loads(capsys.readouterr().out)["product_catalogs"]["products-2026"]
    assert found["systems"]["gb300-nvl72"]["price_usd"] == {
        "low": 3_000_000, "value": 4_000_000, "high": 6_500_000, "basis": "public",
    }  # fmt: skip
    assert found["ocs"]["polatis-192"]["price_usd"]["high"] == 99840
    assert found["systems"]["mi325x-8"]["price_usd"] is None
    assert found["rules"]["cooling-units"]["usd"]["value"] == 130


def test_products_of_a_file_are_shown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text("kind: products\nname: own\nsource: ours\nextends: products-2026\n")
    assert catalog("own.yaml") == 0
    assert "catalogue own" in capsys.readouterr().out
    assert catalog() == 0
    assert "catalogues: products-2026; of parts " in capsys.readouterr().out
