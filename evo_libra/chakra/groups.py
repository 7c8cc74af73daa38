"""Communicator groups, which collectives name in their attribute ``pg_name``.

A file of groups is JSON such as ``{"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}``: a positive number as text, and the NPUs in
the order of their ring. All NPUs are a group that no file names. PyTorch writes its process groups into METADATA nodes
of the trace; ASTRA-sim does not go by these, and nothing here does.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError, Mistake, printable, unusable
from evo_libra.files.mistakes import short
from evo_libra.files.source import read_text

Groups = Mapping[str, tuple[int, ...]]

MAX_FILE_BYTES = 256 * 10**6
"""Bytes; a larger file of groups is refused."""

_NAME = re.compile("[1-9][0-9]{0,18}")


def read_groups(path: Path, npus: int | None = None) -> Groups:
    """Read a file of communicator groups. Members are below `npus` where that is known.

    Raises `InputError` if the file cannot be read, is no such JSON, names a group twice or not by a positive number, or
    a group is empty or has a member that is no NPU or comes twice. All wrong groups are listed.
    """
    return parse_groups(read_text(path, MAX_FILE_BYTES), str(path), npus)


def parse_groups(text: str, file: str, npus: int | None = None) -> Groups:
    """Return the groups that a text has; `file` is what errors call it.

    Raises `InputError` as `read_groups` does.

    >>> parse_groups('{"1": [0, 2], "2": [1, 3]}', "groups.json", npus=4)
    {'1': (0, 2), '2': (1, 3)}
    """
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        raise InputError(Mistake(f"is not JSON: {error.msg.lower()}", file, error.lineno, error.colno)) from None
    except (ValueError, RecursionError):  # a number of thousands of digits; brackets in brackets in brackets
        raise InputError(Mistake("is no file of groups: it has a number or a nesting that is too long", file)) from None
    if not isinstance(pairs, _Pairs):
        raise InputError(Mistake('is no file of groups: it must be an object of lists of NPUs, as {"1": [0, 1]}', file))
    mistakes = [Mistake(message, file, key=key) for key, message in _mistakes(pairs, npus)]
    if mistakes:
        raise InputError(mistakes)
    return {name: tuple(members) for name, members in pairs}


def write_groups(path: Path, groups: Mapping[str, Sequence[int]]) -> None:
    """Write a file of communicator groups.

    Raises `InputError` if `read_groups` would refuse what is to be written, or the file cannot be written.
    """
    mistakes = [Mistake(message, str(path), key=key) for key, message in _mistakes(groups.items(), None)]
    if mistakes:
        raise InputError(mistakes)
    try:
        path.write_text(json.dumps({name: list(members) for name, members in groups.items()}) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise unusable(path, "written", error) from None


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object of JSON, those included that are there twice."""


def _mistakes(pairs: Iterable[tuple[str, Any]], npus: int | None) -> Iterator[tuple[str, str]]:
    """Yield the name of each group that is wrong, and why."""
    seen = set[str]()
    for name, members in pairs:
        reason = _name_mistake(name, seen) or _members_mistake(members, npus)
        seen.add(name)
        if reason:
            yield f"group '{short(printable(name))}'", reason


def _name_mistake(name: str, seen: Container[str]) -> str:
    if not _NAME.fullmatch(name):
        return "must be named by a positive number" + ("; 0 is all NPUs" if name == "0" else "")
    return "is there twice" if name in seen else ""


def _members_mistake(members: object, npus: int | None) -> str:
    if not isinstance(members, (list, tuple)) or isinstance(members, _Pairs) or not members:
        return "must be a list of at least one NPU"
    wrong = [member for member in members if type(member) is not int or member < 0]
    if wrong:
        return f"has the member {short(printable(str(wrong[0])))}; NPUs are whole numbers from 0 on"
    if npus is not None and max(members) >= npus:
        return f"has NPU {max(members)}, but there are {npus}: 0 to {npus - 1}"
    twice = [member for member, count in Counter(members).items() if count > 1]
    return f"has NPU {twice[0]} twice" if twice else ""
