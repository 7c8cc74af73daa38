"""The terminal UI in a pseudo-terminal: how it ends when the terminal or somebody else ends it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import code_of, wait_for
from pseudo_terminal import chunks_of, start

termios = pytest.importorskip("termios", reason="there are no terminals")


@pytest.fixture
def shown(store: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Return the UI at work, and the other end of its terminal, which does not control it: no SIGHUP comes."""
    program, inner = start(["evo-libra", "ui", store], EVO_LIBRA_CACHE=str(tmp_path / "cache"))
    seen = b""

    def is_drawn() -> bool:
        nonlocal seen
        seen += os.read(inner, 1 << 16) if select.select([inner], [], [], 0)[0] else b""
        return b"interrupted" in seen

    wait_for(is_drawn)
    yield program, inner
    program.kill()
    program.wait()


@pytest.mark.slow
def test_the_ui_ends_with_its_terminal(shown: tuple[subprocess.Popen[bytes], int]) -> None:
    program, inner = shown
    os.close(inner)
    assert code_of(program) == 0


@pytest.mark.slow
def test_the_ui_ends_when_it_is_told_to(shown: tuple[subprocess.Popen[bytes], int]) -> None:
    program, inner = shown
    program.send_signal(signal.SIGTERM)
    last = b"".join(chunks_of(inner))
    os.close(inner)
    assert code_of(program) == 0
    assert b"\x1b[?1049l" in last  # the terminal is as it was


@pytest.mark.slow
def test_a_terminal_without_rows_is_refused(store: Path) -> None:
    """Some programs make one: two libraries then took it for 24 and for 25 rows, in turns, and their memory grew."""
    program, inner = start(["evo-libra", "ui", store], columns=80, rows=0)
    said = b"".join(chunks_of(inner))
    assert program.wait() == 2
    assert b"`stty rows 24 cols 80` sets both" in said


CRASHING = """
import sys, threading, asyncio
from pathlib import Path
from evo_libra.ui.terminal.app import TerminalUI
from evo_libra.ui.terminal.app import show

def crash(self):
    threading.Thread(target=threading.Event().wait).start()  # one that nothing ends
    raise RuntimeError("a mistake of ours")

TerminalUI.on_terminal_ui_arrived = crash
asyncio.run(show(TerminalUI(Path(sys.argv[1]))))
"""
DEAF = """
import sys, threading
from evo_libra.ui.terminal.app import on_hang_up

threading.Thread(target=threading.Event().wait).start()  # Python waits for it
on_hang_up(sys.stdin.fileno(), lambda: print("nobody leaves", file=sys.stderr))
print("ready", flush=True)
"""


@pytest.mark.slow
def test_an_exception_inside_the_ui_ends_the_process_with_the_terminal_restored(store: Path) -> None:
    process, inner = start([sys.executable, "-c", CRASHING, store])
    before = termios.tcgetattr(inner)
    printed = b"".join(chunks_of(inner))
    assert code_of(process) == 1
    assert printed.rindex(b"\x1b[?1049l") < printed.index(b"a mistake of ours")
    assert termios.tcgetattr(inner)[:4] == before[:4]
    os.close(inner)


@pytest.mark.slow
def test_a_process_that_does_not_leave_a_terminal_that_is_gone_is_ended() -> None:
    process, inner = start([sys.executable, "-c", DEAF])
    while b"ready" not in os.read(inner, 1 << 12):
        pass
    os.close(inner)
    assert code_of(process) == 1
