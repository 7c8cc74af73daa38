"""Keys of a problem file that belong to the other question than the one that the file asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evo_libra.errors import InputError, unknown
from evo_libra.files.mistakes import KeyPath
from evo_libra.files.source import Source
from evo_libra.problem.file.spec import FabricSpec, ProblemSpec
from evo_libra.problem.question import FABRIC, Question, question_of

_ASKS: Mapping[Question, str] = {"design": "a design", "order": "an order"}


def refuse_other_question(source: Source) -> None:
    """Raise an `InputError` with each key that belongs to the question that a file does not ask, or with that key."""
    given = source.data.get("question", "design") if isinstance(source.data, Mapping) else "design"
    if given == FABRIC:
        message = "this file asks for a fabric of switches, which is searched and shown, but not read here"
        raise InputError([source.mistake(("question",), message)])
    if given not in tuple(_ASKS):  # A list or a mapping has no hash.
        raise InputError([source.mistake(("question",), unknown("question", given, (*_ASKS, FABRIC)))])
    asked = question_of(source.data)
    other: Question = "design" if asked == "order" else "order"
    message = f"belongs to `question: {other}`; this file asks for {_ASKS[asked]}{_why(source.data, asked)}"
    mistakes = [source.mistake(path, message) for path in _of_other(source.data, asked, other)]
    if mistakes:
        raise InputError(mistakes)


def _why(data: object, asked: Question) -> str:
    """Return what of a file without the key `question` makes it ask its question."""
    if not isinstance(data, Mapping) or "question" in data:
        return ""
    return " because it names systems" if asked == "order" else " because it does not say that it asks for an order"


def _of_other(data: object, asked: Question, other: Question) -> Iterator[KeyPath]:
    """Yield the paths of keys that files of the other question alone have."""
    unknown = [path for path in _paths(data) if path[-1] not in _keys(asked, path)]
    yield from (path for path in unknown if path[-1] in _keys(other, path))


def _paths(data: object) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the keys of a file, and of those of its part `fabric`."""
    if not isinstance(data, Mapping):
        return
    yield from ((key,) for key in data)
    fabric = data.get(FABRIC)
    if isinstance(fabric, Mapping):
        yield from ((FABRIC, key) for key in fabric)


def _keys(question: Question, path: KeyPath) -> frozenset[str]:
    """Return the keys of files of a question, or of their part `fabric`."""
    if question == "design":
        return frozenset((FabricSpec if len(path) > 1 else ProblemSpec).model_fields)
    from evo_libra.network.orders.choices import FabricChoices  # noqa: PLC0415 - files of designs do not need it
    from evo_libra.problem.file.order_spec import OrderSpec  # noqa: PLC0415 - likewise

    return frozenset((FabricChoices if len(path) > 1 else OrderSpec).model_fields)
