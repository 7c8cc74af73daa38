"""Records as plain data: which fields are keys, and which are left out."""

from __future__ import annotations

from dataclasses import dataclass, field

from evo_libra.explain.as_json import INLINE, as_json


@dataclass(frozen=True)
class Inner:
    """A record within another one."""

    name: str
    count: int = 3


@dataclass(frozen=True)
class Outer:
    """A record with every kind of field."""

    inner: Inner
    figures: dict[str, float] = field(metadata=INLINE)
    pass_: str = ""
    rows: tuple[Inner, ...] = ()
    more: dict[str, int] = field(default_factory=dict)


class Spoken:
    """What says itself what it is in JSON."""

    def json(self) -> dict[str, int]:
        """Return it."""
        return {"said": 1}


@dataclass(frozen=True)
class Said(Spoken):
    """A record that does so."""

    value: int = 7


def test_what_has_its_default_is_left_out() -> None:
    assert as_json(Inner("a")) == {"name": "a"}
    assert as_json(Inner("a", 4)) == {"name": "a", "count": 4}
    assert as_json(Outer(Inner("a"), {})) == {"inner": {"name": "a"}}


def test_entries_are_keys_beside_the_others() -> None:
    found = Outer(Inner("a", 4), {"time_ms": 2.0}, pass_="x", rows=(Inner("b"),), more={"k": 1})  # noqa: S106 - of a step
    assert as_json(found) == {
        "inner": {"name": "a", "count": 4}, "time_ms": 2.0, "pass": "x", "rows": [{"name": "b"}], "more": {"k": 1},
    }  # fmt: skip
    assert as_json({"one": Inner("a"), "two": [Inner("b", 1)]}) == {
        "one": {"name": "a"}, "two": [{"name": "b", "count": 1}],
    }  # fmt: skip


def test_only_some_fields() -> None:
    assert as_json(Outer(Inner("a", 4), {"time_ms": 2.0}, pass_="x"), only=["inner"]) == {  # noqa: S106 - the same
        "inner": {"name": "a", "count": 4}
    }
    assert as_json(Inner("a"), only=["count"]) == {}


def test_what_speaks_for_itself() -> None:
    assert as_json([Said()]) == [{"said": 1}]
    assert as_json((1, "a", None, 2.5)) == [1, "a", None, 2.5]
