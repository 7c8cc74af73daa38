"""Draw the pictures of the terminal UI that the docs show: a batch is run, and the UI is pressed as a user would.

    python docs/pictures.py

Textual's own pictures are SVG; Chromium makes PNGs of them, in the font DejaVu Sans Mono.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

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


if __name__ == "__main__":
    main()
