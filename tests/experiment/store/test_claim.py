"""Claims: one holder at a time, whatever dies."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Barrier, Thread

import pytest
from patience import wait_for

from evo_libra.experiment.store import claim as claims
from evo_libra.experiment.store.claim import LEASE_SECONDS, Lease, acquire, current_claim, holds, release, renew
from evo_libra.experiment.store.folder import RunFolder
from evo_libra.experiment.store.staging import Staging

CHILD = """
import sys, time
from pathlib import Path
from evo_libra.experiment.store.claim import acquire
assert acquire(Path(sys.argv[1]), "other") is not None
print("held", flush=True)
time.sleep(60)
"""


def test_a_held_run_is_not_given_away_and_a_released_one_leaves_nothing(tmp_path: Path) -> None:
    mine = acquire(tmp_path / "run", "a")
    assert mine is not None
    assert acquire(tmp_path / "run", "b") is None
    assert holds(mine)
    release(mine)
    assert list((tmp_path / "run").iterdir()) == []
    assert acquire(tmp_path / "run", "b") is not None


def test_of_many_that_try_at_once_one_gets_it(tmp_path: Path) -> None:
    for turn in range(20):
        folder, start, found = tmp_path / str(turn), Barrier(8), []

        def attempt(who: int, folder: Path = folder, start: Barrier = start, found: list[object] = found) -> None:
            start.wait()
            found.append(acquire(folder, f"batch {who}"))

        threads = [Thread(target=attempt, args=(who,)) for who in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(one is not None for one in found) == 1
        assert len(list(folder.glob("claim-*"))) == len(list(folder.glob("attempt-*"))) == 1


def test_the_claim_of_a_dead_process_is_void_at_once(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    assert acquire(tmp_path, "b") is None
    process.kill()
    process.wait()
    process.stdout.close()
    mine = acquire(tmp_path, "b")
    assert mine is not None
    assert mine.number == 2
    RunFolder(tmp_path, Staging(mine.staging)).take_over()
    release(mine)
    assert list(tmp_path.iterdir()) == []


def test_a_process_elsewhere_that_no_longer_renews_is_outbid_and_notices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "kernel", lambda: "another host")
    theirs = acquire(tmp_path, "a")
    monkeypatch.undo()
    assert theirs is not None
    old = time.time() - LEASE_SECONDS + 5
    os.utime(theirs.path, (old, old))
    assert acquire(tmp_path, "b") is None
    old -= 6
    os.utime(theirs.path, (old, old))
    mine = acquire(tmp_path, "b")
    assert mine is not None
    assert not renew(theirs)
    assert not holds(theirs)
    release(theirs)
    assert holds(mine)


def test_a_later_attempt_of_the_same_batch_need_not_wait(tmp_path: Path) -> None:
    first = acquire(tmp_path, "a")
    second = acquire(tmp_path, "a")
    assert first is not None
    assert second is not None
    assert not holds(first)
    assert holds(second)


def test_a_claim_that_was_never_filled_is_void_after_its_lease(tmp_path: Path) -> None:
    (tmp_path / "claim-0001.json").write_text("")
    assert acquire(tmp_path, "a") is None
    old = time.time() - LEASE_SECONDS - 1
    os.utime(tmp_path / "claim-0001.json", (old, old))
    assert acquire(tmp_path, "a") is not None


def test_whoever_outbids_a_claim_that_was_given_back_meanwhile_steps_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It has seen number 1 of a dead holder; since then that was outbid, given back, and number 1 taken anew.
    dead, fresh, honest = tmp_path / "claim-0001.json", [], claims.server_time
    dead.write_text("")
    os.utime(dead, (0, 0))

    def meanwhile(folder: Path) -> float:
        monkeypatch.undo()
        dead.unlink()
        fresh.append(acquire(folder, "c"))
        return honest(folder)

    monkeypatch.setattr(claims, "server_time", meanwhile)
    assert acquire(tmp_path, "d") is None
    assert [current_claim(tmp_path)] == fresh


def test_a_claim_made_since_the_look_is_not_outbid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Beyond it, each of the two could find the other's claim, and both would give way.
    honest, create, tried, theirs = claims._names, claims.create_text, [], []  # noqa: SLF001 - the look

    def look(folder: Path) -> list[tuple[int, str]]:
        names = honest(folder)
        monkeypatch.setattr(claims, "_names", honest)
        theirs.append(acquire(folder, "b"))
        return names

    def attempt(path: Path, text: str, staging: Path) -> bool:
        tried.append(path.name)
        return create(path, text, staging)

    monkeypatch.setattr(claims, "_names", look)
    monkeypatch.setattr(claims, "create_text", attempt)
    assert acquire(tmp_path, "a") is None
    assert [current_claim(tmp_path)] == theirs
    assert tried == ["claim-0001.json"] * 2


def test_a_lease_is_renewed_while_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "HEARTBEAT_SECONDS", 0.01)
    with Lease(tmp_path, "a") as lease:
        assert lease.claim is not None
        os.utime(lease.claim.path, (0, 0))
        path = lease.claim.path
        wait_for(lambda: path.stat().st_mtime >= 1)
        assert lease.valid()
        outbid = acquire(tmp_path, "a")
        wait_for(lease.lost)
    assert outbid is not None
    assert holds(outbid)


def hold(folder: str, turns: int, broken: multiprocessing.Queue[str]) -> None:
    for _ in range(turns):
        with Lease(Path(folder), f"{os.getpid()}") as lease:
            if lease.claim is None:
                continue
            try:
                (Path(folder) / "inside").touch(exist_ok=False)
                (Path(folder) / "inside").unlink()
            except OSError as error:
                broken.put(str(error))


@pytest.mark.slow
def test_processes_never_meet_inside(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    broken: multiprocessing.Queue[str] = context.Queue()
    processes = [context.Process(target=hold, args=(str(tmp_path), 200, broken)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert broken.empty()
    assert list(tmp_path.iterdir()) == []


def test_a_claim_that_another_has_outbid_for_a_moment_goes_with_its_holder(tmp_path: Path) -> None:
    mine, theirs = acquire(tmp_path, "a"), acquire(tmp_path, "a")
    assert mine is not None
    assert theirs is not None
    release(mine)
    assert [path.name for path in tmp_path.glob("claim-*")] == [theirs.path.name]
    release(theirs)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("years", [-50, 50])
def test_a_claim_of_another_time_holds_nobody_up(years: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "kernel", lambda: "another host")
    theirs = acquire(tmp_path, "a")
    monkeypatch.undo()
    assert theirs is not None
    date = time.time() + years * 365 * 86400
    os.utime(theirs.path, (date, date))
    assert acquire(tmp_path, "b") is not None


@pytest.mark.parametrize("seconds", [-1e9, 1e9])
def test_a_clock_that_jumps_takes_no_run_from_a_holder_that_lives(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # psutil tells the start of a process by the clock.
    import psutil  # noqa: PLC0415 - what is changed

    mine = acquire(tmp_path, "a")
    honest = psutil.Process.create_time
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: honest(process) + seconds)
    assert mine is not None
    assert mine.alive(mine.renewed)
    assert acquire(tmp_path, "b") is None
