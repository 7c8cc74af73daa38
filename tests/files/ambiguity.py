"""Patterns of `re` that backtrack in more than linear time, found in their automata.

A pattern backtracks quadratically, or worse, where its automaton has states p and q and a word that leads from p to p,
from p to q, and from q to q (Weber and Seidl, On the degree of ambiguity of finite automata, 1991): after n such words
there are n ways to have gone over from p to q, and a match that fails tries them all. A search has a state of its own
before the pattern, which any character leaves where it is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

parser: Any = re._parser  # type: ignore[attr-defined]  # noqa: SLF001 - what `re.compile` uses
ALPHABET = frozenset(map(chr, range(256))) | frozenset("\u0660\u2028\u4e00\U0001f600")
MOST_COPIES = 20
"""Copies of a part that is repeated a limited number of times; more make no other ambiguity."""


@dataclass
class Automaton:
    """States are numbers; an edge has the characters that it takes, and `silent` edges take none.

    A silent edge may have a condition: the characters that may stand before it, none at the beginning of a text; None
    for a condition of another kind.
    """

    edges: dict[int, list[tuple[frozenset[str], int]]] = field(default_factory=lambda: defaultdict(list))
    silent: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    conditions: dict[tuple[int, int], frozenset[str] | None] = field(default_factory=dict)
    count: int = 0

    def state(self) -> int:
        self.count += 1
        return self.count - 1

    def reached(self, state: int, *, conditions: bool = True, before: str = "") -> set[int]:
        """Return the states that silent edges lead to, without those whose condition does not hold.

        Without `conditions`, none that has one; with a character `before`, those that it may stand before.
        """
        found, waiting = {state}, [state]
        while waiting:
            one = waiting.pop()
            for other in self.silent[one]:
                if other in found:
                    continue
                free = (one, other) not in self.conditions
                allowed = self.conditions.get((one, other))
                if free or (conditions and (not before or allowed is None or before in allowed)):
                    found.add(other)
                    waiting.append(other)
        return found


def automaton_of(pattern: str, flags: int = 0) -> tuple[Automaton, int, int]:
    """Return the automaton of a pattern, its first state and its last."""
    parsed = parser.parse(pattern, flags)
    found = Automaton()
    first = found.state()
    return found, first, _add(found, parsed, first, parsed.state.flags)


def _add(to: Automaton, items: Any, at: int, flags: int) -> int:
    for kind, value in items:
        at = _add_one(to, str(kind), value, at, flags)
    return at


def _add_one(to: Automaton, kind: str, value: Any, at: int, flags: int) -> int:
    end = to.state()
    if kind in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "CATEGORY", "RANGE"):
        to.edges[at].append((_characters(kind, value, flags), end))
    elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        _repeat(to, *value, at, end, flags)
    elif kind == "BRANCH":
        for one in value[1]:
            to.silent[_add(to, one, at, flags)].append(end)
    elif kind == "SUBPATTERN":
        to.silent[_add(to, value[3], at, flags)].append(end)
    elif kind == "ATOMIC_GROUP":
        to.silent[_add(to, value, at, flags)].append(end)
    elif kind in ("AT", "ASSERT", "ASSERT_NOT"):
        to.silent[at].append(end)
        to.conditions[at, end] = _before(kind, value, flags)
    elif kind == "GROUPREF":
        raise ValueError("a reference to a group is no part of an automaton")
    else:
        raise ValueError(f"{kind} is not known here")
    return end


def _before(kind: str, value: Any, flags: int) -> frozenset[str] | None:
    """Return the characters that may stand before a place with a condition; None where it is of what comes."""
    if kind == "AT" and str(value) in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        return frozenset("\n") if flags & re.MULTILINE else frozenset()
    if kind == "ASSERT_NOT" and value[0] < 0 and len(value[1]) == 1:
        return ALPHABET - _characters(str(value[1][0][0]), value[1][0][1], flags)
    return None


def _repeat(to: Automaton, least: int, most: Any, items: Any, at: int, end: int, flags: int) -> None:
    for _ in range(min(least, MOST_COPIES)):
        at = _add(to, items, at, flags)
    if most is parser.MAXREPEAT:
        loop = to.state()
        to.silent[at].append(loop)
        to.silent[_add(to, items, loop, flags)].append(loop)
        to.silent[loop].append(end)
        return
    to.silent[at].append(end)
    for _ in range(min(int(most) - least, MOST_COPIES)):
        at = _add(to, items, at, flags)
        to.silent[at].append(end)


def _characters(kind: str, value: Any, flags: int) -> frozenset[str]:
    """Return the characters that a part of a pattern takes, by asking `re`."""
    if kind == "ANY":
        return ALPHABET if flags & re.DOTALL else ALPHABET - {"\n"}
    if kind in ("LITERAL", "NOT_LITERAL"):
        letters = {chr(value)}
        if flags & re.IGNORECASE:
            letters |= {chr(value).lower(), chr(value).upper()}
        return ALPHABET - letters if kind == "NOT_LITERAL" else frozenset(letters)
    found: set[str] = set()
    negated = False
    for part, what in value if kind == "IN" else [(kind, value)]:
        if str(part) == "NEGATE":
            negated = True
        elif str(part) == "LITERAL":
            found.add(chr(what))
        elif str(part) == "RANGE":
            found |= {one for one in ALPHABET if what[0] <= ord(one) <= what[1]}
        else:
            found |= {one for one in ALPHABET if re.match(_CATEGORIES[str(what)], one, flags & re.ASCII)}
    if flags & re.IGNORECASE:
        found |= {one.swapcase() for one in found}
    return ALPHABET - found if negated else frozenset(found)


_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s", "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip


def ambiguous(pattern: str, flags: int = 0, *, searched: bool = False, whole: bool = False) -> str:
    """Return a character at which a pattern can backtrack in more than linear time; empty where there is none.

    Parameters
    ----------
    searched : it may begin anywhere in a text.
    whole : it has to end where the text ends, so that no match may be had earlier.
    """
    automaton, first, last = automaton_of(pattern, flags)
    alphabet = _classes(automaton)
    steps = {at: _from(automaton, automaton.reached(at), alphabet) for at in range(automaton.count)}
    if searched:
        # Before the pattern any character may stand, and the pattern begins behind it: in one of two states per
        # character, as the condition of its beginning may ask for that character.
        start = automaton.state()
        behind = {one: automaton.state() for one in alphabet}
        for one, state in behind.items():
            inner = _from(automaton, automaton.reached(first, before=one), alphabet)
            steps[state] = {other: {start, behind[other], *inner.get(other, ())} for other in alphabet}
        steps[start] = {one: {start, behind[one]} for one in alphabet}
    before = set() if not searched else {start, *behind.values()}
    ends = {state for state in range(automaton.count) if last in automaton.reached(state, conditions=False)}
    loops = [state for state in steps if _can_return(steps, state)]
    for p, q in product(loops, loops):
        if p == q or q in before or (not whole and q in ends) or not _leads(steps, p, q):
            continue
        if (word := _word(steps, p, q)) is not None:
            return word
    return ""


Steps = dict[int, dict[str, set[int]]]


def _from(automaton: Automaton, states: set[int], alphabet: list[str]) -> dict[str, set[int]]:
    """Return where each character leads from some states."""
    found: dict[str, set[int]] = defaultdict(set)
    for state in states:
        for characters, target in automaton.edges[state]:
            for character in alphabet:
                if character in characters:
                    found[character].add(target)
    return found


def _classes(automaton: Automaton) -> list[str]:
    """Return one character of each class that no edge tells apart."""
    kinds = [characters for edges in automaton.edges.values() for characters, _ in edges]
    kinds += [characters for characters in automaton.conditions.values() if characters is not None]
    seen: dict[tuple[bool, ...], str] = {}
    for character in sorted(ALPHABET):
        seen.setdefault(tuple(character in one for one in kinds), character)
    return list(seen.values())


def _can_return(steps: Steps, state: int) -> bool:
    return _leads(steps, state, state)


def _leads(steps: Steps, begin: int, end: int) -> bool:
    seen: set[int] = set()
    waiting = [begin]
    while waiting:
        for targets in steps.get(waiting.pop(), {}).values():
            for target in targets:
                if target == end:
                    return True
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
    return False


def _word(steps: Steps, p: int, q: int) -> str | None:
    """Return a word that leads from p to p, from p to q and from q to q; None where there is none."""
    start, end = (p, p, q), (p, q, q)
    before: dict[tuple[int, int, int], tuple[tuple[int, int, int], str]] = {}
    waiting = [start]
    for state in waiting:
        for character, target in _next(steps, state):
            if target in before:
                continue
            before[target] = state, character
            if target == end:
                return _spelt(before, start, end)
            waiting.append(target)
    return None


def _next(steps: Steps, state: tuple[int, int, int]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    one, two, three = (steps.get(part, {}) for part in state)
    for character in one.keys() & two.keys() & three.keys():
        for target in product(one[character], two[character], three[character]):
            yield character, target


def _spelt(before: dict[Any, tuple[Any, str]], start: Any, end: Any) -> str:
    word, at = "", end
    while True:
        at, character = before[at]
        word = character + word
        if at == start:
            return word
