"""The page of a report: one file of HTML with its data, its style and its scripts, which asks for nothing else.

Its content security policy allows the one style sheet and the one script that are in it, by their hashes, and no
request at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

from evo_libra.report.records import Chart, Document, Result

SCRIPTS = ("query.js", "core.js", "scatter.js", "parallel.js", "table.js", "detail.js", "paper.js", "main.js")
"""In the order in which they run, as one script."""
STYLE = "page.css"
_KEYS = (
    ("n p ↓ ↑", "open the next or the previous line of the table"), ("Esc", "clear what is selected"),
    ("/", "filter, such as time<5s cost<20MUSD tp>=8 family:SW8* #3,7 -zero3"),
    ("z", "zoom to what is selected, and back"),
    ("x y", "choose the axes of the front"), ("c", "save what is selected as CSV"),
    ("i", "save the plot as PNG"), ("t", "light or dark"),
    ("?", "this help"),
)  # fmt: skip
_HELP = (
    "Drag over the front or along an axis to select lines; all views show the selection. Click an axis or an empty "
    "place to take that back. Click a point or a line of the table to open it."
)


def page(document: Document) -> str:
    """Return the page of a document; the same document gives the same bytes."""
    style, script = static(STYLE), script_text()
    # `<` is written as an escape, so that no text of the data can end its element.
    data = json.dumps(document.json(), separators=(",", ":"), allow_nan=False, ensure_ascii=False).replace(
        "<", "\\u003c"
    )
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'"
    return "\n".join([
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(document.title)}: {escape(document.noun)}s</title>",
        f"<style>{style}</style></head><body>",
        _body(document),
        f'<script type="application/json" id="data">{data}</script>',
        f"<script>{script}</script>",
        "</body></html>",
        "",
    ])  # fmt: skip


def frame(document: Document, height: int = 1250) -> str:
    """Return an element of HTML that shows the page inside another one, such as a notebook, without a right to it."""
    inner = escape(page(document), quote=True)
    return (
        f'<iframe srcdoc="{inner}" sandbox="allow-scripts allow-downloads allow-modals" width="100%" '
        f'height="{height}" frameborder="0"></iframe>'
    )


@cache
def static(name: str) -> str:
    """Return a file of the page."""
    return (files("evo_libra.report") / "static" / name).read_text(encoding="utf-8")


@cache
def script_text() -> str:
    """Return the scripts of the page as one."""
    return "".join(map(static, SCRIPTS))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _body(document: Document) -> str:
    return "\n".join(
        [_header(document), _CONTROLS, '<div id="legend"></div>', _MAIN, *_charts(document), _facts(document), _help()]
    )


def _header(document: Document) -> str:
    proofs = [
        f"{one.name}: {one.proof}" if len(document.results) > 1 else one.proof for one in document.results if one.proof
    ]
    said = "".join(f'<p class="verdict">{escape(text)}</p>' for text in document.verdict)
    lines = "".join(f'<p class="notes">{escape(text)}</p>' for text in (*proofs, *document.notes))
    asked = f'<p class="question">Pareto-optimal {escape(document.noun)}s</p>'
    return f"<header><h1>{escape(document.title)}</h1>{asked}{said}{lines}</header>"


_CONTROLS = """<nav aria-label="controls">
<label>across <select id="x"></select></label><label><input type="checkbox" id="log-x"> log</label>
<label>up <select id="y"></select></label><label><input type="checkbox" id="log-y"> log</label>
<label><input type="checkbox" id="bars"> ranges</label>
<label>filter <input id="filter" type="search" placeholder="time<5s family:SW8*"
 autocomplete="off" spellcheck="false"></label>
<button type="button" data-key="Escape">clear</button><button type="button" data-key="z">zoom</button>
<button type="button" data-key="c">CSV</button><button type="button" data-key="i">PNG</button>
<button type="button" data-key="t">light/dark</button>
<button type="button" data-key="?">keys</button>
<span id="count" role="status"></span><span id="said" role="status"></span></nav>"""


def _plot(name: str, label: str, kind: str = "") -> str:
    canvases = "".join(f'<canvas id="{name}-{part}" aria-hidden="true"></canvas>' for part in ("back", "front"))
    return (
        f'<div class="plot{kind}" id="{name}">{canvases}'
        f'<canvas id="{name}-top" role="img" aria-label="{label}; the table has the same designs"></canvas></div>'
    )


_MAIN = "\n".join([
    "<main>",
    _plot("scatter", "the front in two objectives"),
    '<section id="detail" aria-label="a design" aria-live="polite" tabindex="0"></section>',
    '<section id="list">',
    '<details class="axes"><summary>axes and columns</summary><div id="axes"></div></details>',
    '<div id="table" tabindex="0" role="region" aria-label="designs">',
    '<table><thead><tr id="head"></tr></thead><tbody id="body"></tbody></table></div>',
    '</section><section class="wide">',
    _plot("parallel", "parallel coordinates of all designs"),
    "</section></main>",
])  # fmt: skip


def _charts(document: Document) -> list[str]:
    if not document.charts:
        return []
    return [f'<main><div class="wide charts">{"".join(map(_chart, document.charts))}</div></main>']


def _chart(chart: Chart) -> str:
    start = '<section class="printed">' if chart.printed else "<section>"
    title, caption = escape(chart.title), escape(chart.caption)
    return f"{start}<h2>{title}</h2><figure>{chart.drawing}</figure><p>{caption}</p></section>"


def _facts(document: Document) -> str:
    names = list(dict.fromkeys(name for result in document.results for name in result.facts))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("result", f"{document.noun}s", *names))
    rows = "".join(_fact_row(result, names) for result in document.results)
    return (
        '<main><div class="wide facts"><table><caption>where this comes from</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p>Made by {escape(document.made_by)}. This page asks for nothing from anywhere.</p></div></main>"
    )


def _fact_row(result: Result, names: Sequence[str]) -> str:
    shown = f"{result.designs:,}" + (f", {result.shown:,} shown" if result.shown < result.designs else "")
    cells = [result.address or result.name, shown, *(result.facts.get(name, "") for name in names)]
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _help() -> str:
    entries = "".join(
        f"<dt>{' '.join(f'<kbd>{escape(key)}</kbd>' for key in keys.split())}</dt><dd>{escape(text)}</dd>"
        for keys, text in _KEYS
    )
    return (
        f'<dialog id="help"><h2>Keys</h2><p>{_HELP}</p><dl>{entries}</dl>'
        '<form method="dialog"><button>close</button></form></dialog>'
    )
