"""Documents to show, and a browser to show them in where there is one."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from designs import design_file

from evo_libra import certify, load_problem, search
from evo_libra.explain.references import references_of
from evo_libra.problem.problem import Problem
from evo_libra.report.data import Source, report_document
from evo_libra.report.page import page
from evo_libra.report.records import Document

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def problem() -> Problem:
    return load_problem("turing-nlg-4k")


@pytest.fixture(scope="session")
def source(problem: Problem) -> Source:
    """A result with a proof, priced per bandwidth."""
    front = search(problem, evaluations=1000, population=100)
    return Source(
        "turing-nlg-4k", front, problem, "results/one", certify(problem, front, 1.0), facts={"engine": "nsga2"}
    )


@pytest.fixture(scope="session")
def parts() -> Source:
    """A result of parts with price ranges, plans, and reference designs."""
    problem = load_problem(design_file("mixtral-8x7b-256"))
    front = search(problem, evaluations=1000, population=100)
    return Source("mixtral-8x7b-256", front, problem, "results/parts", references=references_of(problem))


@pytest.fixture(scope="session")
def document(source: Source) -> Document:
    return report_document([source], title="a report")


@pytest.fixture(scope="session")
def parts_document(parts: Source) -> Document:
    return report_document([parts], title="parts")


def _searched(name: str, evaluations: int = 1500) -> Document:
    """Return the document of a problem that is searched in a moment."""
    problem = load_problem(name)
    assert isinstance(problem, Problem)
    front = search(problem, evaluations=evaluations, seed=1)
    return report_document([Source(name, front, problem, f"results/{name}", facts={"engine": "nsga2"})], title=name)


@pytest.fixture(scope="session")
def wafer_document() -> Document:
    """Return a report of a few designs, whose network is a high picture."""
    return _searched("wafer-20")


@pytest.fixture(scope="session")
def orders_document() -> Document:
    """Return a report of orders, with the assumptions that move its verdict."""
    return _searched("mixtral-8x7b-256", 2000)


@pytest.fixture(scope="session")
def tokens_document() -> Document:
    """Return a report of orders for serving, with a long verdict."""
    return _searched("qwen3-235b-256")


@dataclass
class Shown:
    """A page in the browser, and what it has said and asked for."""

    tab: Any
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        """What an element says."""
        return str(self.tab.inner_text(selector))

    def value(self, script: str) -> Any:
        """What a script of the page's own scope returns, once nothing is left to draw."""
        self.settle()
        return self.tab.evaluate(script)

    def settle(self, seconds: float = 20.0) -> None:
        """Wait until nothing is left to draw; the page's policy forbids the scripts that Playwright waits with."""
        end = time.monotonic() + seconds
        while self.tab.evaluate("due > 0"):
            assert time.monotonic() < end, "it is still drawing"
            self.tab.wait_for_timeout(20)

    @property
    def selected(self) -> int:
        """How many designs are selected, as the page says."""
        return int(self.value("document.getElementById('count').textContent").split(" ")[0].replace(",", ""))

    def drag(self, x: float, y: float, to_x: float, to_y: float, steps: int = 8) -> None:
        """Drag the mouse."""
        mouse = self.tab.mouse
        mouse.move(x, y)
        mouse.down()
        mouse.move(to_x, to_y, steps=steps)
        mouse.up()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return headless Chromium; without it, or without what drives it, tests that need it are skipped."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium is installed: apt-get install chromium")
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install -e '.[dev]'")
    with driver.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


Show = Callable[..., Shown]


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Show]:
    """Return what shows a document, or a text of HTML; a test ends with no complaint of the page and no request."""
    opened: list[Shown] = []

    def shown(what: Document | str, width: int = 1300, height: int = 900, **how: Any) -> Shown:
        path = tmp_path / f"page{len(opened)}.html"
        path.write_text(what if isinstance(what, str) else page(what), encoding="utf-8")
        tab = browser.new_page(viewport={"width": width, "height": height}, accept_downloads=True, **how)
        one = Shown(tab)
        tab.on("console", lambda message: one.said.append(message.text))
        tab.on("pageerror", lambda error: one.said.append(str(error)))
        tab.on("request", lambda request: one.asked.append(request.url))
        tab.goto(path.as_uri())
        if not isinstance(what, str):
            tab.wait_for_selector("html[data-ready=true]", state="attached")
        opened.append(one)
        return one

    yield shown
    for one in opened:
        one.tab.close()
        assert one.said == []
        assert [url for url in one.asked if not url.startswith(("file:", "blob:", "about:"))] == []
        assert len([url for url in one.asked if url.startswith("file:")]) == 1, "the page itself"
