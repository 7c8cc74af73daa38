"""The gate of names of code: what passes it, for how long, and that no import goes round it."""

from __future__ import annotations

import ast
from pathlib import Path
from threading import Thread

import pytest

from evo_libra import load_problem, search
from evo_libra.errors import InputError
from evo_libra.named_code import (
    ANY,
    UntrustedError,
    import_object,
    own_trust,
    refuse_untrusted,
    trust,
    trust_files,
    trusted_names,
)  # fmt: skip

ROOT = Path(__file__).parents[1]
NAME = "own_module:value"
REFUSED = "a file names code, own_module:value; where you trust the file, --trust-code runs the code"
BY_NAME = {
    "evo_libra/__init__.py": "names of this package",
    "evo_libra/files/fields.py": "records of this package",
    "evo_libra/named_code.py": "the gate",
    "evo_libra/network/blocks/registry.py": "modules of a folder of this package",
    "evo_libra/problem/file/registry.py": "problems of the folder that comes with this package",
    "evo_libra/problem/time_models/registry.py": "modules of this package, from a table",
    "evo_libra/searching/registry.py": "modules of this package, from a table",
    "evo_libra/ui/commands/application.py": "modules of this package, from a table",
}
"""Files that import a module whose name is no literal, and where the name comes from."""
CALLS = {
    "import_module",
    "__import__",
    "exec_module",
    "spec_from_file_location",
    "run_module",
    "run_path",
    "exec",
    "eval",
}


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_module.py").write_text("value = 3\nproblem = None\n")
    monkeypatch.chdir(tmp_path)


def test_a_name_is_imported_once_it_is_trusted() -> None:
    with pytest.raises(UntrustedError, match=REFUSED):
        import_object(NAME)
    with own_trust():
        before = trusted_names()
        trust(NAME)
        assert import_object(NAME) == 3
        with pytest.raises(UntrustedError):
            import_object("own_module:problem")
        trust_files(allowed=False)
        assert trusted_names() == before | {NAME}
        trust_files(allowed=True)
        assert import_object("own_module:problem") is None
    assert NAME not in trusted_names()
    with pytest.raises(UntrustedError):
        import_object(NAME)


def test_a_thread_does_not_inherit_trust() -> None:
    seen: list[frozenset[str]] = []
    with own_trust():
        trust(ANY)
        thread = Thread(target=lambda: seen.append(trusted_names()))
        thread.start()
        thread.join()
    assert seen == [frozenset()]


def test_all_names_that_are_refused_are_in_the_sentence() -> None:
    with own_trust():
        trust("b:c")
        with pytest.raises(UntrustedError, match="names code, a:x and d:y;"):
            refuse_untrusted(["a:x", "b:c", "d:y"])
        refuse_untrusted(["b:c"])


def test_a_name_in_a_call_from_python_is_trusted_and_one_in_a_file_is_not() -> None:
    with pytest.raises(InputError, match="'own_module:problem' is no problem"):
        load_problem("own_module:problem")
    with pytest.raises(InputError, match="the engine 'own_module:value' must be a function"):
        search("gpt3-4k", engine=NAME, evaluations=60)
    with pytest.raises(InputError, match=REFUSED):
        search(load_problem("gpt3-4k", [f"search.engine={NAME}"]), evaluations=60)  # type: ignore[arg-type]


@pytest.mark.slow
def test_modules_are_imported_by_name_in_these_files_alone() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "evo_libra").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and CALLS & {getattr(node.func, "id", ""), getattr(node.func, "attr", "")}
    }
    assert found == set(BY_NAME)
