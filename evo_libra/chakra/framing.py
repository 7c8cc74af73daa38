"""A trace as a row of messages: each is its length, as a varint, and that many bytes; the whole may be gzipped."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import NoReturn

from evo_libra.errors import InputError, Mistake, unusable
from evo_libra.files.integrity import opened

MAX_MESSAGE_BYTES = 64 * 2**20
"""Bytes; a longer message is refused."""

GZIP = b"\x1f\x8b"
_VARINT_BYTES = 10
_WATCHED = 1024
# Bytes read at a time: what a damaged length claims takes no memory before it is there.
_PIECE = 2**16


@dataclass(frozen=True, slots=True)
class FramedMessage:
    """One message of a file: its number from 1 on, the byte at which its length stands, unpacked, and its content."""

    number: int
    offset: int
    data: bytes

    @property
    def place(self) -> str:
        """The position of the message, as errors name it."""
        return f"message {self.number} (byte {self.offset})"


def read_messages(path: Path, watch: Callable[[int], None] | None = None) -> Iterator[FramedMessage]:
    """Yield the messages of a file, one in memory at a time.

    The first two bytes say whether the file is gzipped. `watch` is called now and then with the bytes of the file that
    have been read. Raises `InputError` if the file cannot be read, ends inside a message, is damaged as gzip goes, or
    has a message that claims more than `MAX_MESSAGE_BYTES` bytes or more than the file has left, or one behind the
    first that is empty, which no node is.
    """
    with ExitStack() as files:
        try:
            file = files.enter_context(io.BufferedReader(opened(path)))  # type: ignore[type-var]  # it is a raw one
            head = file.peek(2)[:2]
            status = os.fstat(file.fileno())
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            raise unusable(path, "read", error) from None
        packed = head == GZIP
        stream = files.enter_context(gzip.GzipFile(fileobj=file)) if packed else file
        size = None if packed else status.st_size
        number = offset = 0
        while True:
            number += 1
            reader = _Reader(stream, path, number, offset)
            length, digits = reader.length()
            if not digits:
                return
            if length == 0 and number > 1:
                reader.refuse("is empty; every node has a type. The trace is damaged, or this is none")
            start = offset + digits
            reader.check(length, None if size is None else size - start)
            yield FramedMessage(number, offset, reader.take(length))
            offset = start + length
            if watch is not None and number % _WATCHED == 0:
                watch(file.tell())


def split_messages(data: bytes) -> list[bytes] | None:
    r"""Return the messages of a whole file that is not gzipped; None where `read_messages` refuses one, or the file.

    >>> split_messages(b"\x00\x02ab\x01c")
    [b'', b'ab', b'c']
    """
    found, at, end = list[bytes](), 0, len(data)
    while at < end:
        length = data[at]
        at += 1
        if length > 0x7F:  # noqa: PLR2004 - the bit that says more bytes follow
            length &= 0x7F
            for shift in range(7, 7 * _VARINT_BYTES, 7):
                if at == end:
                    return None
                length |= (data[at] & 0x7F) << shift
                at += 1
                if data[at - 1] < 0x80:  # noqa: PLR2004 - see above
                    break
            else:
                return None
        if at + length > end or length > MAX_MESSAGE_BYTES or (length == 0 and found):
            return None
        found.append(data[at : at + length])
        at += length
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one message, and says where it is if it cannot."""

    stream: BufferedIOBase
    path: Path
    number: int
    offset: int

    def length(self) -> tuple[int, int]:
        """Return the length of the message and how many bytes say it; none do at the end of the file."""
        length = 0
        for digits in range(_VARINT_BYTES):
            byte = self._read(1)
            if not byte and digits:
                self.refuse("the file ends inside the length of this message; it is truncated")
            if not byte:
                return 0, 0
            length |= (byte[0] & 0x7F) << 7 * digits
            if byte[0] < 0x80:  # noqa: PLR2004 - the bit that says more bytes follow
                return length, digits + 1
        return self.refuse(f"its length has more than {_VARINT_BYTES} bytes; this is no trace, or it is damaged")

    def check(self, length: int, left: int | None) -> None:
        """Refuse a message that is too long; `left` is what the file has left, where that is known."""
        if left is not None and length > left:
            self.refuse(f"its length is {length} bytes, the file has {left} left; it is truncated, or it is no trace")
        if length > MAX_MESSAGE_BYTES:
            self.refuse(
                f"its length is {length} bytes, at most {MAX_MESSAGE_BYTES} are read; it is damaged, or no trace"
            )

    def take(self, length: int) -> bytes:
        """Return the message."""
        pieces, left = list[bytes](), length
        while left and (piece := self._read(min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
        data = b"".join(pieces)
        if left:
            self.refuse(f"its length is {length} bytes, the file has {len(data)} left; it is truncated")
        return data

    def _read(self, count: int) -> bytes:
        try:
            return self.stream.read(count)
        except EOFError:
            self.refuse("the gzipped file ends here; it is truncated")
        except (OSError, zlib.error) as error:
            self.refuse(f"the file cannot be read on: {str(error).lower()}")

    def refuse(self, message: str) -> NoReturn:
        """Raise the error that this message has a mistake."""
        place = FramedMessage(self.number, self.offset, b"").place
        raise InputError(Mistake(message, str(self.path), key=place)) from None
