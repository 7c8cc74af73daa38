"""A file of another program, key by key: which keys were used, and which were left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evo_libra.errors import InputError, Mistake
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source
from evo_libra.files.yaml_reader import format_key

MOST = 10**9
"""The largest size that a file may have."""


@dataclass(frozen=True)
class Keys:
    """The keys of a source; a key that no reader takes is listed by `left`, so that none is dropped silently."""

    source: Source
    taken: set[KeyPath] = field(default_factory=set)
    reasons: dict[KeyPath, str] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def raw(self, *path: str | int) -> Any:  # noqa: ANN401 - whatever the file has
        """Return the value at a path and mark it as taken; None where there is none."""
        value = self.source.data
        for part in path:
            inside = part in value if isinstance(value, Mapping) else isinstance(value, list) and isinstance(part, int)
            if not inside or (isinstance(value, list) and isinstance(part, int) and part >= len(value)):
                return None
            value = value[part]
        self.taken.add(path)
        return value

    def size(self, *path: str | int, least: int = 1) -> int | None:
        """Return the whole number at a path; None where there is none."""
        value = self.raw(*path)
        if value is None:
            return None
        if type(value) is not int or not least <= value <= MOST:
            self.wrong(path, f"found {value!r:.60}; a whole number from {least} to {MOST} is needed")
            return None
        return value

    def number(self, *path: str | int) -> float | None:
        """Return the positive number at a path; None where there is none."""
        value = self.raw(*path)
        if value is None:
            return None
        if type(value) not in (int, float) or not 0 < value <= float(MOST):
            self.wrong(path, f"found {value!r:.60}; a number above 0 and up to {MOST} is needed")
            return None
        return float(value)

    def share(self, *path: str | int) -> float | None:
        """Return the number from 0 to 1 at a path; None where there is none."""
        value = self.raw(*path)
        if value is None:
            return None
        if type(value) not in (int, float) or not 0 <= value <= 1:
            self.wrong(path, f"found {value!r:.60}; a number from 0 to 1 is needed")
            return None
        return float(value)

    def flag(self, *path: str | int) -> bool | None:
        """Return true or false at a path; None where there is none."""
        value = self.raw(*path)
        if value is not None and not isinstance(value, bool):
            self.wrong(path, f"found {value!r:.60}; true or false is needed")
            return None
        return value

    def choice(self, allowed: Mapping[str, Any], *path: str | int) -> Any:  # noqa: ANN401 - a value of the mapping
        """Return what the word at a path stands for; None where there is none."""
        value = self.raw(*path)
        if value is None:
            return None
        if not isinstance(value, str) or value not in allowed:
            self.wrong(path, f"found {value!r:.60}; allowed: {', '.join(allowed)}")
            return None
        return allowed[value]

    def needed(self, *path: str | int) -> int | None:
        """Return the whole number at a path, which has to be there."""
        if self.raw(*path) is None:
            self.wrong(path, "this key is required, a whole number")
        return self.size(*path)

    def unsupported(self, path: KeyPath, why: str) -> None:
        """Leave a key out for a reason."""
        self.taken.discard(path)
        self.reasons[path] = why

    def pass_over(self, *paths: KeyPath) -> None:
        """Take keys that change nothing here."""
        for path in paths:
            self.raw(*path)

    def expect(self, usual: Mapping[KeyPath, tuple[Any, ...]]) -> None:
        """Take keys whose values change nothing here; leave out those with others, for which the first is assumed."""
        for path, values in usual.items():
            value = self.raw(*path)
            if value is None or any(type(value) is type(one) and value == one for one in values):
                continue
            self.unsupported(path, f"found {value!r:.60}; {values[0]!r} is assumed")

    def wrong(self, path: KeyPath, message: str) -> None:
        """Keep a mistake at a path."""
        self.mistakes.append(self.source.mistake(path, message))

    def check(self) -> None:
        """Raise an `InputError` with all mistakes that were found, if any."""
        if self.mistakes:
            raise InputError(self.mistakes)

    def untaken(self) -> list[tuple[KeyPath, Any]]:
        """Return the paths of keys that were not taken, with their values."""
        return [(path, value) for path, value in _leaves(self.source.data, ()) if not self._is_taken(path)]

    def left(self) -> list[str]:
        """Return a sentence for each key that was left out."""
        return [f"{self.source.file}: {format_key(path)}: {self._reason(path)}" for path, _ in self.untaken()]

    def is_explained(self, path: KeyPath) -> bool:
        """Return whether there is a reason why a key, or what it is in, was left out."""
        return any(path[:length] in self.reasons for length in range(1, len(path) + 1))

    def _is_taken(self, path: KeyPath) -> bool:
        return any(path[:length] in self.taken for length in range(1, len(path) + 1))

    def _reason(self, path: KeyPath) -> str:
        prefixes = (path[:length] for length in range(len(path), 0, -1))
        return next((self.reasons[one] for one in prefixes if one in self.reasons), "is not known, and is not read")


def _leaves(data: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:  # noqa: ANN401 - data of a file
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(data, list) and data:
        for place, value in enumerate(data):
            yield from _leaves(value, (*path, place))
    else:
        yield path, data
