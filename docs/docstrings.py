"""Docstrings as Sphinx reads them: their sections, with one field ``name : text`` per line, become lists of fields.

A line may have several fields: ``low : smallest value; `high` : largest value``.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator

FIELDS = {"Parameters": "param", "Attributes": "ivar", "Raises": "raises"}
TEXTS = {"Returns": "returns", "Yields": "yields"}
_FIELD = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (\S.*)")
_ANOTHER = re.compile(r"; `(\w+)` : ")
_RULE = re.compile(r"-{3,}")


def converted(lines: Iterable[str], taken: Container[str] = ()) -> list[str]:
    """Return the lines of a docstring with its sections as lists of fields.

    A section ends with a blank line: examples and paragraphs may follow it.

    Parameters
    ----------
    lines : of a docstring, without its indentation.
    taken : parameters of a class; attributes of these names are listed as such, with their types.

    Raises
    ------
    ValueError : a section has another name, or a line that neither is a field nor continues one.
    """
    left, found = list(lines), list[str]()
    while left:
        title = left[0].strip()
        if len(left) > 1 and title and _RULE.fullmatch(left[1]):
            body = _until_blank(left[2:])
            found += ["", *_section(title, body, taken), ""]
            left = left[2 + len(body) :]
        else:
            found.append(left.pop(0))
    return found


def _until_blank(lines: list[str]) -> list[str]:
    end = next((place for place, line in enumerate(lines) if not line.strip()), len(lines))
    return lines[:end]


def _section(title: str, body: list[str], taken: Container[str]) -> Iterator[str]:
    if title in TEXTS:
        yield f":{TEXTS[title]}: {' '.join(line.strip() for line in body)}"
        return
    if title not in FIELDS:
        raise ValueError(f"the section {title!r} is none of {', '.join((*FIELDS, *TEXTS))}")
    for names, text in _fields(title, body):
        for name in names.split(", "):
            kind = "param" if title == "Attributes" and name in taken else FIELDS[title]
            yield f":{kind} {name}: {text}".replace("*", r"\*", name.count("*"))


def _fields(title: str, body: list[str]) -> Iterator[tuple[str, str]]:
    joined: list[str] = []
    for line in body:
        if _FIELD.fullmatch(line):
            joined.append(line)
        elif joined and line.startswith("    "):
            joined[-1] += f" {line.strip()}"
        else:
            raise ValueError(f"{title}: {line.strip()!r} is not 'name : text', nor the rest of one")
    if not joined:
        raise ValueError(f"{title} has no fields")
    for field in joined:
        names, _, rest = field.partition(" : ")
        text, *others = _ANOTHER.split(rest)
        yield names, text
        yield from zip(others[::2], others[1::2], strict=True)
