"""The document of a report: its figures are those of the program, and it holds what a page needs."""

from __future__ import annotations

import json
from dataclasses import replace
from html import escape

import numpy as np
import polars as pl
import pytest

from evo_libra.errors import InputError
from evo_libra.explain.explain import breakdown_of
from evo_libra.explain.prices import price_front
from evo_libra.explain.reason_sheet import bill_table
from evo_libra.front.front import Front
from evo_libra.problem.problem import Problem
from evo_libra.report.columns import columns_of
from evo_libra.report.data import MAX_ROWS, Source, report_document
from evo_libra.report.details import MOST, detailed_rows
from evo_libra.report.page import frame, page
from evo_libra.report.records import Column, Document
from evo_libra.report.verdicts import tornado_of


def column(document: Document, key: str) -> Column:
    return next(one for one in document.columns if one.key == key)


@pytest.mark.slow
def test_columns_are_the_front_s(document: Document, source: Source) -> None:
    for key in source.front.objectives:
        found = column(document, key)
        assert np.array(found.values) * found.factor == pytest.approx(source.front.frame[key].to_numpy(), rel=1e-6)
        assert found.log
    assert document.rows.design == source.front.frame["design"].to_list()
    family = column(document, "family")
    topologies = [document.families[int(place or 0)].topology for place in family.values]
    bare = source.front.frame["design"].str.replace_all(r":[^_]*", "").to_list()
    assert topologies == bare


@pytest.mark.slow
def test_waterfalls_add_up_to_the_time_of_the_design(document: Document, source: Source) -> None:
    assert document.details
    for row, detail in document.details.items():
        total = sum(one.weight * one.total_ms for one in detail.waterfalls)
        assert total == pytest.approx(source.front.frame["time_ms"][int(row)], rel=1e-9)
        for one in detail.waterfalls:
            assert sum(step.time_ms for step in one.steps) == pytest.approx(one.total_ms, rel=1e-5)
            ends = [(step.start, step.start + step.share) for step in one.steps]
            assert min(start for start, _ in ends) >= 0
            assert max(end for _, end in ends) <= 1 + 1e-9


@pytest.mark.slow
def test_bills_are_those_of_explain_and_add_up_to_the_cost(parts_document: Document, parts: Source) -> None:
    assert isinstance(parts.problem, Problem)
    for row, detail in list(parts_document.details.items())[:5]:
        design = parts.front.frame["design"][int(row)]
        found = breakdown_of(parts.problem, parts.problem.read(design))
        assert detail.tables[0] == bill_table(found)
        total = detail.tables[0].rows[-1]
        assert total is not None
        assert total[3] == f"{parts.front.frame['cost_usd'][int(row)]:,.2f}"
        assert total[4] == f"{sum(one.power_W for one in found.bill):,.1f}"


def test_the_band_lies_between_the_front_and_what_is_proven(document: Document, source: Source) -> None:
    assert source.certificate is not None
    band, count = np.array(document.results[0].band), len(source.front)
    above, below = band[:count], band[count:][::-1]
    assert (above[:, 1] == below[:, 1]).all()
    order = np.argsort(source.front.frame["cost_usd"].to_numpy())
    assert above[:, 0] / below[:, 0] == pytest.approx(source.certificate.factor[order], rel=1e-4)


@pytest.mark.slow
def test_bands_are_faint_ranges_of_the_time(parts_document: Document, parts: Source) -> None:
    found, frame = column(parts_document, "time_ms"), parts.front.frame
    assert found.faint
    assert np.array(found.low) * found.factor == pytest.approx(frame["low_time_ms"].to_numpy(), rel=1e-6)
    assert np.array(found.high) * found.factor == pytest.approx(frame["high_time_ms"].to_numpy(), rel=1e-6)
    assert not {one.key for one in parts_document.columns} & {"low_time_ms", "high_time_ms", "band", "band_factors"}


def test_price_ranges_are_those_of_prices(parts_document: Document, parts: Source) -> None:
    assert isinstance(parts.problem, Problem)
    found, expected = column(parts_document, "cost_usd"), price_front(parts.front, parts.problem, 1, 0).frame
    assert np.array(found.low) * found.factor == pytest.approx(expected["cost_low_usd"].to_numpy(), rel=1e-6)
    assert np.array(found.high) * found.factor == pytest.approx(expected["cost_high_usd"].to_numpy(), rel=1e-6)


def test_plans_are_columns(parts_document: Document, parts: Source) -> None:
    found = [one for one in parts_document.columns if one.kind == "plan"]
    assert found
    for row, plan in enumerate(parts.front.frame["plan"].to_list()):
        for one in found:
            if not one.names and one.values[row] != 1 and one.label != "vp":
                assert f"{one.label}{one.values[row]}" in plan


def test_the_verdict_is_first_and_its_design_is_marked(document: Document, parts_document: Document) -> None:
    for found in (document, parts_document):
        assert found.verdict[0].startswith("Buy #")
        assert found.verdict[1].startswith("Next best: #")
        number = int(found.verdict[0].split()[1].removeprefix("#"))
        marked = {found.rows.id[row] for rows in found.marks.values() for row in rows}
        assert number in marked
        header = page(found).partition("</header>")[0]
        assert '</p><p class="verdict">Buy #' in header


@pytest.mark.slow
def test_a_chart_has_the_assumptions_that_move_the_verdict_most(parts_document: Document, parts: Source) -> None:
    found = tornado_of(parts.front, parts.problem)
    assert found is not None
    chart = parts_document.charts[0]
    assert chart.title == "Assumptions that move the verdict most"
    assert chart.drawing.count("<rect ") == sum(
        usd != found.lead_usd for one in found.swings for usd in (one.low_usd, one.high_usd)
    )
    assert all(escape(one.text(one.high)) in chart.drawing for one in found.swings)
    assert chart.caption.startswith(f"#{found.id} {found.name} is ")
    assert "Assumptions that move the verdict most" in page(parts_document)


def test_recommended_designs_are_marked_and_say_why(document: Document) -> None:
    assert "knee" in document.marks
    for rows in document.marks.values():
        for row in rows:
            assert document.details[str(row)].sentences[0].split(":")[0].lower() in map(str.lower, document.marks)


def test_reference_designs_are_in_the_units_of_the_columns(parts_document: Document, parts: Source) -> None:
    assert parts.references.points
    for found, point in zip(parts_document.references, parts.references.points, strict=True):
        for key, value in found.values.items():
            assert value * column(parts_document, key).factor == pytest.approx(point.figures[key])


def test_of_many_designs_the_recommended_and_the_best_of_each_family_have_details() -> None:
    count = 3000
    frame = pl.DataFrame({"id": np.arange(count), "a": np.linspace(1, 2, count), "b": np.linspace(2, 1, count)})
    families = np.arange(count) // 1000
    rows = detailed_rows(Front(frame, ("a", "b")), families, 100, [1234])
    assert len(rows) == 100
    assert {0, 999, 1000, 1999, 2000, 2999, 1234} <= set(rows)
    assert len(detailed_rows(Front(frame[:50], ("a", "b")), families[:50])) == 50


@pytest.mark.slow
def test_a_rule_says_which_designs_have_details(source: Source) -> None:
    few = report_document([source], title="few", most=10)
    assert len(few.details) == 10
    assert few.rule.startswith(f"10 of {len(source.front):,} designs")
    assert len(source.front) <= MOST
    assert report_document([source], title="all").rule.startswith("Every design")


@pytest.mark.slow
def test_several_results_lie_over_each_other(source: Source) -> None:
    other = replace(source, name="other", certificate=None)
    document = report_document([source, other], title="two")
    assert column(document, "result").names == ["turing-nlg-4k", "other"]
    assert document.rows.result == [0] * len(source.front) + [1] * len(source.front)
    assert [bool(one.band) for one in document.results] == [True, False]
    assert len(document.marks["knee"]) == 2


def test_results_of_other_objectives_are_refused(source: Source, parts: Source) -> None:
    other = replace(parts, front=Front(parts.front.frame.rename({"cost_usd": "power_kW"}), ("time_ms", "power_kW")))
    with pytest.raises(InputError, match=r"turing-nlg-4k is of time_ms, cost_usd and .* of time_ms, power_kW"):
        report_document([source, other], title="no")
    with pytest.raises(InputError, match="no design to report"):
        report_document([replace(source, front=Front(source.front.frame.clear(), source.front.objectives))], title="")


def test_a_front_alone_has_no_details_and_says_so() -> None:
    frame = pl.DataFrame({"id": [0, 1], "hops": [1.0, 2.0], "price": [2.0, 1.0], "shape": ["a", "b"]})
    document = report_document([Source("mine", Front(frame, ("hops", "price")))], title="mine")
    assert document.details == {}
    assert "not known here" in document.rule
    assert document.commands == {}
    assert [one.key for one in document.columns] == ["family", "hops", "price", "shape"]


@pytest.mark.slow
def test_too_many_designs_are_thinned_and_that_is_said(source: Source) -> None:
    count = MAX_ROWS + 5000
    values = np.linspace(1.0, 2.0, count)
    frame = pl.DataFrame({"id": np.arange(count), "time_ms": values, "cost_usd": values[::-1]})
    document = report_document([Source("many", Front(frame, ("time_ms", "cost_usd")))], title="many")
    assert len(document.rows.id) <= MAX_ROWS
    assert document.rows.id[0] == 0
    assert document.rows.id[-1] == count - 1
    assert document.notes == [f"Of 25,000 designs, {len(document.rows.id):,} in even steps along each front are shown."]
    assert source.certificate is not None


def test_an_objective_that_is_the_same_for_all_has_an_axis() -> None:
    frame = pl.DataFrame({"id": [0, 1], "time_ms": [5.0, 5.0], "cost_usd": [1.0, 1.0], "same": ["a", "a"]})
    found = columns_of(frame, ("time_ms", "cost_usd"))
    assert [one.key for one in found] == ["time_ms", "cost_usd"]


def test_the_page_is_the_same_for_the_same_document_and_holds_it(document: Document) -> None:
    text = page(document)
    assert text == page(document)
    data = text.split('id="data">', 1)[1].split("</script>", 1)[0]
    assert json.loads(data) == json.loads(json.dumps(document.json()))
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in text
    assert "default-src 'none'" in text


def test_no_text_of_the_data_ends_its_element(document: Document) -> None:
    evil = replace(document, title="</script><script>alert(1)</script>", notes=["<b>x</b>"])
    assert "<script>alert" not in page(evil)
    assert "<b>x" not in page(evil)
    assert "<script" not in frame(evil)
