"""A run of orders in the terminal UI: systems tell points apart, and details are those of a purchase."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from order_files import order_data
from ruamel.yaml import YAML

from evo_libra.experiment.store.folder import RunFolder
from evo_libra.front.front import Front
from evo_libra.ui.commands.application import run
from evo_libra.ui.terminal import view_model
from evo_libra.ui.terminal.breakdown import break_down
from evo_libra.ui.terminal.details import Breakdown, Design, Line, detail_lines, picture_lines
from evo_libra.ui.terminal.front_rows import FrontRows
from evo_libra.ui.terminal.plot_view import PlotView, picture_of
from evo_libra.ui.terminal.session import RunData


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("orders")
    with (where / "buy.yaml").open("w") as file:
        YAML(typ="safe").dump(order_data(), file)
    assert run(["search", str(where / "buy.yaml"), "--out", str(where / "results"), "--no-plot"]) == 0
    (found,) = where.rglob("front.parquet")
    return found.parent


@pytest.fixture(scope="module")
def front(folder: Path) -> Front:
    return Front.read(folder / "front.parquet")


@pytest.fixture(scope="module")
def breakdown(folder: Path, front: Front) -> Breakdown:
    return break_down(RunFolder(folder), Design("", "", {}, front.frame["design"][0]))


def text(lines: list[Line]) -> str:
    return "\n".join("".join(part for part, _ in line) for line in lines)


@pytest.mark.slow
def test_details_have_networks_and_sections(front: Front, breakdown: Breakdown) -> None:
    design = Design("", "order 0 of 2", {}, front.frame["design"][0])
    shown = text(detail_lines(design, breakdown, None, 46, ascii_only=True))
    assert "scale-out   dim 1, " in shown
    assert breakdown.record is not None
    assert [row.item for row in breakdown.record.breakdown.system if f"\n{row.item:<12}" not in shown] == []
    assert "equal bandwidths" not in shown
    assert max(map(len, shown.splitlines())) <= 46


@pytest.mark.slow
def test_the_picture_is_that_of_the_order(front: Front, breakdown: Breakdown) -> None:
    shown = text(picture_lines(breakdown, 60, ascii_only=True))
    assert shown.startswith(front.frame["design"][0].partition(" | ")[0])
    assert "MUSD  whole order" in shown


def test_systems_are_series_and_every_point_can_be_picked(front: Front) -> None:
    values = {column: front.frame[column].to_numpy() for column in front.objectives}
    points = view_model.systems_of(RunData(front, values))
    assert [one.label for one in points] == list(dict.fromkeys(front.frame["system"]))
    assert sum(len(one.front["time_ms"]) for one in points) == len(front)
    picture = picture_of(PlotView(), points, whole=values)
    assert picture.pickable is not None
    assert np.array_equal(picture.pickable.y, values["time_ms"])


def test_rows_of_the_front_name_system_switch_and_ratio(front: Front) -> None:
    rows = FrontRows(front)
    assert [column.title for column in rows.columns][-1] == "order"
    design = front.frame["design"][0].partition(" | ")[0]
    switch, *_, ratio = design.split(" / ")[-1].split()
    assert rows[0].cells[-1] == f"{front.frame['system'][0]} {switch} {ratio}"
