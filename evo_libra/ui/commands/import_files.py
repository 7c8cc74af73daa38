"""Files of other programs, read as problem files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from evo_libra.errors import InputError
from evo_libra.ui.commands.shared import Json, app
from evo_libra.ui.tables.output import print, print_file, print_json

if TYPE_CHECKING:
    from evo_libra.exchange.problem_text import Made
    from evo_libra.ui.tables.answers import Import as Answer


@app.command(name="import")
def import_files(  # noqa: PLR0913 - options of a command
    *files: Path,
    file_format: Annotated[str | None, Parameter(name="--format")] = None,
    npus: int | None = None,
    npu: str | None = None,
    nodes: int | None = None,
    question: Literal["order", "design"] | None = None,
    network: Path | None = None,
    system: Path | None = None,
    traces: Path | None = None,
    groups: Path | None = None,
    problem: Path | None = None,
    as_json: Json = False,
) -> int:
    """Read files of other programs as a problem file: models, launch scripts, servers, clusters of ASTRA-sim.

    Parameters
    ----------
    files:
        Files that make one problem together, such as a config.json and DeepSpeed's JSON.
    file_format:
        Format of all files; when left out, each is recognised by its content.
    npus:
        Number of NPUs, where no file says it or another one is wanted.
    npu:
        Accelerator of the catalogue, likewise.
    nodes:
        Number of servers, where a file describes one.
    question:
        An order or a design; an order where systems with the accelerator are sold, and else a design, when left out.
    network:
        ASTRA-sim's network file.
    system:
        ASTRA-sim's system file.
    traces:
        Prefix of ASTRA-sim's traces, the workload of the problem.
    groups:
        ASTRA-sim's file of the communicator groups of the traces.
    problem:
        Problem file to write; of ASTRA-sim with the network pinned, and a catalogue next to it.
    """
    if network is not None and system is not None and not files:
        if any(option is not None for option in (file_format, npus, npu, nodes, question)):
            own = "--format, --npus, --npu, --nodes and --question"
            raise InputError(f"{own} belong to FILES; --network and --system say the rest")
        from evo_libra.ui.commands.export import import_cluster

        if groups is not None and traces is None:
            raise InputError("--groups belongs to --traces, whose collectives name them")
        import_cluster(network, system, problem, traces=traces, groups=groups, as_json=as_json)
        return 0
    if not files or any(option is not None for option in (network, system, traces, groups)):
        raise InputError("files are needed: FILES of other programs, or --network and --system of ASTRA-sim")
    _import_made(files, file_format, (npus, npu, nodes), problem, question=question, as_json=as_json)
    return 0


def _import_made(
    files: tuple[Path, ...],
    file_format: str | None,
    machine: tuple[int | None, str | None, int | None],
    problem: Path | None,
    *,
    question: Literal["order", "design"] | None,
    as_json: bool,
) -> None:
    from evo_libra.exchange.problem_text import made_of, problem_text
    from evo_libra.exchange.registry import read_text_as
    from evo_libra.files.source import parse_source, read_text
    from evo_libra.files.yaml_reader import MAX_BYTES
    from evo_libra.problem.file.load import problem_of
    from evo_libra.problem.question import question_of
    from evo_libra.ui.tables.problem_files import problem_name, write_problem

    found = {str(path): read_text_as(read_text(path, MAX_BYTES), str(path), file_format) for path in files}
    formats = {file: reader.name for file, (reader, _) in found.items()}
    drafts, name = {file: draft for file, (_, draft) in found.items()}, problem_name(problem or files[0])
    made = made_of(drafts, name, *machine, question=question)
    text = problem_text(made.data, _comments(formats, made))
    # Mistakes of the problem name the files that it is made of; the line is that of the problem.
    problem_of(parse_source(text, f"the problem of {', '.join(found)}"), Path())
    written = [] if problem is None else write_problem(problem, {problem: text})
    if as_json:
        answer: Answer = {
            "formats": formats, "question": question_of(made.data), "problem": dict(made.data),
            "made": list(made.summary), "assumed": list(made.assumed), "left_out": list(made.left),
            "written": [str(path) for path in written],
        }  # fmt: skip
        print_json(answer)
        return
    if not written:
        print_file(text)
        return
    print(f"asks for {made.asked}", *made.summary, sep="\n")
    for title, sentences in (("assumed:", made.assumed), ("left out:", made.left)):
        if sentences:
            print(title, *(f"- {sentence}" for sentence in sentences), sep="\n")
    for path in written:
        print(f"wrote {path}")


def _comments(formats: dict[str, str], made: Made) -> list[str]:
    return [
        *(f"From {file}, {name}." for file, name in formats.items()),
        f"Asks for {made.asked}.",
        *(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in made.summary),
        *(f"Assumed: {sentence}." for sentence in made.assumed),
        *(f"Left out: {sentence}." for sentence in made.left),
    ]
