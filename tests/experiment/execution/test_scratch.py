"""Tests of folders of temporary files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evo_libra.experiment.execution.scratch import SCRATCH, new_scratch, remove_dead

MAKES = """
import sys, time
from pathlib import Path
from evo_libra.experiment.execution.scratch import new_scratch
folder = new_scratch(Path(sys.argv[1]))
(Path(folder.name) / "file").write_text("text")
print(folder.name, flush=True)
time.sleep(60)
"""


@pytest.mark.slow
def test_the_folder_of_a_program_that_was_killed_goes_and_that_of_one_alive_stays(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", MAKES, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    theirs = Path(other.stdout.readline().strip())
    with new_scratch(tmp_path) as ours:
        assert theirs.is_dir()
        other.kill()
        other.wait()
        other.stdout.close()
        remove_dead(tmp_path)
        assert list(tmp_path.iterdir()) == [Path(ours)]
    assert list(tmp_path.iterdir()) == []


def test_folders_of_other_machines_and_other_names_stay(tmp_path: Path) -> None:
    names = {f"{SCRATCH}00000000-1-1-abc", f"{SCRATCH}abc", "results"}
    for name in names:
        (tmp_path / name).mkdir()
    remove_dead(tmp_path / "none")
    with new_scratch(tmp_path):
        pass
    assert {path.name for path in tmp_path.iterdir()} == names
