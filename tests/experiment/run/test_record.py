from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from evo_libra import __version__
from evo_libra.experiment.run import record


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a package, which the program is taken to run from."""
    folder = tmp_path / "package" / "experiment" / "run"
    folder.mkdir(parents=True)
    (folder / "record.py").touch()
    monkeypatch.setattr(record, "__file__", str(folder / "record.py"))
    return tmp_path / "package"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_outside_a_checkout_there_is_no_commit(installed: Path) -> None:
    assert installed.is_dir()
    assert record.git_state.__wrapped__() is None


def test_a_checkout_without_a_commit_has_none(installed: Path) -> None:
    git(installed, "init", "-q")
    assert record.git_state.__wrapped__() is None


def test_a_checkout_is_clean_until_the_folder_of_the_program_changes(installed: Path) -> None:
    git(installed, "init", "-q")
    git(installed, "add", ".")
    git(installed, "commit", "-q", "-m", "first")
    clean = {"commit": git(installed, "rev-parse", "HEAD"), "clean": True}
    assert record.git_state.__wrapped__() == clean
    (installed / "elsewhere").touch()
    assert record.git_state.__wrapped__() == clean
    (installed / "experiment" / "run" / "new").touch()
    assert record.git_state.__wrapped__() == {**clean, "clean": False}
    git(installed, "checkout", "-q", "--detach")
    assert record.git_state.__wrapped__() == {**clean, "clean": False}


OF_NO_RESULT = ("astra_sim", "experiment", "explain", "pictures", "report", "ui")


def expected_digest(package: Path) -> str:
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(package.rglob("*.py")):
        if (name := path.relative_to(package)).parts[0] not in (
            "astra_sim",
            "experiment",
            "explain",
            "pictures",
            "report",
            "ui",
        ):
            digest.update(f"{name.as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def test_the_digest_of_the_program_is_that_of_its_files_in_the_order_of_their_parts(installed: Path) -> None:
    # `-` and `.` come before `/`, so that texts and parts have another order.
    names = ("ui.py", "ui/a.py", "b/ui/c.py", "b/c.py", "b-a/d.py", "b.py", "b/c/e.py", "b/data.yaml", "front/ui.py")
    for name in names:
        (installed / name).parent.mkdir(parents=True, exist_ok=True)
        (installed / name).write_text(name)
    before = record.program.__wrapped__()
    assert before == expected_digest(installed)
    (installed / "ui" / "a.py").write_text("of no result")
    assert record.program.__wrapped__() == before
    (installed / "front" / "ui.py").write_text("of all results")
    assert record.program.__wrapped__() != before


def test_the_digest_of_this_program() -> None:
    assert record.program() == expected_digest(Path(record.__file__).parents[2])
