"""The grammar of queries: words that all hold, such as ``time<5s family:SW8*,CL* #3,7 -zero3``, with their positions.

Fronts, lists of runs and the page of a report have the same grammar. The page has it as a script, ``static/query.js``
of the report; both are tested on one table of cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from evo_libra.errors import InputError

_NAME = r"[A-Za-z_][\w.-]*(?:\[[^\]\s]*\]\w*)?"
_WORD = re.compile(rf"(-?)(?:(#)|({_NAME})\s*(<=|>=|<|>|=|:)\s*)?(\S*)")
_LETTERS = re.compile(r"\S+")
_COMPARISON = re.compile("[<>=]")
_NUMBER = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)(?:\s*([^\s\d.].*))?")
_SENTENCE = ("and", "or", "not", "in")
MATCHES, TEXT = ":", ""
"""Signs of words about texts: a column that fits a pattern, and a text anywhere."""


@dataclass(frozen=True)
class Word:
    """A word of a query.

    Attributes
    ----------
    query : the whole query; `start`, `value_start` : places of the word and of its value in it, from 0.
    negated : whether a ``-`` precedes it.
    name : the column; empty for a text anywhere.
    sign : ``<``, ``<=``, ``>``, ``>=``, ``=`` compare numbers; `MATCHES` and `TEXT` are about texts.
    value : a number with or without a unit, patterns that commas separate, or a text.
    """

    query: str
    start: int
    value_start: int
    negated: bool
    name: str
    sign: str
    value: str

    @property
    def first(self) -> str:
        """The text up to the first space, without the ``-`` before it."""
        letters = _LETTERS.match(self.query, self.start + self.negated)
        return letters[0] if letters else ""

    @property
    def patterns(self) -> list[str]:
        """The patterns of a word about texts, in lower case."""
        return [one for one in self.value.lower().split(",") if one]

    def error(self, message: str, *, of_value: bool = False) -> InputError:
        """Return the error that names the position of the word, or of its value, from 1."""
        return error_at(self.query, self.value_start if of_value else self.start, message)


def error_at(query: str, place: int, message: str) -> InputError:
    """Return an error that names the position in a query.

    >>> str(error_at("time<<3", 5, "'<3' is no number"))
    "character 6 of 'time<<3': '<3' is no number"
    """
    return InputError(f"character {place + 1} of '{query}': {message}")


def parse_query(query: str, units: Collection[str] = ()) -> list[Word]:
    """Return the words of a query.

    Parameters
    ----------
    units : the units that may follow a number after a space.

    Raises
    ------
    InputError : a comparison lacks its name or its value, or ``#`` its number; it names the position.

    >>> [(word.name, word.sign, word.value) for word in parse_query("time < 2 s SW8 #3,7 -plan:*zero3*", {"s"})]
    [('time', '<', '2 s'), ('', '', 'SW8'), ('id', ':', '3,7'), ('plan', ':', '*zero3*')]
    """
    found, place = list[Word](), 0
    following = _following(units)
    while (begin := _LETTERS.search(query, place)) is not None:
        match = _WORD.match(query, begin.start())
        assert match is not None, "every part of the pattern may be empty"  # noqa: S101 - internal error
        word = _word(query, match)
        place = match.end()
        if word.sign not in (MATCHES, TEXT) and (unit := following.match(query, place)):
            word, place = _with_unit(word, unit), unit.end()
        elif word.sign not in (MATCHES, TEXT) and query[word.value_start - 1].isspace():
            _refuse_unit(query, word, place)
        _check(word)
        found.append(word)
    return found


def _following(units: Collection[str]) -> re.Pattern[str]:
    """Return the pattern of a unit after a space, the longest one first; with no units, nothing fits it."""
    names = "|".join(re.escape(unit) for unit in sorted(units, key=len, reverse=True)) or "(?!)"
    return re.compile(rf"\s{{1,9}}({names})(?!\S)")


def _word(query: str, match: re.Match[str]) -> Word:
    of_id = match[2] is not None
    return Word(
        query, match.start(), match.start(5), negated=match[1] == "-", name="id" if of_id else match[3] or "",
        sign=MATCHES if of_id else match[4] or TEXT, value=match[5],
    )  # fmt: skip


def _with_unit(word: Word, unit: re.Match[str]) -> Word:
    match = _NUMBER.fullmatch(word.value)
    if match is None or match[2]:
        raise word.error(f"'{word.value}' is no number", of_value=True)
    return Word(**{**vars(word), "value": f"{word.value} {unit[1]}"})


def _refuse_unit(query: str, word: Word, place: int) -> None:
    """Refuse letters after a number of a comparison with spaces: they are no unit, and hardly a text to look for."""
    number, letters = _NUMBER.fullmatch(word.value), _LETTERS.search(query, place)
    if number is None or number[2] or letters is None or letters[0].lower() in _SENTENCE:
        return
    if letters[0].replace("/", "").isalpha():
        raise error_at(query, letters.start(), f"'{letters[0]}' is no unit of a number")


def _check(word: Word) -> None:
    """Refuse a word without a value, signs of comparisons where a text is expected, and words of other languages."""
    sign = _COMPARISON.search(word.value) if word.sign == TEXT else None
    if sign is not None:
        raise error_at(
            word.query, word.value_start + sign.start(), f"'{sign[0]}' needs a name before it, as in time<5s"
        )
    if word.sign == TEXT and (word.value.lower() in _SENTENCE or word.value.startswith("(")):
        raise word.error(f"'{word.value}' joins nothing: all words hold, a comma is an or, a dash before a word a not")
    if not word.value:
        after = f"{'-' * word.negated}{word.first}" if word.sign == TEXT else f"{word.name}{word.sign}"
        raise word.error(f"nothing follows '{after}'", of_value=True)
    if word.query[word.value_start - 1] == "#" and not all(one.isdecimal() for one in word.value.split(",")):
        raise word.error(f"'{word.value}' is no id, such as #3 or #3,7", of_value=True)


def is_test(word: str) -> bool:
    """Return whether a text is one word that tests a column.

    >>> is_test("seed<3"), is_test("-status:done"), is_test("gpt3-4k/nsga2-00000000-s0"), is_test("seed<")
    (True, True, False, False)
    """
    match = _WORD.fullmatch(word)
    return match is not None and match[4] is not None and bool(match[5])


def number_and_unit(text: str) -> tuple[float, str] | None:
    """Return the number of a text and its unit, empty for none; None for a text that begins with no number.

    >>> number_and_unit("2.5 MUSD"), number_and_unit("<3")
    ((2.5, 'MUSD'), None)
    """
    match = _NUMBER.fullmatch(text.strip())
    return None if match is None else (float(match[1]), match[2] or "")


def fits(patterns: Sequence[str], *, anywhere: bool = False) -> Callable[[str], bool]:
    """Return whether a text fits one of some patterns in lower case, whole or anywhere in it; ``*`` is any letters.

    >>> fits(["sw8*"])("SW8_SW32"), fits(["w8"])("SW8"), fits(["w8"], anywhere=True)("SW8")
    (True, False, True)
    """
    literal = [one.replace("[", "[[]") for one in patterns]
    globs = [f"*{one}*" if anywhere else one for one in literal]
    return lambda text: any(fnmatchcase(text.lower(), one) for one in globs)
