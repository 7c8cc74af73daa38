"""The server of tools: searching, choosing, explaining and comparing designs, as commands do and with their JSON."""

from __future__ import annotations

from collections.abc import Mapping

from cyclopts import App
from mcp.server.mcpserver import MCPServer

from evo_libra.ui.agents.calls import Place
from evo_libra.ui.agents.tools import tool_of
from evo_libra.ui.tables.answers import answer_schemas
from evo_libra.version import __version__

INSTRUCTIONS = """Find Pareto-optimal networks for distributed AI: which systems, NICs, switches and cables to buy.
Way: `catalog` lists problems, accelerators and models; `init` or `import` writes a problem file; `search` finds the
front, and one that is cancelled keeps a checkpoint; `recommend` says which design to buy and why. `explain`, `diff` and
`evaluate` are about single designs, whose address is RESULT#ID such as last#12, last#knee, or PROBLEM#DESIGN. RESULT
`last` is the latest search. All paths are relative to the folder of the server. Money is in USD, and the unit of a
figure stands in its key."""

TOOLS = ("search", "recommend", "evaluate", "explain", "diff", "front", "catalog", "import", "init")
"""Commands that are tools."""


def server(place: Place, commands: Mapping[str, App]) -> MCPServer:
    """Return the server of the tools of a folder."""
    schemas = answer_schemas()
    tools = [tool_of(name, command, schemas[name], place) for name, command in commands.items()]
    return MCPServer(
        "evo-libra", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING", tools=tools
    )  # fmt: skip


def serve(place: Place, commands: Mapping[str, App]) -> None:
    """Serve over standard input and output until the client closes them."""
    server(place, commands).run("stdio")
