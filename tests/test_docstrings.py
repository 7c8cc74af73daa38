"""The API reference: every section of a docstring is read as what it is."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from evo_libra import errors

ROOT = Path(__file__).parents[1]
_HELP = re.compile(r"^    (?:    )?\w+:$", re.MULTILINE)
"""A parameter in the docstring of a command, which the command line's library reads."""


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


docstrings = _module(ROOT / "docs" / "docstrings.py")


def _listed() -> Iterator[object]:
    """Yield what the reference page lists."""
    text = (ROOT / "docs" / "reference" / "python.md").read_text()
    for kind, name, members in re.findall(r"\.\. auto(\w+):: (\S+)(?:\n +:members:(.*))?", text):
        module, _, last = name.rpartition(".")
        found = getattr(importlib.import_module(module), last)
        yield found
        if kind == "class":
            yield from (getattr(found, one.strip()) for one in members.split(",") if one.strip())


def _fields(found: object, kind: str) -> list[str]:
    lines = docstrings.converted((inspect.getdoc(found) or "").splitlines())
    return [match[1].replace("\\", "") for line in lines if (match := re.match(rf":{kind} (\S+): \S", line))]


@pytest.mark.parametrize("found", list(_listed()), ids=lambda found: getattr(found, "__qualname__", "property"))
def test_sections_of_the_reference_name_what_is_there(found: object) -> None:
    text = inspect.getdoc(found) or ""
    if not isinstance(found, property):
        taken = {str(one).partition(":")[0].partition("=")[0] for one in inspect.signature(found).parameters.values()}  # type: ignore[arg-type]
        assert set(_fields(found, "param")) <= taken
    for name in _fields(found, "raises"):
        assert issubclass(getattr(errors, name, None) or getattr(builtins, name), Exception)
    assert ("Parameters\n" in text) == bool(_fields(found, "param"))
    assert ("Raises\n" in text) == bool(_fields(found, "raises"))
    assert ("Attributes\n" in text) == bool(_fields(found, "ivar"))


def test_every_docstring_of_the_package_can_be_read() -> None:
    for path in sorted((ROOT / "evo_libra").rglob("*.py")):
        for text in re.findall(r'"""(.*?)"""', path.read_text(), flags=re.DOTALL):
            if "commands" not in path.parts or not _HELP.search(text):
                docstrings.converted(inspect.cleandoc(text).splitlines())


def test_sections_become_fields_and_examples_stay_examples() -> None:
    lines = """First line.

    Parameters
    ----------
    *rows, count : (n,) what they are,
        and more; `low` : least value.

    Returns
    -------
    Values in s; None for none.

    Raises
    ------
    ValueError : no : such value.

    >>> 1 + 1
    2
    """
    assert [line for line in docstrings.converted(inspect.cleandoc(lines).splitlines()) if line] == [
        "First line.",
        r":param \*rows: (n,) what they are, and more",
        ":param count: (n,) what they are, and more",
        ":param low: least value.",
        ":returns: Values in s; None for none.",
        ":raises ValueError: no : such value.",
        ">>> 1 + 1",
        "2",
    ]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("Raises\n------\nValueError\n    a value", "'ValueError' is not 'name : text'"),
        ("Raises\n------\nValueError : a value\n>>> 1\n1", "'>>> 1' is not 'name : text'"),
        ("Parameters\n----------\n", "Parameters has no fields"),
        ("Examples\n--------\n>>> 1\n1", "the section 'Examples' is none of"),
    ],
)
def test_a_section_that_would_be_misread_is_refused(section: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        docstrings.converted(section.splitlines())
