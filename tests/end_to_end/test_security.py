"""Who can make this program run code: nobody on the network, no other user, no file where it is started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import COMMAND, process_json, run_process
from distributed.comm import connect
from patience import ended, wait_for

from evo_libra.experiment.execution.private_cluster import new_credentials, security_of

SLOW = '''
"""A problem that takes its time."""
import time
from problems.two_tier import TwoTier


class Slow(TwoTier):
    name = "slow"

    def evaluate_genes(self, genes):
        time.sleep(0.1)
        return super().evaluate_genes(genes)


problem = Slow()
'''
BATCH = "problem: slow:problem\nengines: random\npopulation: 50\nevaluations: 10000\ncheckpoint_s: 0.2\nseeds: [1, 2]\n"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVO_LIBRA_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "problems").symlink_to(ROOT / "problems")
    (tmp_path / "batch.yaml").write_text(BATCH)
    return tmp_path


@contextlib.contextmanager
def at_work(folder: Path, *words: str) -> Iterator[psutil.Process]:
    """Give a batch whose runs are at work."""
    with (folder / "errors.txt").open("ab") as errors:
        process = subprocess.Popen([COMMAND, "run", "batch.yaml", "--trust-code", *words], cwd=folder, stderr=errors)
    try:
        wait_for(lambda: len(list(folder.glob("results/*/*/checkpoint.npz"))) == 2)
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        ended(process)


def listening(program: psutil.Process) -> list[tuple[str, int]]:
    processes = [program, *program.children(recursive=True)]
    return [
        tuple(one.laddr)
        for process in processes
        for one in process.net_connections("all")
        if one.status == psutil.CONN_LISTEN or (one.type == socket.SOCK_DGRAM and one.laddr)
    ]


@pytest.mark.slow
def test_no_foreigner_gets_into_a_batch_that_runs(work: Path) -> None:
    with at_work(work, "--workers", "2") as program:
        (scratch,) = work.glob("results/.batches/*/scratch-*")
        assert scratch.stat().st_mode & 0o777 == 0o700
        found = listening(program)
        assert len(found) == 3, "the scheduler and two workers"
        assert {host for host, _ in found} == {"127.0.0.1"}
        texts = [" ".join(one.cmdline()) + str(one.environ()) for one in (program, *program.children(recursive=True))]
        assert not [text for text in texts if "PRIVATE KEY" in text]
        for _, port in found:
            with pytest.raises(OSError, match=r"."):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/info/main/workers.html", timeout=5)
            assert asyncio.run(greeted(f"tcp://127.0.0.1:{port}", {})) is False
            # Another one of this program, with certificates of its own.
            foreign = security_of(new_credentials()).get_connection_args("client")
            assert asyncio.run(greeted(f"tls://127.0.0.1:{port}", foreign)) is False
            assert without_certificate(port) == b""


async def greeted(address: str, arguments: dict[str, Any]) -> bool:
    """Return whether a server lets a client of Dask's protocol in."""
    try:
        connection = await connect(address, timeout=2, **arguments)
    except OSError:
        return False
    await connection.close()
    return True


def without_certificate(port: int) -> bytes:
    """Return what a server says to a client that takes any certificate and has none itself."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), 5) as plain, context.wrap_socket(plain) as connection:
        try:
            return connection.recv(1)
        except ssl.SSLError as error:
            assert "CERTIFICATE_REQUIRED" in str(error)
            return b""


PATHS = """
import json, os, sys
from pathlib import Path
Path(__file__).with_name(f"{os.getpid()}.path").write_text(json.dumps(sys.path))
"""
TRAPS = ("random", "multiprocessing", "signal", "threading", "runpy", "distributed", "dask", "numpy", "deap", "moocore")


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """Return a folder with files that have the names of modules and leave a trace when they are run."""
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'a').write({name!r} + chr(10))\n")
    return tmp_path


def sprung(folder: Path) -> list[str]:
    trace = folder / "sprung"
    return trace.read_text().splitlines() if trace.exists() else []


def _is_temporary(folder: Path) -> bool:
    """Return whether a folder is among temporary ones; a checkout, with its environment, may be there, too."""
    own = (ROOT, Path(sys.prefix))
    return folder.is_relative_to(tempfile.gettempdir()) and not any(map(folder.is_relative_to, own))


@pytest.mark.slow
def test_no_file_of_the_current_folder_stands_in_for_a_module(trapped: Path) -> None:
    (trapped / "slow.py").write_text(SLOW.replace("time.sleep(0.1)", "") + PATHS)
    (trapped / "problems").symlink_to(ROOT / "problems")
    batch = "evaluations: 100\npopulation: 50\nruns:\n  a: {problem: gpt3-4k, engines: 'deap:nsga2'}\n"
    (trapped / "batch.yaml").write_text(f"{batch}  b: {{problem: 'slow:problem'}}\n")
    started = process_json(trapped, "run", "batch.yaml", "--trust-code", "--workers", "1", "--detach")
    run_process(trapped, "search", "slow:problem", "--evaluations", "60", "--population", "20", "--workers", "1")
    wait_for(lambda: "2 done" in (trapped / started["log"]).read_text())
    assert sprung(trapped) == []
    # Of the batch and its worker; and, with the folder of the command first, of the search, its worker and the start.
    paths = Counter(path.read_text() for path in trapped.glob("*.path"))
    assert sorted(paths.values()) == [2, 3]
    for path in map(json.loads, paths):
        assert not [folder for folder in path[:-1] if _is_temporary(Path(folder))]
        assert path[-1] == str(trapped)
