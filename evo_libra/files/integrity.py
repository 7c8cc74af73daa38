"""Files that carry their own checksum: what is not as it was written is refused in one sentence, never believed."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from evo_libra.errors import InputError

if TYPE_CHECKING:
    import numpy as np

CHECKSUM = "sha256"
"""The last key of a JSON object, of a line of JSON, and a key of the metadata of a table."""
_JSON_END = '  "sha256": "{}"\n}}\n'
_LINE_END = ', "sha256": "{}"}}'
_LINE_DIGITS = 16
_TABLE_MARK = b"sha256:"
_BLANK = _TABLE_MARK + b"0" * 64
BLANK = _BLANK.decode()
"""Metadata of a table under `CHECKSUM` until `seal_table` has put the checksum there."""


_ARCHIVE_DIGITS = 64
_NO_ARCHIVE = (
    zipfile.BadZipFile, zlib.error, ValueError, KeyError, TypeError, EOFError, OverflowError, MemoryError, OSError,
    RuntimeError, struct.error,
)  # fmt: skip
"""Raised by readers of archives whose parts are not what they say: of a password, a method, a size, a shape."""
_PART = 1 << 16


class DamagedError(InputError):
    """A file that is not what the program wrote, or that cannot be read."""


def opened(path: Path | str) -> BinaryIO:
    """Open a regular file for reading; a named pipe without a writer would block for ever.

    Raises `OSError` if there is none, it is no regular file, or it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb", buffering=0)
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory", str(path))
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def open_regular(path: Path | str) -> BinaryIO | None:
    """Open a file for reading; only a regular one, so that nothing blocks. None where there is none.

    Raises `DamagedError` if it is no file, or cannot be read.
    """
    try:
        return opened(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except IsADirectoryError:
        raise DamagedError(f"{path} cannot be read: it is not a regular file") from None
    except OSError as error:
        raise unreadable(path, error) from None


def read_bytes(path: Path | str) -> bytes | None:
    """Return the content of a regular file; None where there is none.

    Raises `DamagedError` if it is no file, or cannot be read.
    """
    file = open_regular(path)
    if file is None:
        return None
    with file:
        try:
            return file.read()
        except OSError as error:
            raise unreadable(path, error) from None


def unreadable(path: Path | str, error: OSError) -> DamagedError:
    """Return the error for a file that the system refuses to read."""
    return DamagedError(f"{path} cannot be read: {(error.strerror or 'the system refuses').lower()}")


def _damaged(path: Path | str, *, known: bool) -> DamagedError:
    if known:  # at least, that there is a checksum
        return DamagedError(f"{path} is damaged or was changed by hand: its checksum is wrong")
    return DamagedError(
        f"{path} has no checksum: it is damaged, was changed by hand, or was made by an earlier version"
    )


def seal_json(data: Mapping[str, Any]) -> bytes:
    """Return a JSON object with one line per key, whose last key is the SHA-256 of every byte before that line."""
    # One line per key: for people, and ten times as fast as with lines for all that is inside.
    lines = (f"  {json.dumps(key)}: {json.dumps(value, allow_nan=False)},\n" for key, value in data.items())
    body = ("{\n" + "".join(lines)).encode()
    return body + _json_end(body)


def parse_json(path: Path | str, raw: bytes, keys: Collection[str] | None = None) -> dict[str, Any]:
    """Return the object that `seal_json` wrote.

    Only the wanted keys are read, all when left out; the checksum is of the whole file in any case. Raises
    `DamagedError` if its checksum is wrong or missing.
    """
    size = len(_JSON_END.format("")) + 64
    if raw[-size:] != _json_end(raw[:-size]):
        raise _damaged(path, known=b'"sha256"' in raw[-size:])
    lines = raw[:-size].decode(errors="replace").split("\n")[1:]
    if keys is not None:
        lines = [line for line in lines if line[3 : line.find('"', 3)] in keys]
    data: dict[str, Any] = _parsed(path, f"{{{''.join(lines).rstrip(',')}}}")
    return data


def _json_end(body: bytes) -> bytes:
    return _JSON_END.format(hashlib.sha256(body).hexdigest()).encode()


def seal_line(data: Mapping[str, Any]) -> str:
    """Return a JSON object on one line, whose last key is the beginning of the SHA-256 of what is before it."""
    body = json.dumps(data, allow_nan=False)[:-1]
    return body + _line_end(body.encode())


def parse_line(raw: bytes) -> dict[str, Any] | None:
    """Return the object that `seal_line` wrote; None where the line is not as it was written."""
    size = len(_LINE_END.format("")) + _LINE_DIGITS
    if raw[-size:] != _line_end(raw[:-size]).encode():
        return None
    data: dict[str, Any] = _parsed("a line", raw)
    del data[CHECKSUM]
    return data


def _line_end(body: bytes) -> str:
    return _LINE_END.format(hashlib.sha256(body).hexdigest()[:_LINE_DIGITS])


def _parsed(path: Path | str, raw: bytes | str) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise DamagedError(f"{path} is not JSON") from None


def seal_table(raw: bytes) -> bytes:
    """Return a Parquet file whose metadata have `BLANK` with the SHA-256 of the file in its place."""
    place = raw.rfind(_BLANK)
    if place < 0:
        raise ValueError("a table without a place for its checksum")
    return raw[:place] + _TABLE_MARK + hashlib.sha256(raw).hexdigest().encode() + raw[place + len(_BLANK) :]


def check_table(path: Path | str, raw: bytes) -> None:
    """Check the SHA-256 of a Parquet file that `seal_table` wrote. Raises `DamagedError` if it is wrong or missing."""
    place, view = raw.rfind(_TABLE_MARK), memoryview(raw)
    after = place + len(_BLANK)
    digest = hashlib.sha256(view[: max(place, 0)])
    digest.update(_BLANK)
    digest.update(view[after:])
    if place < 0 or raw[place + len(_TABLE_MARK) : after] != digest.hexdigest().encode():
        raise _damaged(path, known=place >= 0)


def row_digest(*values: bytes | str | float | None) -> str:
    """Return what tells whether values of a row of a database are those that were written."""
    digest = hashlib.sha256()
    for value in values:
        raw = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(f"{len(raw)}:".encode() + raw)
    return digest.hexdigest()[:32]


def canonical_hash(data: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON-able data in its one canonical form."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def checksum(path: Path | str) -> str:
    """Return the SHA-256 of a file; empty where there is none.

    Raises
    ------
    DamagedError : it cannot be read.
    """
    file = open_regular(path)
    if file is None:
        return ""
    found = hashlib.sha256()
    with file:
        while part := file.read(_PART):  # `hashlib.file_digest` takes longer to begin than a small file takes
            found.update(part)
    return found.hexdigest()


def seal_archive(archive: bytes) -> bytes:
    """Return a ZIP archive with the checksum of all of it as its comment, which readers of archives pass over."""
    body = archive[:-2] + struct.pack("<H", _ARCHIVE_DIGITS)  # an archive ends with the length of its comment
    return body + hashlib.sha256(body).hexdigest().encode()


def check_archive(path: Path | str, raw: bytes) -> None:
    """Check the checksum of a checkpoint that `seal_archive` made; a wrong one is a `DamagedError`."""
    if raw[-_ARCHIVE_DIGITS:] != hashlib.sha256(raw[:-_ARCHIVE_DIGITS]).hexdigest().encode():
        raise DamagedError(f"the checkpoint {path} is damaged (its checksum is wrong); search again without --resume")


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]] | None:
    """Return the plain data (the array ``head``) and the other arrays of a checkpoint, or None when there is none.

    Raises
    ------
    DamagedError : it cannot be read, or is not as it was written.
    """
    raw = read_bytes(path)
    if raw is None:
        return None
    check_archive(path, raw)
    import numpy as np  # noqa: PLC0415 - listing runs checks archives without reading them

    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as data:
            if sum(part.file_size for part in data.zip.infolist()) > len(raw):
                raise ValueError("parts that are larger than the archive: the program compresses none")
            head = json.loads(bytes(data["head"]).decode())
            return head, {name: data[name] for name in data.files if name != "head"}
    except _NO_ARCHIVE:
        raise DamagedError(f"the checkpoint {path} is no checkpoint; search again without --resume") from None
