"""Studies outside of a checkout: a copy of the scripts runs from any folder, and writes to that folder alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evo_libra

FOLDER = Path(__file__).parents[2] / "experiments"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py") if "__main__" in path.read_text())


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path_factory.mktemp("copy") / "studies"))


def done(script: Path, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a folder, with the package as it would be installed."""
    paths = [str(Path(evo_libra.__file__).parents[1]), *filter(None, sys.path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    kept = [path for path in env["PYTHONPATH"].split(os.pathsep) if Path(path) != FOLDER]
    env["PYTHONPATH"] = os.pathsep.join(kept)
    return subprocess.run(
        [sys.executable, str(script), *words], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


_HELP = """
import runpy, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
for script in sorted(Path(sys.argv[1]).glob("*.py")):
    if "__main__" in script.read_text():
        sys.argv = [str(script), "--help"]
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as ended:
            assert ended.code == 0, script
        else:
            raise AssertionError(script)
"""


@pytest.mark.slow
def test_copied_scripts_have_help_in_any_folder(copied: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    driver = tmp_path / "driver.py"
    driver.write_text(_HELP)
    found = done(driver, tmp_path / "work", str(copied))
    assert found.returncode == 0, found.stderr
    assert [line.split()[1] for line in found.stdout.splitlines() if line.startswith("usage: ")] == SCRIPTS
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "written"), [("fred", "fred.png"), ("published_allocations", "published_allocations.png")]
)
def test_a_copied_script_runs_in_any_folder(copied: Path, tmp_path: Path, name: str, written: str) -> None:
    found = done(copied / f"{name}.py", tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("|") > 10
    assert {path.name for path in tmp_path.iterdir()} == {written}


@pytest.mark.slow
def test_a_study_of_runs_names_the_file_of_the_experiment(copied: Path, tmp_path: Path) -> None:
    found = done(copied / "libra_group.py", tmp_path)
    assert found.returncode == 1
    file = Path(os.path.relpath(copied / "libra_group.yaml", tmp_path)).as_posix()
    assert found.stderr == f"results has no runs of libra_group that are done; evo-libra run {file}\n"
    assert (tmp_path / file).is_file()
