"""A disk that is full or read-only: one sentence, and what was finished stays."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from command import COMMAND
from patience import run_to_end

BATCH = "problem: problems.two_tier:problem\nengines: random\npopulation: 50\nevaluations: 300\nrepeats: 40\n"


def alone(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script with mounts of its own."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-euc", script]
    environment = {**os.environ, "COMMAND": COMMAND, "EVO_LIBRA_CACHE": str(folder / "cache")}
    return run_to_end(words, cwd=folder, env=environment)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "problems").symlink_to(Path(__file__).parents[2] / "problems")
    (tmp_path / "disk").mkdir()
    (tmp_path / "batch.yaml").write_text(BATCH)
    try:
        probe = alone("mount -t tmpfs none disk", tmp_path)
    except FileNotFoundError:
        pytest.skip("no unshare on this machine")
    if probe.returncode:
        pytest.skip(f"no mounts of one's own on this machine: {probe.stderr}")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_a_full_disk_ends_the_batch_with_one_sentence_and_keeps_what_was_finished(work: Path, workers: int) -> None:
    done = alone(f"""
        mount -t tmpfs -o size=500k none disk
        "$COMMAND" run batch.yaml --trust-code --out disk/results --workers {workers} 2> first && exit 9
        cp first disk.log
        "$COMMAND" results --out disk/results --json > before
        mount -o remount,size=20m disk
        "$COMMAND" run batch.yaml --trust-code --out disk/results --workers 0 --json > second
        find disk -name '.tmp-*' -o -name 'claim-*' -o -name 'attempt*' -o -name 'failed.json' > left
        "$COMMAND" run batch.yaml --trust-code --out straight --workers 0 --json > third
        for front in straight/*/*/front.parquet; do cmp "$front" "disk/results/${{front#straight/}}"; done
    """, work)  # fmt: skip
    assert done.returncode == 0, done.stderr + (work / "first").read_text()
    last = (work / "first").read_text().splitlines()[-1]
    assert last.startswith("evo-libra: the disk of ")
    assert last.endswith(" is full; finished runs are intact")
    assert "Traceback" not in (work / "first").read_text()
    before = [run for run in json.loads((work / "before").read_text())["runs"] if run["status"] == "done"]
    second = json.loads((work / "second").read_text())
    assert 0 < len(before) < 40
    assert (second["done"], second["skipped"], second["failed"]) == (40 - len(before), len(before), 0)
    assert (work / "left").read_text() == ""


@pytest.mark.slow
def test_a_run_whose_designs_do_not_fit_is_executed_when_there_is_space_again(work: Path) -> None:
    # Their file is by far the largest; Polars makes it.
    (work / "batch.yaml").write_text(
        "problem: problems.two_tier:problem\nengines: random\npopulation: 500\nkeep: designs\n"
        "runs:\n  small: {evaluations: 500}\n  large: {evaluations: 20000}\n"
    )
    done = alone("""
        mount -t tmpfs -o size=300k none disk
        "$COMMAND" run batch.yaml --trust-code --out disk/results --workers 0 2> first && exit 9
        mount -o remount,size=20m disk
        "$COMMAND" run batch.yaml --trust-code --out disk/results --workers 0 --json > second
    """, work)  # fmt: skip
    assert done.returncode == 0, done.stderr + (work / "first").read_text()
    assert (work / "first").read_text().endswith(" is full; finished runs are intact\n")
    second = json.loads((work / "second").read_text())
    assert (second["done"], second["skipped"], second["failed"]) == (1, 1, 0)


@pytest.mark.slow
def test_a_read_only_folder_is_told_in_one_sentence(work: Path) -> None:
    done = alone("""
        mount -t tmpfs none disk
        "$COMMAND" run batch.yaml --trust-code --out disk/results --workers 0
        mount -o remount,ro disk
        run="run batch.yaml --trust-code"
        for words in "$run --workers 0 --rerun-stale" "$run --detach" "search gpt3-4k"; do
            "$COMMAND" $words --out disk/results 2> errors && exit 9
            tail -n 1 errors >> said
        done
        "$COMMAND" results --out disk/results --json > listed
        "$COMMAND" plan batch.yaml --out disk/results --trust-code --json > plan
    """, work)  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = (work / "said").read_text().splitlines()
    assert len(said) == 3
    assert all(
        line.startswith("evo-libra: ") and line.endswith("cannot be written: read-only file system") for line in said
    )
    assert len(json.loads((work / "listed").read_text())["runs"]) == 40
    assert json.loads((work / "plan").read_text())["to_run"] == 0


@pytest.mark.slow
def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    words = [COMMAND, "search", "gpt3-4k", "--evaluations", "650", "--out", "file"]
    done = run_to_end(words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "evo-libra: file is no folder of results: it is a file\n")
