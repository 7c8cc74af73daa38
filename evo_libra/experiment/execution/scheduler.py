"""Joining a Dask scheduler that is running already, with certificates or without."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evo_libra.errors import InputError
from evo_libra.experiment.execution.executor import OnScheduler

if TYPE_CHECKING:
    from distributed.security import Security

_CONNECT_SECONDS = 20


@dataclass(frozen=True)
class Tls:
    """Files to speak TLS with a scheduler; what is None is as Dask is configured.

    Attributes
    ----------
    ca_file : the authority that has signed the certificates of scheduler and workers.
    cert, key : this program's own certificate and its key.
    """

    ca_file: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def security(self) -> Security:
        """Return what tells Dask to use them, and to speak with nobody who has none.

        Raises
        ------
        InputError : a file is missing.
        """
        from distributed.security import Security  # noqa: PLC0415 - takes half a second

        named = {"ca_file": self.ca_file, "client_cert": self.cert, "client_key": self.key}
        given = {f"tls_{key}": str(path) for key, path in named.items() if path is not None}
        for option, path in (("ca-file", self.ca_file), ("cert", self.cert), ("key", self.key)):
            if path is not None and not path.is_file():
                raise InputError(f"--tls-{option}: there is no file {path}")
        return Security(**given, require_encryption=True) if given else Security()


def join(scheduler: str, tls: Tls | None = None, on_news: Callable[[str], None] = lambda _news: None) -> OnScheduler:
    """Join a running scheduler.

    Parameters
    ----------
    scheduler : its address, such as ``tls://10.0.0.1:8786``, or the path of its scheduler file.
    tls : files to speak TLS with it; as Dask is configured when left out.
    on_news : as for `OnScheduler`.

    Raises
    ------
    InputError : none answers there, a file is missing, or the certificates do not fit the address.
    """
    from distributed import Client  # noqa: PLC0415 - takes half a second

    security = (tls or Tls()).security()
    try:
        encrypted = security.get_connection_args("client")["ssl_context"] is not None
    except OSError as error:
        raise InputError(f"--scheduler: the certificates cannot be used: {error}") from None
    address = _checked(_address(scheduler), encrypted=encrypted)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False, security=security)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        raise InputError(f"--scheduler: no Dask scheduler answers at {scheduler}: {error}") from None
    return OnScheduler(client, on_news=on_news)


def _address(scheduler: str) -> str:
    """Return the address of a scheduler, out of its file where that is what was named."""
    path = Path(scheduler)
    if path.suffix != ".json" and not path.is_file():
        return scheduler
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["address"])
    except FileNotFoundError:
        raise InputError(
            f"--scheduler: there is no file {scheduler}; `dask scheduler --scheduler-file` writes it"
        ) from None
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"--scheduler: {scheduler} is no scheduler file of Dask") from None


def _checked(address: str, *, encrypted: bool) -> str:
    """Refuse an address that does not fit the certificates; Dask itself would begin to connect."""
    if address.startswith("tls://") and not encrypted:
        raise InputError(f"--scheduler: {address} asks for certificates; give --tls-ca-file, --tls-cert and --tls-key")
    if encrypted and not address.startswith("tls://"):
        raise InputError(
            f"--scheduler: {address} is not encrypted; certificates need an address such as tls://head:8786"
        )
    return address
