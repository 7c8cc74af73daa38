"""A Hugging Face configuration as keys with their mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evo_libra.errors import InputError, Mistake
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source

_MAX = 10**9


@dataclass(frozen=True)
class ModelFile:
    """Keys of a Hugging Face configuration; the language model of one with several models is under ``text_config``.

    Keys that are missing or wrong are gathered in `mistakes`, and the smallest size stands for theirs until `check`.
    Those that were asked for are kept in `read`.
    """

    source: Source
    mistakes: list[Mistake] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    @property
    def path(self) -> KeyPath:
        """Return where the keys are."""
        return ("text_config",) if isinstance(self.source.data.get("text_config"), dict) else ()

    @property
    def data(self) -> Mapping[str, Any]:
        """Return the keys with their values."""
        found: Mapping[str, Any] = self.source.data["text_config"] if self.path else self.source.data
        return found

    def value(self, key: str, default: Any = None) -> Any:  # noqa: ANN401 - whatever the file has
        """Return the value of a key, and keep that it was read."""
        self.read.add(key)
        return self.data.get(key, default)

    def find(self, *keys: str) -> str | None:
        """Return the first of some keys that has a value."""
        return next(iter([key for key in keys if self.value(key) is not None]), None)

    def size(self, *keys: str, least: int = 1) -> int | None:
        """Return the whole number under the first of some keys that has a value; None where none has."""
        key = self.find(*keys)
        if key is None:
            return None
        value = self.data[key]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MAX:
            self.note(key, f"found {value!r}; a whole number from {least} to {_MAX} is needed")
            return least
        return value

    def needed(self, what: str, *keys: str) -> int:
        """Return the whole number under the first of some keys; one of them has to be there."""
        value = self.size(*keys)
        if value is None:
            also = f" (or {', '.join(f'`{key}`' for key in keys[1:])})" if keys[1:] else ""
            self.note("", f"has no key `{keys[0]}`{also}: {what}, a whole number, is expected")
        return value or 1

    def note(self, key: str, message: str) -> None:
        """Keep a mistake at a key, or of all keys."""
        self.mistakes.extend(self.mistake(key, message).mistakes)

    def check(self) -> None:
        """Raise an `InputError` with all mistakes that were found, if any."""
        if self.mistakes:
            raise InputError(dict.fromkeys(self.mistakes))

    def mistake(self, key: str, message: str) -> InputError:
        """Return the error at a key."""
        return InputError(self.source.mistake((*self.path, key) if key else self.path, message))
