"""What any writer must meet, checked by asking it; for the tests of this package and of other people's writers.

In a test of your own: ``assert faults(MY_WRITER, [exported(load_problem("dense-4k"), DESIGN)]) == []``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evo_libra.errors import InputError
from evo_libra.exchange.registry import readers
from evo_libra.exchange.writer import Exported, Writer, Written
from evo_libra.files.source import parse_source


def faults(writer: Writer, designs: Sequence[Exported]) -> list[str]:
    """Return what is wrong with a writer, a sentence each, on some designs of which it has to write one at least."""
    found, written = [], 0
    for design in designs:
        who = f"{writer.name} of {design.notation}"
        try:
            first, again = writer.write(design), writer.write(design)
        except InputError as error:
            found += [f"{who}: the refusal is no one sentence: {error}"] if "\n" in str(error) else []
            continue
        except Exception as error:  # noqa: BLE001 - the fault that is looked for
            found.append(f"{who}: {type(error).__name__}: {error}")
            continue
        written += 1
        if first != again:
            found.append(f"{who} differs from one time to the next")
        found += [f"{who}: {fault}" for fault in _faults(writer, first)]
    return found if written else [*found, f"{writer.name} writes none of the designs"]


def _faults(writer: Writer, written: Written) -> Iterator[str]:
    content = written.content
    if isinstance(content, bytes) != writer.binary:
        yield f"the content is {type(content).__name__}, and the writer says binary={writer.binary}"
    if not content:
        yield "the content is empty"
    if isinstance(content, str) and not content.endswith("\n"):
        yield "the last line has no end"
    if any(not sentence or "\n" in sentence for sentence in written.unsaid):
        yield "what is left unsaid is no sentence"
    if writer.reader is not None and isinstance(content, str):
        yield from _read_back(writer.reader, content)


def _read_back(name: str, content: str) -> Iterator[str]:
    reader = readers()[name]
    try:
        source = (reader.parse or parse_source)(content, "written")
        if not reader.recognise(source):
            yield f"{name} does not recognise it"
            return
        reader.read(source)
    except InputError as error:
        yield f"{name} refuses it: {error}"
