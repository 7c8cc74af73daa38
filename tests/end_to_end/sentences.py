"""Patterns of sentences that have to be read twice, in what a user sees: sources, helps, pages, and printed outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

SENTENCES: Mapping[str, str] = {
    r", as (?:no|it|they|each|every|those|none|not|there|all|most|its|users|their|these)\b": "because, or a colon",
    r", so that\b": "so",
    r"\b(?:a|an) \w+ [\d.,]+ times the price of\b": "the price of both",
    r"\b[Aa]t (?:no|its) cost (?:nothing|is)\b(?! a)": "no design of its cost",
    r"\bnothing (?:on the front is (?:faster|cheaper)|cheaper)\b": "no design, no cheaper design",
    r"\bno source gives (?:that|one) of\b": "NAME has no ...; give one: KEY",
    r"\bthe price of a \w+ of the last\b|\bms of the last\b": "the price of the step up to this one",
    r"\bwithin .{1,40} or not\b": "the budget does not limit you",
    r"\bit must be a multiple of dp\b": "cannot share them evenly, and the nearest number",
    r"\bended as\b|(?<!such )(?<!same )\bas (?:nothing|no)\b": "because, or what ended it",
}
"""Patterns -> what to say instead."""

_PARTITIVE = "".join(
    f"(?<!{word} )" for word in ("each", "some", "none", "all", "both", "most", "many", "several", "one", "last")
)
OF_WHICH = rf"{_PARTITIVE}\bof which\b"
"""``of which``, but for "each of which", which is ordinary English."""

PRINTED: Mapping[str, str] = {
    **SENTENCES,
    OF_WHICH: "whose",
    r"\bthat of\b": "the noun again",
    r"[.] [\d.,]+ % (?:of|more|less|faster|slower|cheaper)\b": "the fact, then its figure",
}
"""Patterns of what commands print -> what to say instead."""

_BOXES = re.compile(r"[\u2500-\u257f]+")


def found(text: str, patterns: Mapping[str, str]) -> Iterator[str]:
    """Yield the places of a text that have a pattern, with what to say instead."""
    line = " ".join(_BOXES.sub(" ", text).split())
    for pattern, instead in patterns.items():
        for match in re.finditer(pattern, line):
            yield f"{line[max(0, match.start() - 60) : match.end() + 40]!r}: say instead: {instead}"
