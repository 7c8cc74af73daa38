"""The names of all commands and the help of the program, without importing a command.

To import the library that parses command lines takes longer than to answer.
"""

from __future__ import annotations

import os
import textwrap

from evo_libra.version import __version__

SUMMARY = "Find Pareto-optimal networks for distributed AI: what to order, or to make, to train and serve models."

COMMANDS = {
    "bench": ("bench", "Compare engines on a problem: quality of their fronts over several seeds, and their speed."),
    "catalog": (
        "catalog",
        "List what problem files can name: catalogues with prices, accelerators, models, blocks, problems, engines.",
    ),
    "certify": ("certify", "Prove how far the front of a result is from the best front of its space."),
    "compare": ("compare", "Compare the fronts of runs; runs that differ only in their seeds form a group."),
    "diff": (
        "diff",
        "Compare two designs: network, plan, where time and money go, and which one wins under which change.",
    ),
    "draw": ("draw", "Draw the network of a design or an order: its NPUs, switches and cables, tier by tier."),
    "evaluate": (
        "evaluate",
        "Evaluate one design: its time and cost, and where they come from; of a fabric its parts, paths and rates.",
    ),
    "explain": (
        "explain",
        "Explain a design: why nothing on its front beats it, its bottlenecks and slack, and what each step costs.",
    ),
    "export": (
        "export",
        "Write a design for another program: its plan, its bill, its devices, or all of it for ASTRA-sim.",
    ),
    "fit-npu": (
        "fit_npu",
        "Fit kernel constants of an accelerator to tables of measured kernels, for `npu` of a problem file.",
    ),
    "front": ("front", "Show the front of a result, or a part of it."),
    "import": (
        "import_files",
        "Read files of other programs as a problem file: models, launch scripts, servers, clusters of ASTRA-sim.",
    ),
    "init": (
        "init",
        "Write a commented problem file: which systems and network to buy for a model; asks for what no option says.",
    ),
    "mcp": (
        "mcp",
        "Serve the commands as tools for agents, over the Model Context Protocol on standard input and output.",
    ),
    "optimize": (
        "optimize",
        "Find the best bandwidths of one network under LIBRA's time, with a proof and the limits that hold them back.",
    ),
    "plan": ("plan", "Show the runs of an experiment, which of them are done, and how long the rest will take."),
    "prices": (
        "rescore",
        "Evaluate the front of a result under uncertain prices: costs of designs, and which stay on the front.",
    ),
    "recommend": (
        "recommend",
        "Say which design of a front to buy, what the next best costs and saves, and how certain that is.",
    ),
    "report": (
        "report",
        "Write results as one page of HTML that works offline: front, designs, pictures of networks, tables.",
    ),
    "reproduce": ("results", "Repeat a run and compare the fronts; exit code 1 if they differ."),
    "rescore": (
        "rescore",
        "Evaluate the front of a result under another time model: which designs change rank, which stay on the front.",
    ),
    "results": ("results", "List runs: what they are, how far they are, what they found."),
    "run": (
        "run",
        "Run an experiment: skip runs that are done, continue interrupted ones. Exit code 3: some runs have failed.",
    ),
    "schema": (
        "init",
        "Print the JSON Schema of problem files, of those that ask for an order or a fabric, or of experiment files.",
    ),
    "search": ("search", "Search a problem for its Pareto front and keep it in a folder of results."),
    "show": ("results", "Show what a run came from: problem, seed, versions, git state, machine, times."),
    "simulate": (
        "simulate",
        "Run ASTRA-sim's own input files: when each NPU finishes, operators, use of each dimension, quirks.",
    ),
    "ui": ("results", "Watch and steer runs in the terminal: live fronts, queue, designs. Leaving it stops nothing."),
    "validate": ("validate", "Compare what this program computes with what others have published or measured."),
    "workload": ("workload", "Look at execution traces of workloads, and write those of designs."),
}
"""Name of a command -> its module in this package, and what the command does: its docstring's first line."""

GROUPS = {
    "Ask": ("init", "import", "catalog", "fit-npu", "schema"),
    "Search": ("search", "run", "plan", "ui", "results", "show", "compare", "bench"),
    "Answer": ("recommend", "explain", "diff", "evaluate", "draw", "front", "report"),
    "Prove": ("certify", "optimize", "prices", "rescore", "validate", "reproduce"),
    "Hand over": ("export", "workload", "simulate", "mcp"),
}
"""Commands in the order of a user's way, from a question to what is handed on."""

EXAMPLES = {
    "evo-libra init mine.yaml": "write a question: model, systems, NPUs, budget",
    "evo-libra search mine.yaml": "find the front of time and cost",
    "evo-libra recommend last": "say which design to buy, and why",
}
"""The shortest way from a question to an answer."""

FLAGS = {
    "--help, -h": "Display this message and exit.",
    "--install-completion": "Install shell completion for this application.",
    "--version": "Display application version.",
}
"""Words of the program besides commands."""

_DEFAULT_COLUMNS = 80
_INDENT = 4


def columns() -> int:
    """Return the width of the terminal, or COLUMNS where output goes elsewhere; 80 where there is neither."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    for stream in (1, 2, 0):
        try:
            return os.get_terminal_size(stream).columns or _DEFAULT_COLUMNS
        except OSError:
            continue
    return _DEFAULT_COLUMNS


def laid_out(text: str, width: int) -> str:
    r"""Return a text with folded lines; the rest of an indented line is indented by four more.

    >>> print(laid_out("two words and more", 10), laid_out("  two: words and more", 14), sep="\n")
    two words
    and more
      two: words
          and more
    """
    return "\n".join(_folded(line, width) for line in text.split("\n"))


def _folded(line: str, width: int) -> str:
    indent = len(line) - len(line.lstrip())
    following = " " * (indent + _INDENT) if indent else ""
    return textwrap.fill(line, width, subsequent_indent=following, break_long_words=False, break_on_hyphens=False)


def answer(words: list[str]) -> str | None:
    """Return the help or the version, where a command line asks for one of them."""
    if not words or words[0] in ("--help", "-h"):
        return overview(columns())
    return __version__ if words == ["--version"] else None


def overview(width: int) -> str:
    """Return the help of the program, as wide as the terminal: an example, then its commands by `GROUPS`."""
    longest = max(map(len, EXAMPLES))
    examples = "\n".join(f"  {command:{longest}}   {what}" for command, what in EXAMPLES.items())
    sections = {group: {name: COMMANDS[name][1] for name in names} for group, names in GROUPS.items()}
    entries = "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name}: {text}" for name, text in texts.items())])
        for title, texts in {**sections, "Options": FLAGS}.items()
    )
    return laid_out(f"Usage: evo-libra COMMAND\n\n{SUMMARY}\n\n{examples}\n\n{entries}\n", width)
