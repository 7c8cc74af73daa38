from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style

SNAPSHOTS = Path(__file__).parent / "snapshots"
SIZES = {"80x24": (80, 24), "120x40": (120, 40), "240x60": (240, 60)}
Drive = Callable[..., None]


def compare(name: str, text: str) -> None:
    """Compare a screen with the one that was looked at; EVO_LIBRA_SNAPSHOTS=write puts it into its place."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("EVO_LIBRA_SNAPSHOTS") == "write":
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")


def colours(driver: Any) -> set[tuple[int, int, int]]:
    """Return every colour on the screen."""
    styles = {
        segment.style or Style()
        for strip in driver.app.screen._compositor.render_strips()  # noqa: SLF001 - no other way to read a screen
        for segment in strip
    }
    found = [colour for style in styles for colour in (style.color, style.bgcolor) if colour is not None]
    return {tuple(colour.get_truecolor()) for colour in found if not colour.is_default}


@pytest.mark.slow
@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("size", SIZES)
def test_screen_at_three_sizes(drive: Drive, size: str) -> None:
    async def look(driver: Any) -> None:
        compare(f"runs-{size}", driver.text)
        await driver.press("m", "2", "right", "3")
        await driver.settled()
        compare(f"details-{size}", driver.text)
        await driver.press("2", "z")
        compare(f"plot-{size}", driver.text)

    drive(look, size=SIZES[size])


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_ascii_screen_has_ascii_alone(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        assert driver.text.isascii()
        compare("ascii-120x40", driver.text)

    drive(look, ascii_only=True)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_no_color_screen_is_grey_and_keeps_markers_apart(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def look(driver: Any) -> None:
        await driver.press("m", "j", "m")
        await driver.settled()
        assert all(len(set(colour)) == 1 for colour in colours(driver))
        assert "●" in driver.text
        assert "○" in driver.text

    drive(look)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_light_and_dark(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        dark = colours(driver)
        await driver.press("t")
        light = colours(driver)
        assert (16, 18, 21) in dark
        assert (251, 251, 250) in light
        assert (16, 18, 21) not in light
        assert any(len(set(colour)) > 1 for colour in light)

    drive(look)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_light_can_be_asked_for(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        assert (251, 251, 250) in colours(driver)

    drive(look, light=True)


@pytest.mark.slow
@pytest.mark.usefixtures("store")
def test_size_can_change_while_it_runs(drive: Drive) -> None:
    async def look(driver: Any) -> None:
        for width, height in ((60, 20), (300, 80), (80, 24), (20, 6)):
            await driver.pilot.resize_terminal(width, height)
            await driver.settled()
            lines = driver.text.split("\n")
            assert len(lines) == height
            assert max(map(len, lines)) <= width
        await driver.pilot.resize_terminal(*SIZES["120x40"])
        await driver.settled()
        compare("runs-120x40", driver.text)

    drive(look)


@pytest.mark.slow
def test_empty_folder_says_so(drive: Drive, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()

    async def look(driver: Any) -> None:
        await driver.until(lambda: "no runs yet" in driver.text)
        for key in "rpRcmxyabeoO":  # there is nothing that they could be done to
            await driver.press(key)
        await driver.said("there is no run")
        assert driver.app.screen is driver.main

    drive(look)
