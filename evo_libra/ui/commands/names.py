"""The names of all commands, the modules that they are in, and their first lines, without importing any of them."""

from __future__ import annotations

SUMMARY = "Find Pareto-optimal networks for distributed AI training."

COMMANDS = {
    "bench": (
        "bench",
        "Compare engines on a problem: quality of their fronts over several seeds, and their speed.",
    ),
    "catalog": (
        "catalog",
        "List what problem files can name: catalogues with prices, accelerators, models, blocks, problems, engines.",
    ),
    "certify": ("certify", "Prove how far the front of a result is from optimal."),
    "compare": (
        "compare",
        "Compare the fronts of runs; those that differ in their seeds alone are taken together.",
    ),
    "evaluate": ("evaluate", "Evaluate one design: its time and cost, and where they come from."),
    "export": (
        "export",
        "Write a design with its workloads for ASTRA-sim, and predict to the nanosecond what it will say.",
    ),
    "front": ("front", "Show the front of a result."),
    "import": (
        "import_cluster",
        "Read a cluster of ASTRA-sim: its design in the notation, and the time of a problem file.",
    ),
    "init": ("init", "Write a commented problem file to start from."),
    "optimize": (
        "optimize",
        "Find the best bandwidths of one network, exactly, with a proof and what holds them back.",
    ),
    "plan": (
        "run",
        "Show the runs of an experiment, what is there of them, and how long the rest will take.",
    ),
    "prices": (
        "prices",
        "Look at the front of a result under uncertain prices of parts: what it costs, who is still on the front.",
    ),
    "reproduce": ("results", "Do a run again and compare the fronts; exit code 1 when they differ."),
    "rescore": (
        "rescore",
        "Look at the front of a result under another model of time: who moves, who is still on the front.",
    ),
    "results": ("results", "List runs: what they are, how far they are, what they found."),
    "run": (
        "run",
        (
            "Run an experiment; what is done already is skipped, what was begun goes on."
            " Exit code 3: some runs have failed."
        ),
    ),
    "schema": ("init", "Print the JSON Schema of problem files or experiment files, for editors."),
    "search": ("search", "Search a problem for its Pareto front and keep it in a folder of results."),
    "show": ("results", "Show what a run came from: problem, seed, versions, git state, machine, times."),
    "ui": (
        "ui",
        "Watch and steer runs in the terminal: live fronts, queue, designs. Leaving it stops nothing.",
    ),
    "workload": ("workload", "Look at execution traces of workloads."),
}
"""Name of a command -> the module of this package that it is in, and what it does: its docstring's first line."""

FLAGS = {
    "--help, -h": "Display this message and exit.",
    "--install-completion": "Install shell completion for this application.",
    "--version": "Display application version.",
}
"""What the program understands besides commands."""
