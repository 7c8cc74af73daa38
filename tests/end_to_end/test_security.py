"""Who can make this program run code: nobody on the network, no other user, no file where it is started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import COMMAND, run, run_json, wait_for
from cryptography import x509
from distributed.comm import connect
from distributed.security import Security

from evo_libra.experiment.private_cluster import new_credentials, security_of

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
        process = subprocess.Popen([COMMAND, "run", "batch.yaml", *words], cwd=folder, stderr=errors)
    try:
        wait_for(lambda: len(list(folder.glob("results/*/*/checkpoint.npz"))) == 2)
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def listening(program: psutil.Process) -> list[tuple[str, int]]:
    processes = [program, *program.children(recursive=True)]
    return [
        tuple(one.laddr)
        for process in processes
        for one in process.net_connections("all")
        if one.status == psutil.CONN_LISTEN or (one.type == socket.SOCK_DGRAM and one.laddr)
    ]


def test_no_foreigner_gets_into_a_batch_that_runs(work: Path) -> None:
    with at_work(work, "--workers", "2") as program:
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
            assert "CERTIFICATE_REQUIRED" in str(error)  # noqa: PT017 - either this or the end of the connection
            return b""


def test_a_scheduler_with_certificates_is_joined_with_them_alone(tmp_path: Path) -> None:
    (tmp_path / "batch.yaml").write_text("problem: gpt3-4k\npopulation: 50\nevaluations: 100\n")
    credentials = new_credentials()
    (tmp_path / "cert.pem").write_text(credentials["certificate"])
    (tmp_path / "key.pem").write_text(credentials["key"])
    files = ["--tls-ca-file", "cert.pem", "--tls-cert", "cert.pem", "--tls-key", "key.pem"]
    with dask(tmp_path, "scheduler", "--host", "tls://127.0.0.1", "--port", "0", "--no-dashboard", *files):
        wait_for((tmp_path / "scheduler.json").exists)
        asked = ["run", "batch.yaml", "--scheduler", "scheduler.json"]
        with dask(tmp_path, "worker", "--nthreads", "1", "--no-dashboard", *files):
            assert run_json(tmp_path, *asked, *files)["done"] == 1


@contextlib.contextmanager
def dask(folder: Path, what: str, *words: str) -> Iterator[None]:
    """Run a part of a Dask cluster."""
    file = ["--scheduler-file", "scheduler.json"]
    command = [str(Path(sys.executable).parent / "dask"), what, *file, *words]
    with (folder / f"{what}.txt").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=60)
