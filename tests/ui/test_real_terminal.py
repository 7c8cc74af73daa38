"""The terminal UI in a pseudo-terminal: how it ends when the terminal or somebody else ends it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals")

COMMAND = str(Path(sys.executable).parent / "evo-libra")


@pytest.fixture
def shown(store: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Return the UI at work, and the other end of its terminal, which does not control it: no SIGHUP comes."""
    inner, outer = pty.openpty()
    program = subprocess.Popen(
        [COMMAND, "ui", str(store)], stdin=outer, stdout=outer, stderr=outer, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "160", "LINES": "45",
             "EVO_LIBRA_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    os.close(outer)
    seen, end = b"", time.monotonic() + 60
    while b"interrupted" not in seen:
        assert time.monotonic() < end, seen[-2000:]
        if select.select([inner], [], [], 0.1)[0]:
            seen += os.read(inner, 1 << 16)
    yield program, inner
    program.kill()
    program.wait()


def test_the_ui_ends_with_its_terminal(shown: tuple[subprocess.Popen[bytes], int]) -> None:
    program, inner = shown
    os.close(inner)
    assert program.wait(timeout=20) == 0


def test_the_ui_ends_when_it_is_told_to(shown: tuple[subprocess.Popen[bytes], int]) -> None:
    program, inner = shown
    program.send_signal(signal.SIGTERM)
    last = b""
    with contextlib.suppress(OSError):  # nobody is at the other end any more
        while select.select([inner], [], [], 20)[0] and (new := os.read(inner, 1 << 16)):
            last += new
    os.close(inner)
    assert program.wait(timeout=20) == 0
    assert b"\x1b[?1049l" in last  # the terminal is as it was
