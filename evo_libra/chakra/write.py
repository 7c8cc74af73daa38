"""Traces to files, in schema 0.0.4."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterable
from contextlib import ExitStack
from io import BufferedIOBase
from pathlib import Path
from typing import Any

from evo_libra.errors import InputError, Mistake
from evo_libra.chakra.schema import OLDER_SCALARS, TODAY, messages
from evo_libra.chakra.trace import Attribute, Metadata, Node, Tensors


def write_trace(path: Path, metadata: Metadata, nodes: Iterable[Node]) -> None:
    """Write a trace of schema 0.0.4, so that it is there whole or not at all.

    What `read.read_nodes` gives of a trace of 0.0.4 becomes the bytes that it was read from. The same nodes always
    become the same bytes, gzipped too.

    Parameters
    ----------
    path : of the file; a name that ends in ``.gz`` makes it gzipped, which ASTRA-sim's own reader does not take.
    metadata : what comes first; a version that names an older schema is written as 0.0.4.
    nodes : one at a time is enough.

    Raises
    ------
    InputError : the file cannot be written.
    """
    try:
        temporary = path.with_name(f".tmp-{uuid.uuid4().hex}.et")
        try:
            with ExitStack() as opened:
                file = opened.enter_context(temporary.open("xb"))
                packed = path.name.endswith(".gz")
                # Neither the name nor the time: the same nodes become the same bytes.
                stream = opened.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0)) if packed else file
                _write(stream, metadata, nodes)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(Mistake(f"cannot be written: {(error.strerror or str(error)).lower()}", str(path))) from None


def _write(file: BufferedIOBase, metadata: Metadata, nodes: Iterable[Node]) -> None:
    file.write(framed(encode_metadata(metadata)))
    file.writelines(framed(encode_node(node)) for node in nodes)


def framed(message: bytes) -> bytes:
    r"""Return a message with its length before it.

    >>> framed(bytes(300))[:3]
    b'\xac\x02\x00'
    """
    digits, left = bytearray(), len(message)
    while left > 0x7F:  # noqa: PLR2004 - what seven bits hold
        digits.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*digits, left)) + message


def encode_metadata(metadata: Metadata) -> bytes:
    """Return the message of a trace's metadata."""
    version = TODAY if metadata.version in OLDER_SCALARS else metadata.version
    message = messages(TODAY).metadata(version=version)
    for name, attribute in metadata.attributes.items():
        _add_attribute(message.attr, name, attribute)
    return bytes(message.SerializeToString())


def encode_node(node: Node) -> bytes:
    """Return the message of a node."""
    message = messages(TODAY).node(
        id=node.id,
        name=node.name,
        type=node.kind.value,
        ctrl_deps=node.control,
        data_deps=node.data,
        start_time_micros=node.start,
        duration_micros=node.duration,
        inputs=_tensors(node.inputs),
        outputs=_tensors(node.outputs),
    )
    for name, attribute in node.attributes.items():
        _add_attribute(message.attr, name, attribute)
    return bytes(message.SerializeToString())


def _tensors(tensors: Tensors | None) -> dict[str, str] | None:
    return None if tensors is None else {"values": tensors.values, "shapes": tensors.shapes, "types": tensors.types}


def _add_attribute(attributes: Any, name: str, attribute: Attribute) -> None:  # noqa: ANN401 - messages of protobuf
    message = attributes.add(name=name, doc_string=attribute.doc)
    if attribute.type.endswith("_list"):
        values = getattr(message, attribute.type)
        values.SetInParent()  # an empty list is a value, too
        values.values.extend(attribute.value)
    elif attribute.type:
        setattr(message, attribute.type, attribute.value)
