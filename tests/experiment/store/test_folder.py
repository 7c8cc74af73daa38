"""Files that are whole or not there."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evo_libra.errors import InputError, StorageError
from evo_libra.experiment.store import staging
from evo_libra.experiment.store.folder import CHECKPOINT, EVENTS, RunFolder
from evo_libra.experiment.store.messages import Progress, last_progress, read_events, read_progress, tell, tell_progress
from evo_libra.experiment.store.search_state import checkpoint_evaluations, read_checkpoint, write_checkpoint
from evo_libra.experiment.store.staging import Staging, create_text
from evo_libra.front.archive import Archive, Collection
from evo_libra.searching.engine import EngineState
from evo_libra.searching.loop import Snapshot


def snapshot(seed: int, evaluations: int = 7) -> Snapshot:
    random = np.random.default_rng(seed)
    arrays = {"genes": random.random((3, 5)), "size": np.array(4.0), "empty": np.empty((2, 0))}
    archive = Archive(random.random((3, 2)), random.random((2, 2)))
    return Snapshot(EngineState(arrays, np.random.PCG64(seed).state), Collection(archive), evaluations)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:  # fmt: skip
    folder = RunFolder(tmp_path)
    folder.write("a.json", b"before")

    def fail(_descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match=str(tmp_path)):
        folder.write("a.json", b"after")
    with pytest.raises(StorageError):
        write_checkpoint(folder, snapshot(1), "search")
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_bytes() == b"before"


@pytest.mark.parametrize("links", [True, False])
def test_of_many_that_create_a_file_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:  # noqa: FBT001
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "no links here")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    start, found = Barrier(8), []

    def create(who: int) -> None:
        start.wait()
        found.append((create_text(tmp_path / "done.json", f"{who}" * 1000, tmp_path), who))

    threads = [Thread(target=create, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [who for created, who in found if created]
    assert (tmp_path / "done.json").read_text() == f"{winner}" * 1000
    assert len(list(tmp_path.iterdir())) == 1


def test_a_link_that_fails_for_want_of_space_is_no_missing_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(StorageError, match="is full"):
        create_text(tmp_path / "claim-0001.json", "x", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_swept(tmp_path: Path) -> None:
    (tmp_path / f"{staging.TEMPORARY}x.json").write_text("half")
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "attempt-dead" / "removed").mkdir(parents=True)
    (tmp_path / "attempt-mine").mkdir()
    RunFolder(tmp_path, Staging(tmp_path / "attempt-mine")).take_over()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["attempt-mine", "manifest.json"]


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(0, 10**12))
def test_a_checkpoint_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, seed: int, evaluations: int
) -> None:
    folder, kept = RunFolder(tmp_path_factory.mktemp("run")), snapshot(seed, evaluations)
    write_checkpoint(folder, kept, "search")
    found = read_checkpoint(folder, "search")
    assert found is not None
    assert found.evaluations == evaluations == checkpoint_evaluations(folder)
    assert dict(found.engine.random) == dict(kept.engine.random)
    assert found.engine.arrays.keys() == kept.engine.arrays.keys()
    for name, values in kept.engine.arrays.items():
        np.testing.assert_array_equal(found.engine.arrays[name], values)
    np.testing.assert_array_equal(found.archive.genes, kept.archive.genes)
    np.testing.assert_array_equal(found.archive.objectives, kept.archive.objectives)


def test_a_checkpoint_that_is_cut_or_changed_is_refused(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    write_checkpoint(folder, snapshot(1), "search")
    raw = (tmp_path / CHECKPOINT).read_bytes()
    random = np.random.default_rng(0)
    flipped = [
        raw[:place] + bytes([raw[place] ^ (1 << int(random.integers(8)))]) + raw[place + 1 :]
        for place in random.integers(0, len(raw), 200).tolist()
    ]
    for damaged in (*flipped, *(raw[:size] for size in (0, 10, len(raw) // 2, len(raw) - 1))):
        (tmp_path / CHECKPOINT).write_bytes(damaged)
        with pytest.raises(InputError, match="damaged"):
            read_checkpoint(folder, "search")
        assert checkpoint_evaluations(folder) is None


def test_a_checkpoint_is_an_archive_that_other_programs_read(tmp_path: Path) -> None:
    write_checkpoint(RunFolder(tmp_path), snapshot(1), "search")
    with np.load(tmp_path / CHECKPOINT, allow_pickle=False) as data:
        assert json.loads(bytes(data["head"]).decode())["evaluations"] == 7
        np.testing.assert_array_equal(data["archive/objectives"], snapshot(1).archive.objectives)


def test_a_checkpoint_of_another_search_or_program_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    write_checkpoint(folder, snapshot(1), "search")
    with pytest.raises(InputError, match="another run"):
        read_checkpoint(folder, "other")
    monkeypatch.setattr("evo_libra.experiment.store.search_state.program", lambda: "newer")
    with pytest.raises(InputError, match="another version of the program"):
        read_checkpoint(folder, "search")


def point(evaluations: int, seconds: float = 1.0) -> Progress:
    return Progress(0.0, evaluations, 3, None, seconds)


def test_events_that_were_cut_short_are_left_out(tmp_path: Path) -> None:
    tell(RunFolder(tmp_path), "started", worker="here")
    tell_progress(RunFolder(tmp_path), point(100))
    with (tmp_path / EVENTS).open("a") as file:
        file.write('{"kind": "progress", "evalu')
    assert [event["kind"] for event in read_events(tmp_path)] == ["started", "progress"]
    assert last_progress(tmp_path) == point(100)
    assert last_progress(tmp_path / "nowhere") is None


def test_the_course_of_a_run_has_what_a_crash_undid_once(tmp_path: Path) -> None:
    for evaluations in (100, 200, 300, 150, 250, 400):
        tell_progress(RunFolder(tmp_path), point(evaluations, evaluations / 10))
    assert [one.evaluations for one in read_progress(tmp_path)] == [100, 150, 250, 400]


def test_the_last_progress_of_a_long_file_is_found_at_its_end(tmp_path: Path) -> None:
    for evaluations in range(1, 2000):
        tell_progress(RunFolder(tmp_path), point(evaluations))
    last = last_progress(tmp_path)
    assert last is not None
    assert last.evaluations == 1999
