"""A Dask scheduler and its workers that only this program and the processes it has started can reach.

They listen on the loopback alone, without the HTTP servers that Dask starts, and speak TLS: a peer has to show
the certificate of this cluster. Its key comes to these processes through a pipe; Dask writes it to a folder of the
user's own for as long as it takes to load it.
"""

from __future__ import annotations

import datetime as dt
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Scheduler, Worker
from distributed.security import Security

LOOPBACK = "127.0.0.1"
_ROLES = ("client", "scheduler", "worker")
_NO_LIMIT = 1e9


@contextmanager
def _path_kept() -> Iterator[None]:
    """Leave the path of modules as it is: Dask puts the folder of a server's temporary files first."""
    before = sys.path.copy()
    try:
        yield
    finally:
        sys.path[:] = before


class PrivateScheduler(Scheduler):
    """A scheduler without an HTTP server, in whose folder no module is looked for."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - those of Dask
        with _path_kept():
            super().__init__(**options)

    def start_http_server(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - what Dask passes
        """Start none."""


class PrivateWorker(Worker):
    """A worker without an HTTP server, in whose folder no module is looked for."""

    def __init__(self, address: str, **options: Any) -> None:  # noqa: ANN401 - those of Dask
        with _path_kept():
            super().__init__(address, **options)

    def start_http_server(self, *_: Any, **__: Any) -> None:  # noqa: ANN401 - the same
        """Start none."""


def scheduler_options(credentials: dict[str, str], folder: str) -> dict[str, Any]:
    """Return how a scheduler is started that only holders of the credentials can reach; its files are in a folder."""
    return {
        "local_directory": folder,
        "host": LOOPBACK,
        "port": 0,
        "protocol": "tls://",
        "security": security_of(credentials),
        "dashboard": False,
        # It compares dates of the clock, which may jump; `evo_libra.experiment.execution.scheduler` watches workers.
        "worker_ttl": _NO_LIMIT,
    }


def worker_of(address: str, credentials: dict[str, str], name: str, folder: str) -> PrivateWorker:
    """Return a worker with one thread for a scheduler, which knows it by a name; its files are in a folder."""
    return PrivateWorker(
        address,
        name=name,
        local_directory=folder,
        host=LOOPBACK,
        protocol="tls://",
        security=security_of(credentials),
        nthreads=1,
        memory_limit=0,
        silence_logs=logging.CRITICAL,
    )


def new_credentials() -> dict[str, str]:
    """Return a new private key, and the certificate that it has signed itself, as PEM.

    Unlike that of `distributed.Security.temporary`, it is valid at any date: a clock that jumps ends no run.
    """
    # Only here: workers are given a certificate.
    from cryptography import x509  # noqa: PLC0415 - see above
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - the same
    from cryptography.x509.oid import NameOID  # noqa: PLC0415 - the same

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "evo-libra")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(dt.datetime(1950, 1, 1, tzinfo=dt.UTC))
        .not_valid_after(dt.datetime(9999, 12, 31, tzinfo=dt.UTC))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {"certificate": certificate.public_bytes(serialization.Encoding.PEM).decode(), "key": private.decode()}


def security_of(credentials: dict[str, str]) -> Security:
    """Return what tells Dask to speak with holders of the credentials alone, in any role."""
    certificate, key = credentials["certificate"], credentials["key"]
    own = {f"tls_{role}_{part}": text for role in _ROLES for part, text in (("cert", certificate), ("key", key))}
    return Security(require_encryption=True, tls_ca_file=certificate, **own)
