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
        "List what can be used in a problem file: catalogues with their prices, blocks, models, problems, engines.",
    ),
    "certify": ("certify", "Prove how far the front of a result is from optimal."),
    "compare": (
        "compare",
        "Compare the fronts of runs; runs that differ only in their seeds form a group.",
    ),
    "evaluate": ("evaluate", "Evaluate one design: its time and cost, and where they come from."),
    "export": (
        "export",
        "Write a design with its workloads for ASTRA-sim, and predict its time there to the nanosecond.",
    ),
    "front": ("front", "Show the front of a result."),
    "import": (
        "import_cluster",
        "Read a cluster of ASTRA-sim as a design in the notation and the section `time` of a problem file.",
    ),
    "init": ("init", "Write a commented problem file to start from."),
    "optimize": (
        "optimize",
        "Find the best bandwidths of one network, exactly, with a proof and the limits that hold them back.",
    ),
    "plan": (
        "run",
        "Show the runs of an experiment, which of them are done, and how long the rest will take.",
    ),
    "prices": (
        "prices",
        "Look at the front of a result under uncertain prices of parts: what designs cost, which stay on the front.",
    ),
    "reproduce": ("results", "Repeat a run and compare the fronts; exit code 1 if they differ."),
    "rescore": (
        "rescore",
        "Look at the front of a result under another time model: which designs change rank, which stay on the front.",
    ),
    "results": ("results", "List runs: what they are, how far they are, what they found."),
    "run": (
        "run",
        ("Run an experiment: skip runs that are done, continue interrupted ones. Exit code 3: some runs have failed."),
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
