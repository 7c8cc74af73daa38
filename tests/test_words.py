"""The words of the package: each thing has the name of its field, in texts that are read and in public names.

A word may also have an ordinary sense. Its pattern then matches the other sense alone, and the comment says so.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from generated import help_of
from sentences import OF_WHICH, SENTENCES

from evo_libra.ui.commands.names import COMMANDS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "evo_libra"
OLD_KEYS = PACKAGE / "errors.py"
"""The table of keys of 0.1 names old words, so that a file with one of them is refused with the new one."""


_IDENTIFIERS = re.compile(r"\{[^{}]*\}|`[\w.]+`|(?m:^ *\w+(?:, \w+)* : )|; `\w+`(?:, `\w+`)* : ")
"""Identifiers in texts: expressions of f-strings, code, and attributes that a docstring describes."""

TEXT: Mapping[str, str] = {
    r"\bledgers?\b|(?:the|of|its|their) worth\b": "objectives, evaluation",  # "worth sending" is ordinary English
    r"\bdear(?:er|est|ly)?\b": "expensive, cost",
    r"(?<!third )\bpart(?:y|ies)\b": "communicator, process group",  # a third party is a source
    r"manieth\b": "n-th",
    r"\bsift|\bsieve|\bscreen(?:ed|ing)\b": "prune, Pareto filter, bound",  # a screen is that of a terminal
    r"\bstanding\b(?! still| :|$)": "position on the front",  # a key of `explain --json`
    r'"starting"': "queue state",
    r"\banew\b": "again",
    r"\bcourses?\b": "progress",
    r"(?<!cost of )\bownership\b": "total cost of ownership",
    r"(?:NVLink|NIC|ICI|NPU)\S* lanes?\b|\blanes? (?:of|per) (?:an? )?(?:NVLink|NIC|ICI|NPU)": "port",  # PCIe has lanes
    r"(?<!<)(?<!</)\bspans?\b(?!\[)": "domain size",  # an element of HTML, an option of LSF
    r"any-to-any": "fat tree",
    r"\bstructures?\b(?!$)": "shape, combination, topology, design",  # a key of `certify --json`
    r"\bmixes\b": "combinations of technologies",
    r"\block-?step\b": "NumPy, compiled",
    r"\bso many\b": "a number with its name",
    r"\b(?:some|no)body\b": "a user, a process",
    r"\blook(?:s|ed|ing)? at\b|\b(?:a|two) looks?\b": "evaluate, check, read",
    OF_WHICH: "whose",
    r"\bbeside\b": "next to, alongside, besides",
    r"\bour mistake\b": "internal error",
    r"\bpromising\b": "of the lowest bound",
    r"\bdivides what it must\b": "keeps the rules of division",
    r"\b(?:misfits|unbuildable)\b": "build violation",
    r"\braces?\b": "overlap",
    r"(?:^|[.] )(?:What|How|Which|Where) (?!to )[^?]*?(?:[.] |[.]?$)": "a noun, or If",  # questions end with their mark
}
"""Patterns in texts -> the word to use."""

NAMES: Mapping[str, str] = {
    r"(?:[Ll]edger|[Ww]orth|[Dd]ear(?:er|est)?)\w*": "objectives, evaluation, expensive",
    r"(?:least|most)_(?:cost|time|price|power|bandwidth|watts|seconds)": "min_, max_",
    r"told|lived|sealed|tabled|turned": "tell, run_epoch, seal",
    r"part(?:y|ies)|sifts?|sieves?|standing|anew|ownership|lanes?|spans?": "see the same words in texts",
    r"mix(?:es)?|lockstep|\w+_fast|fast_\w+": "combinations, numpy, compiled",
    r"Crossing|UsefulWays|Surroundings|Away|RequestLine": "BreakEven, RunContext, RequestQueue",
    r"StepRaces?|StepChain|promising": "Overlap, Sequence, of the lowest bound",
}
"""Patterns of whole public names -> the word to use."""


def _strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments and strings of a module with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
            yield token.start[0], token.string


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a text with their lines."""
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", text):
        yield line, paragraph
        line += paragraph.count("\n")


def _texts() -> Iterator[tuple[str, str]]:
    """Yield what is read: a place, and a text in one line."""
    modules = [path for path in sorted(PACKAGE.rglob("*.py")) if path != OLD_KEYS]
    data = [*sorted(PACKAGE.rglob("*.yaml")), *sorted((ROOT / "problems").rglob("*.yaml"))]
    pages = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
    changes = (ROOT / "CHANGELOG.md").read_text().partition("The rest of this section")[0]
    for path in modules:
        for line, text in _strings(path):
            for further, part in _paragraphs(re.sub(r"^# |^\w?\"+|\"+$", "", text)):
                yield f"{path.relative_to(ROOT)}:{line + further - 1}", _IDENTIFIERS.sub("", part)
    for path in [*data, *pages]:
        for line, text in _paragraphs(re.sub(r"(?m)^# ", "", path.read_text())):
            yield f"{path.relative_to(ROOT)}:{line}", text
    for line, text in _paragraphs(changes):
        yield f"CHANGELOG.md:{line}", text


@cache
def _names() -> list[tuple[str, str]]:
    """Return the public names of classes and functions: a module, and a name."""
    return [
        (str(path.relative_to(PACKAGE)), node.name)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    ]


@cache
def _read() -> list[tuple[str, str]]:
    return [(place, " ".join(text.split())) for place, text in _texts()]


@pytest.mark.parametrize(("pattern", "instead"), TEXT.items())
def test_no_text_has_the_word(pattern: str, instead: str) -> None:
    found = [f"{place}: {match[0]}" for place, text in _read() if (match := re.search(pattern, text))]
    assert not found, f"say instead: {instead}"


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "instead"), NAMES.items())
def test_no_public_name_has_the_word(pattern: str, instead: str) -> None:
    found = [one for one in _names() if re.fullmatch(pattern, one[1])]
    assert not found, f"name it instead: {instead}"


def _messages(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the strings of a module that a program may print: all but docstrings, those of f-strings in one."""
    tree = ast.parse(path.read_text())
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    parts |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.JoinedStr):
            yield place, "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield place, node.value


def _rendered() -> Iterator[tuple[str, str]]:
    """Yield what a user sees: messages, the help of each command, and the outputs and the prose of the pages.

    Tests of the pages run these commands, so that outputs there are those of the program.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        yield from _messages(path)
    for command in COMMANDS:
        yield f"{command} --help", help_of([command])
    for page in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]:
        for shown in re.findall(r"(?s)```text\n(.*?)```", page.read_text()):
            yield str(page.relative_to(ROOT)), re.sub("[│┃]", " ", shown)
        yield f"{page.relative_to(ROOT)}, prose", re.sub(r"(?s)```.*?```", " ", page.read_text())


@cache
def _shown() -> list[tuple[str, str]]:
    return [(place, " ".join(text.split())) for place, text in _rendered()]


@pytest.mark.slow
def test_outputs_of_pages_and_helps_are_among_what_is_shown() -> None:
    shown = dict(_shown())
    assert "Buy #" in " ".join(text for place, text in _shown() if place == "docs/tutorial.md")
    assert "Usage: evo-libra search" in shown["search --help"]


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "instead"), SENTENCES.items())
def test_no_output_has_a_sentence_that_is_read_twice(pattern: str, instead: str) -> None:
    found = [f"{place}: {match[0]}" for place, text in _shown() if (match := re.search(pattern, text))]
    assert not found, f"say instead: {instead}"


@pytest.mark.parametrize("sentence", [
    "the next 11.1 % of time cost 6.55 MUSD, a ms 6.2 times the price of a ms of the last 25.6 %",
    "proven: at its cost nothing is more than 79.8 % faster",
    "#0 SW8_SW32, the knee: nothing on the front is faster",
    "it is the fastest, and nothing cheaper is nearly as fast",
    "it is the fastest, within cost <= 150 MUSD or not",
    "system-cost needs the price of an NPU, and no source gives that of b200 or gb200",
    "found 16,384; it must be a multiple of dp 8,190 x micro_batch 1 = 8,190",
    "auto searches, as each of 460,080 designs takes more than 200,000 evaluations",
    "5 evaluations in 0.03 s (ended as nothing was left to evaluate)",
    "1,500 evaluations in 0.1 s (ended as it stagnated, 2 restarts)",
    "rings pass every interface, so that the bus of every GPU has the bandwidth of all of them",
])  # fmt: skip
def test_sentences_of_earlier_versions_are_found(sentence: str) -> None:
    assert any(re.search(pattern, sentence) for pattern in SENTENCES)


@pytest.mark.slow
def test_no_docstring_begins_with_a_question() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                words = (ast.get_docstring(node) or "-").split()
                if words[0] in {"What", "How", "Which", "Where"}:
                    found.append(f"{path.relative_to(ROOT)}: {' '.join(words[:6])}")
    assert not found
