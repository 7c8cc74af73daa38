"""Checks that any reader or writer must pass; for the tests of this package and of other people's.

In a test of your own: ``assert faults(MY_READER) == []``.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from evo_libra.errors import InputError
from evo_libra.exchange.formats import Chosen, Reader, Writer
from evo_libra.files.source import parse_source

_PIECES = ("", "0", "-1", "null", "true", "[]", "{}", '"', "1e999", "x", "\n", ":", "--", "$", "9" * 30, "auto", "1.5")


def mutations(text: str, count: int, seed: int = 0) -> Iterator[str]:
    """Yield texts that differ from one in a few places: words replaced, lines twice or gone, bytes turned."""
    chosen = random.Random(seed)  # noqa: S311 - mutations are no secret
    for _ in range(count):
        found = text
        for _ in range(chosen.randint(1, 3)):
            start = chosen.randrange(len(found) + 1)
            end = min(start + chosen.choice((0, 1, 1, 3, 8, 40)), len(found))
            piece = chosen.choice((*_PIECES, chr(chosen.randrange(1, 0x250)), found[end : end + 20]))
            found = found[:start] + piece + found[end:]
        yield found


_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    0.5,
    10**30,
    -1e300,
    float("nan"),
    float("inf"),
    "",
    "x",
    "auto",
    [],
    {},
    [1],
    {"x": {}},
)


def structural_mutations(text: str, count: int, seed: int = 0) -> Iterator[str]:
    """Yield texts of JSON that differ from one of JSON or YAML in kinds: values replaced, nested, moved, gone."""
    data, chosen = parse_source(text, "sample").data, random.Random(seed)  # noqa: S311 - likewise
    for _ in range(count):
        found = copy.deepcopy(data)
        for _ in range(chosen.randint(1, 3)):
            parent, key = chosen.choice(list(_places(found)) or [([found], 0)])
            action = chosen.choice(("gone", "nested", "listed", "moved", "replaced", "replaced"))
            if action == "gone":
                del parent[key]
            elif action == "moved" and isinstance(found, dict):
                found[str(key)] = copy.deepcopy(parent[key])
            elif action in ("nested", "listed"):
                parent[key] = {str(key): parent[key]} if action == "nested" else [parent[key]]
            else:
                parent[key] = copy.deepcopy(chosen.choice(_VALUES))
        yield json.dumps(found)


def _places(data: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - data of a file
    """Yield every value of data as what it is in, and its key there."""
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        yield data, key
        yield from _places(data[key])


def faults(reader: Reader, count: int = 100) -> list[str]:
    """Return the faults of a reader on its samples and on some mutations of each, one sentence per fault."""
    found = [] if reader.samples else [f"{reader.name} has no samples"]
    parse = reader.parse or parse_source
    for place, sample in enumerate(reader.samples):
        who = f"sample {place} of {reader.name}"
        try:
            source = parse(sample, "sample")
            if not reader.recognise(source):
                found.append(f"{who} is not recognised")
            reader.read(source)
        except InputError as error:
            found.append(f"{who} is refused: {error}")
        several = [mutations(sample, count, place)]
        several += [structural_mutations(sample, count, place)] if reader.parse is None else []
        found += [f"{who}: {fault}" for text in chain(*several) if (fault := _fault(reader, text))]
    return found


def _fault(reader: Reader, text: str) -> str:
    """Return what goes wrong with a text that may be wrong itself."""
    try:
        source = (reader.parse or parse_source)(text, "sample")
        if reader.recognise(source):
            reader.read(source)
    except InputError as error:
        if any("sample" not in (mistake.file, *mistake.message.split()) for mistake in error.mistakes):
            return f"the error names no file: {error}"
    except Exception as error:  # noqa: BLE001 - the fault that is looked for
        return f"{type(error).__name__} of {text!r:.200}: {error}"
    return ""


def faults_of_writer(writer: Writer, designs: Iterable[Chosen]) -> list[str]:
    """Return what is wrong with a writer, a sentence each: every design is written, always alike, or refused."""
    found: list[str] = []
    written = 0
    for chosen in designs:
        who = f"{writer.name} of {chosen.problem.name}"
        try:
            first, again = writer.write(chosen), writer.write(chosen)
        except InputError as error:
            found += [f"{who} is refused in more than a sentence"] if "\n" in str(error) else []
            continue
        except Exception as error:  # noqa: BLE001 - the fault that is looked for
            found.append(f"{who}: {type(error).__name__}: {error}")
            continue
        written += 1
        found += [] if first.content else [f"{who} is empty"]
        found += [] if first == again else [f"{who} differs when it is written again"]
        found += [f"{who} leaves out more than a line" for sentence in first.left if "\n" in sentence]
    return found if written else [*found, f"{writer.name} writes none of the designs"]
