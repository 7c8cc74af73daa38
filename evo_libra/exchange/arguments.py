"""Command lines and launch scripts as data: options, their values and their places. Nothing is executed."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from evo_libra.errors import InputError, Mistake
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source
from evo_libra.files.yaml_reader import Position

_COMMENT = re.compile(r"(^|\s)#[^\n]*")
_WORD = re.compile(r"\S+")
_PUNCTUATION = re.compile(r"\\(?=\s)|[\"'();]")
_LIST = re.compile(r"(?<![$(])\(+\[[^\s\"';]*")
_BRACES = str.maketrans("()", "{}")
"""Lists such as ([0]*3+[1]*58), whose brackets part no words; they become braces."""

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?::?-([^{}$]*))?\}|([A-Za-z_]\w*))")
_LONGEST = 4096
_WHOLE = re.compile(r"[0-9]{1,12}")
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?(e-?[0-9]{1,2})?", re.IGNORECASE)
_OPTION = re.compile(r"--[A-Za-z][\w.-]*")


def _value(text: str) -> Any:  # noqa: ANN401 - text or a number
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def parse_arguments(text: str, file: str, flags: Collection[str] = (), lists: Collection[str] = ()) -> Source:
    """Return the options of a command line or script: ``--a-b 1`` and ``--a_b=1`` are the key ``a-b``, flags are true.

    Variables that the same script has set before are replaced; of those of the environment their default is taken.
    Of an option that is given twice the last one counts, as in argparse.
    Expressions of the shell stay as written. Quotes, brackets and continuations only part words. The value of an
    option is on its own line, or on the next one where a backslash joins both.

    Parameters
    ----------
    flags : options that take no value, whatever word is behind them: the next program of a script, or ``2>&1``.
    lists : options that take all words up to the next option, a list.

    Raises
    ------
    InputError : there is no option.
    """
    blank = _COMMENT.sub(lambda match: match[1] + " " * (len(match[0]) - len(match[1])), text)
    joined = [line.rstrip().endswith("\\") for line in blank.split("\n")]
    blank = _LIST.sub(lambda match: match[0].translate(_BRACES), blank)
    blank = _PUNCTUATION.sub(" ", _WORD.sub(_without_quotes, blank))
    known: dict[str, str] = {}
    data: dict[str, Any] = {}
    places: dict[KeyPath, Position] = {(): Position(file, 1, 1)}
    option = ""
    for number, line in enumerate(blank.split("\n"), 1):
        for match in _WORD.finditer(line):
            word, place = _resolved(match[0], known), Position(file, number, match.start() + 1)
            if _OPTION.match(word):
                name, equals, value = word[2:].partition("=")
                option = name.replace("_", "-")
                found: Any = _value(value) if equals else True
                option, named = ("", option) if equals else (option, option)
                _put(data, places, named, found, place)
            elif assigned := _ASSIGNED.fullmatch(word):
                known[assigned[1]], option = assigned[2], ""
            elif option in lists:
                if not isinstance(data[option], list):
                    data[option] = []
                data[option].append(_value(word))
            elif option and option not in flags:
                data[option] = _value(word)
                option = ""
        option = option if joined[number - 1] else ""
    if not data:
        raise InputError(Mistake("has no options such as --num-layers 32", file))
    return Source(file, data, places)


def _without_quotes(match: re.Match[str]) -> str:
    """Return a word whose quotes end in it without them, as wide as before; quotes around several words part them."""
    word = match[0]
    if (not word.count('"') and not word.count("'")) or any(word.count(quote) % 2 for quote in "\"'"):
        return word
    inner = word.replace('"', "").replace("'", "")
    return (" " * word.startswith(('"', "'")) + inner).ljust(len(word))


def _put(data: dict[str, Any], places: dict[KeyPath, Position], name: str, value: str | float, at: Position) -> None:
    data[name] = value
    places[name,] = at


def _resolved(word: str, known: dict[str, str]) -> str:
    """Return a word with the values of its variables; as written, where they would make a long one."""

    def value(match: re.Match[str]) -> str:
        found = known.get(match[1] or match[3], match[2])
        return match[0] if found is None else found

    found = _VARIABLE.sub(value, word) if len(word) <= _LONGEST else word
    return found if len(found) <= _LONGEST else word
