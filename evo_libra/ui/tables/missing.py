"""Entries that the catalogues lack, by subject and name, with the reason."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, RootModel

from evo_libra.files.source import StrictModel, packaged

MISSING_FILE = Path(__file__).with_name("missing.yaml")


class Missing(StrictModel):
    """Something that a catalogue does not have."""

    why: str = Field(min_length=1, description="the reason, with what is public")
    year: int = Field(ge=1990, le=2100, description="in which it was looked for, or of what is public")


class _Subjects(RootModel[dict[str, dict[str, Missing]]]):
    """All of the file."""


def missing_entries(subject: str) -> dict[str, Missing]:
    """Return the entries of one subject that the catalogues lack, by name.

    >>> missing_entries("models")["kimi-k3"].year
    2026
    """
    return packaged(_Subjects, MISSING_FILE).root[subject]
