"""The text workloads of ASTRA-sim 1.0.

The first line names the parallelism, the second the number of layers. Then there is one line per layer with twelve
columns: name, reserved, and for forward, input gradient and weight gradient each compute time (ns), collective and
bytes. The last column is the time of the weight update, which neither LIBRA's training loop nor this one counts.
"""

from __future__ import annotations

from pathlib import Path

from evo_libra.collective import Collective
from evo_libra.errors import InputError, Mistake, unknown
from evo_libra.files.integrity import opened
from evo_libra.files.yaml_reader import MAX_BYTES
from evo_libra.workload.layers.workload import Layer, Phase, Workload
from evo_libra.workload.parallelism import ALL

_COLLECTIVES = {
    "NONE": None,
    "ALLREDUCE": Collective.ALL_REDUCE,
    "ALLGATHER": Collective.ALL_GATHER,
    "REDUCESCATTER": Collective.REDUCE_SCATTER,
    "ALLTOALL": Collective.ALL_TO_ALL,
}
# Process group of the forward, input-gradient and weight-gradient collectives under each parallelism.
_GROUPS = {
    "DATA": (ALL, ALL, ALL),
    "MODEL": (ALL, ALL, ALL),
    "MICRO": (ALL, ALL, ALL),
    "HYBRID_DLRM": (ALL, ALL, ALL),
    "HYBRID_TRANSFORMER": ("tp", "tp", "dp"),
    "HYBRID_MODEL_DATA": ("tp", "tp", "dp"),
    "HYBRID_DATA_MODEL": ("tp", "tp", "dp"),
}
_COLUMNS = 12
_PHASE_COLUMNS = ((2, "forward"), (5, "input-gradient"), (8, "weight-gradient"))
_LARGEST = 2**63


def read_astra_sim_text(path: Path, name: str | None = None) -> Workload:
    """Read a workload file; the workload has the file's stem as its name when none is given.

    An InputError says that the file cannot be read, or names all its wrong lines.
    """
    try:
        with opened(path) as file:
            raw = file.read(MAX_BYTES + 1)
        text = raw.decode()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        other = "it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        reason = getattr(error, "strerror", None) or other
        raise InputError(Mistake(f"the workload cannot be read: {reason}", str(path))) from None
    if len(raw) > MAX_BYTES:
        raise InputError(Mistake(f"the workload is larger than {MAX_BYTES // 10**6} MB", str(path)))
    return parse_astra_sim_text(text, str(path), name or path.stem)


def parse_astra_sim_text(text: str, file: str, name: str) -> Workload:
    r"""Read a workload from text; errors call it by the name of its file, and name all wrong lines.

    >>> text = "DATA\n1\nconv -1 10 NONE 0 10 NONE 0 20 ALLREDUCE 1000 0"
    >>> parse_astra_sim_text(text, "example.txt", "example").layers[0].weight_gradient.size
    1000.0
    """
    # Lines are split one by one: a list for each of a million is more than the lines themselves.
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if len(lines) < 2:  # noqa: PLR2004 - the two head lines
        raise InputError(Mistake("a workload starts with a line for its parallelism and one for its layers", file))
    groups = _parse_parallelism(lines[0], file)
    _check_count(lines, file)
    mistakes: list[Mistake] = []
    layers = [_parse_layer(line, groups, file, mistakes) for line in lines[2:]]
    if mistakes:
        raise InputError(mistakes)
    return Workload(name, tuple(layer for layer in layers if layer))


def _parse_parallelism(line: tuple[int, str], file: str) -> tuple[str, str, str]:
    number, word = line[0], line[1].split()[0]
    if word not in _GROUPS:
        raise InputError(Mistake(unknown("parallelism", word, _GROUPS), file, number))
    return _GROUPS[word]


def _check_count(lines: list[tuple[int, str]], file: str) -> None:
    number, words = lines[1][0], lines[1][1].split()
    if len(words) != 1 or not words[0].isascii() or not words[0].isdigit() or int(words[0][:19]) == 0:
        raise InputError(
            Mistake(f"'{' '.join(words)}' is no number of layers; a whole number from 1 up is needed", file, number)
        )
    if words[0].lstrip("0") != str(len(lines) - 2):
        raise InputError(Mistake(f"{words[0]} layers are announced, but {len(lines) - 2} follow", file, number))


def _parse_layer(
    line: tuple[int, str], groups: tuple[str, str, str], file: str, mistakes: list[Mistake]
) -> Layer | None:
    number, words = line[0], line[1].split()
    before = len(mistakes)
    if len(words) != _COLUMNS:
        mistakes.append(Mistake(f"a layer has {_COLUMNS} columns, this line has {len(words)}", file, number))
        return None
    _number(words[11], "update time", (file, number), mistakes)
    phases = [
        _parse_phase(words[column : column + 3], label, group, (file, number), mistakes)
        for (column, label), group in zip(_PHASE_COLUMNS, groups, strict=True)
    ]
    return Layer(words[0], *phases) if len(mistakes) == before else None


def _parse_phase(words: list[str], label: str, group: str, place: tuple[str, int], mistakes: list[Mistake]) -> Phase:
    compute = _number(words[0], f"{label} compute time", place, mistakes)
    size = _number(words[2], f"{label} bytes", place, mistakes)
    if words[1] not in _COLLECTIVES:
        mistakes.append(Mistake(unknown(f"{label} collective", words[1], _COLLECTIVES), *place))
        return Phase(compute * 1e-9)
    collective = _COLLECTIVES[words[1]]
    if collective and not size:
        mistakes.append(Mistake(f"the {label} {words[1]} has 0 bytes; write NONE where there is no collective", *place))
    return Phase(compute * 1e-9, collective, float(size), group) if collective else Phase(compute * 1e-9)


def _number(word: str, label: str, place: tuple[str, int], mistakes: list[Mistake]) -> int:
    if word.isascii() and word.isdigit() and len(word) < 20 and int(word) < _LARGEST:  # noqa: PLR2004 - digits of 2^63
        return int(word)
    mistakes.append(Mistake(f"the {label} is '{word[:40]}'; a whole number from 0 to 2^63 - 1 is needed", *place))
    return 0
