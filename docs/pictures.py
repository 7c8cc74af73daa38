"""Draw the pictures of fronts, the terminal UI, reports and networks that the docs show, as a user would see them.

    python docs/pictures.py

A batch and two searches are run. Textual's own pictures are SVG; Chromium makes PNGs of them, in the font DejaVu Sans
Mono, and shows the report.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from textual.pilot import Pilot

from evo_libra.ui.terminal.app import TerminalUI

DOCS = Path(__file__).parent
BATCH = """
name: sizes
problem: gpt3-4k
engines: [nsga2, nsga3]
evaluations: 30000
population: 200
seeds: [0, 1]
keep: designs
grid: {npus: [1024, 4096, 16384]}
"""
PICTURES = (
    ("terminal.png", False, (144, 42), ("down", "down", "m", "down", "down", "down", "m", "down", "2")),
    ("terminal_light.png", True, (108, 32), ("down", "3", "right")),
)
ORDER, PROBLEM = "buy-deepseek-v3-8k", "llama3-405b-16k"
DRAWN = "1024 hgx-h100 / 1 x 400G / qm9700 rail-optimised 1:1"
REPORTS = (
    ("report.png", "report.html", "light", ("n",) * 8),
    ("report_dark.png", "sizes.html", "dark", ("n",)),
)
BROWSER = ("chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1")


async def drawn(results: Path, cache: Path, size: tuple[int, int], keys: tuple[str, ...], *, light: bool) -> str:
    """Return a picture of the UI after some keys, as SVG."""
    app = TerminalUI(results, light=light, cache=cache)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        font = 'font-family: "DejaVu Sans Mono", monospace;'
        return re.sub(r"font-family: Fira Code[^;]*;", font, app.export_screenshot())


async def settled(pilot: Pilot[None]) -> None:
    """Wait until the store was read and drawn."""
    await pilot.pause(2.0)


def to_png(svg: str, path: Path, place: Path) -> None:
    """Write an SVG as a PNG of its own size."""
    width, height = (round(float(one)) for one in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    page = place / "page.html"
    page.write_text(f"<body style='margin:0'>{svg.replace('<svg', f'<svg width={width} height={height}', 1)}</body>")
    words = [*BROWSER, f"--window-size={width},{height}", f"--screenshot={path}", page.as_uri()]
    subprocess.run(words, check=True, capture_output=True)  # noqa: S603 - our own page


def draw_front(command: Path, place: Path) -> None:
    """Search the orders of the README, and take the picture that the search draws."""
    subprocess.run([command, "search", ORDER, "--out", "results"], cwd=place, check=True)  # noqa: S603 - our own program
    (picture,) = (place / "results" / ORDER).glob("*/front.png")
    shutil.copy(picture, DOCS / "front.png")


def draw_reports(command: Path, place: Path) -> None:
    """Write reports of a search and of a batch, take their pictures, and draw a network."""
    words = (
        ("search", DOCS.parent / "experiments" / "problems" / f"{PROBLEM}.yaml", "--out", "results", "--no-plot"),
        ("report", f"results/{PROBLEM}", "-o", "report.html"),
        ("report", "experiment:sizes", "name:*4096*", "-o", "sizes.html", "--title", "4,096 NPUs, two engines"),
        ("draw", f"results/{PROBLEM}#knee", "-o", DOCS / "network.svg"),
        ("draw", DRAWN, "-o", DOCS / "order.svg"),
    )
    for each in words:
        subprocess.run([command, *each], cwd=place, check=True)  # noqa: S603 - our own program
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which(BROWSER[0]), args=["--no-sandbox"])
        for name, page, theme, keys in REPORTS:
            tab = browser.new_page(viewport={"width": 1360, "height": 980}, color_scheme=theme)
            tab.goto((place / page).as_uri())
            tab.wait_for_timeout(2000)
            for key in keys:
                tab.keyboard.press(key)
            tab.wait_for_timeout(1000)
            tab.screenshot(path=DOCS / name)
        browser.close()


def main() -> None:
    """Run the batch and draw every picture."""
    command = Path(sys.executable).with_name("evo-libra")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "sizes.yaml").write_text(BATCH)
        subprocess.run([command, "run", "sizes.yaml", "--out", "results"], cwd=place, check=True)  # noqa: S603 - our own program
        for name, light, size, keys in PICTURES:
            with contextlib.chdir(place):  # the UI shows the name of the folder as it was given
                svg = asyncio.run(drawn(Path("results"), place / "cache", size, keys, light=light))
            to_png(svg, DOCS / name, place)
        draw_front(command, place)
        draw_reports(command, place)


if __name__ == "__main__":
    main()
