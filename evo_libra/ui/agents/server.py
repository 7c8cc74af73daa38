"""The server of tools: searching, choosing, explaining and comparing designs, as commands do and with their JSON."""

from __future__ import annotations

from typing import Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from evo_libra.errors import EvoLibraError
from evo_libra.ui.agents.calls import Place, Tell, call, command_line, thinned, without_code
from evo_libra.version import __version__

INSTRUCTIONS = """Find Pareto-optimal networks for distributed AI: which systems, NICs, switches and cables to buy.
Way: `catalog` lists problems, accelerators and models; `init` or `import` writes a problem file; `search` finds the
front; `recommend` says which design to buy and why. `explain`, `diff` and `evaluate` are about single designs, whose
address is RESULT#ID such as last#12, last#knee, or PROBLEM#DESIGN. All paths are relative to the folder of the server.
Money is in USD, and the unit of a figure stands in its key."""


class _Tools:
    """The tools of one folder."""

    def __init__(self, place: Place) -> None:
        self._place = place

    async def _run(self, words: list[str], tell: Tell | None = None, **names: str | None) -> dict[str, Any]:
        try:
            without_code(**names)
            return await call(self._place, words, tell)
        except EvoLibraError as error:
            raise ToolError(str(error)) from None

    async def search(
        self, problem: str, context: Context, evaluations: int | None = None, seed: int | None = None,
        settings: list[str] | None = None, rows: int = 20, *, resume: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """Search a problem for its Pareto front and keep it in the folder of results; cancelling keeps a checkpoint.

        problem: a problem file in the folder, or the name of a problem of the catalogue. evaluations: designs to
        evaluate. settings: KEY=VALUE that replace values of the file, such as npus=4096. rows: designs of the front to
        return, in even steps. resume: continue a search that was cancelled.
        """

        async def tell(done: int) -> None:
            await context.report_progress(done, evaluations, f"{done:,} designs evaluated")

        words = command_line("search", problem, evaluations=evaluations, seed=seed, set=settings, resume=resume)
        return thinned(await self._run(words, tell, problem=problem), rows)

    async def recommend(  # noqa: PLR0913 - those of the command
        self, result: str = "last", *, max_cost: str | None = None, max_power: str | None = None,
        max_time: str | None = None, deadline: str | None = None, rate: str | None = None, value: str | None = None,
        price: list[str] | None = None, power: str | None = None, fail: list[str] | None = None,
        npus: int | None = None, workload: list[str] | None = None, without: list[str] | None = None,
        seconds: float = 10.0,
    ) -> dict[str, Any]:  # fmt: skip
        """Say which design of a front to buy, what the next best costs and saves, and how certain that is.

        Limits: max_cost such as 300MUSD, max_power such as 2MW, max_time such as 5s, deadline such as 30d, rate such as
        5Mtoken/s or 20request/s. value: the price of time, such as 2USD/GPU-hour. Other assumptions: price such as
        switches=+30%, power such as 0.12USD/kWh, fail such as leaf, npus, workload such as tokens=2e13, without such as
        spectrum-x. seconds: for the proof; 0 for none.
        """
        limits = {"max_cost": max_cost, "max_power": max_power, "max_time": max_time, "deadline": deadline}
        what_if = {"price": price, "power": power, "fail": fail, "npus": npus, "workload": workload, "without": without}
        words = command_line("recommend", result, **limits, rate=rate, value=value, **what_if, seconds=str(seconds))
        return await self._run(words)

    async def evaluate(self, design: str, settings: list[str] | None = None) -> dict[str, Any]:
        """Evaluate one design: its time and cost, and where they come from.

        design: its address, RESULT#ID or PROBLEM#DESIGN. settings: KEY=VALUE that replace values of the file.
        """
        return await self._run(command_line("evaluate", design, set=settings), design=design)

    async def explain(self, design: str) -> dict[str, Any]:
        """Explain a design: why nothing on its front beats it, its bottlenecks and slack, and what each step costs."""
        return await self._run(command_line("explain", design), design=design)

    async def diff(self, first: str, second: str) -> dict[str, Any]:
        """Compare two designs: network, plan, where time and money go, and which one wins under which change."""
        return await self._run(command_line("diff", first, second), first=first, second=second)

    async def front(
        self, result: str = "last", where: str | None = None, sort: str | None = None, rows: int = 20
    ) -> dict[str, Any]:
        """Show the front of a result, or the part that fits a query.

        where: words that all hold, such as "time<5s order_cost<300MUSD tp>=8 system:gb* #3,7" (cost, of a front of
        designs). sort: a column, such as time; -time begins with the largest. rows: designs to return, in even steps.
        """
        return thinned(await self._run(command_line("front", result, where=where, sort=sort)), rows)

    async def catalog(self, name: str | None = None, part: str | None = None) -> dict[str, Any]:
        """List what problem files can name: catalogues, accelerators, models, blocks, problems, engines.

        name: a catalogue, an entry, or a kind such as accelerators, models or problems. part: of it, one kind or entry.
        Without a name, the names of everything.
        """
        return await self._run(command_line("catalog", *(one for one in (name, part) if one)))

    async def import_files(
        self, files: list[str], problem: str, npus: int | None = None, npu: str | None = None,
        question: Literal["order", "design"] | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Read files of other programs, such as a model's config.json, as a problem file.

        files: paths in the folder that make one problem together. problem: the file to write. npus, npu: number and
        accelerator. question: an order of systems that are sold, or a design.
        """
        words = command_line("import", *files, problem=problem, npus=npus, npu=npu, question=question)
        return await self._run(words)

    async def init(
        self, path: str = "problem.yaml", model: str | None = None, system: str | None = None, npus: int | None = None,
        budget: str | None = None, task: Literal["training", "serving"] = "training", tokens: float | None = None,
        batch: int | None = None, rate: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Write a commented problem file: which systems and network to buy for a model; a file that exists is kept.

        model: one of the catalogue, or a config.json in the folder. system: systems or accelerators to compare, such as
        gb300-nvl72,b200. npus: number of accelerators. budget: of the whole order, such as 300MUSD. tokens: to train.
        batch: sequences of a training step. rate: what serving must answer, such as 20request/s.
        """
        asked = {"model": model, "system": system, "npus": npus, "budget": budget, "task": task}
        words = command_line("init", path, **asked, tokens=tokens, batch=batch, rate=rate)
        return await self._run(words)


def server(place: Place) -> MCPServer:
    """Return the server of the tools of a folder."""
    made, tools = (
        MCPServer("evo-libra", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"),
        _Tools(place),
    )
    for tool in (
        tools.search, tools.recommend, tools.evaluate, tools.explain, tools.diff, tools.front, tools.catalog,
        tools.init,
    ):  # fmt: skip
        made.tool()(tool)
    made.tool(name="import")(tools.import_files)
    return made


def serve(place: Place) -> None:
    """Serve over standard input and output until the client closes them."""
    server(place).run("stdio")
