"""The tools for agents, driven by the protocol's own client over standard input and output."""

from __future__ import annotations

import asyncio
import inspect
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the tools for agents are not installed: pip install 'evo-libra[agents]'")

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import TypeAdapter

from evo_libra.errors import InputError
from evo_libra.ui.agents.calls import Place, command_line, thinned, without_code
from evo_libra.ui.agents.options import PRINTED, UNCONFINED
from evo_libra.ui.agents.server import TOOLS, server
from evo_libra.ui.commands.mcp import tool_commands
from evo_libra.ui.processes import program

jsonschema = pytest.importorskip("jsonschema", reason="it comes with the protocol's library")


def drive(folder: Path, what: Callable[[Client], Awaitable[None]]) -> None:
    """Do something with a client of a server of a folder."""
    command, *words = program(["mcp", str(folder)])

    async def body() -> None:
        started = StdioServerParameters(command=command, args=words, env={"PYTHONPATH": ":".join(sys.path)})
        async with Client(stdio_client(started)) as client:
            await what(client)

    asyncio.run(asyncio.wait_for(body(), 120))


async def answered(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    assert found.structured_content is not None
    (schema,) = (one.output_schema for one in (await client.list_tools()).tools if one.name == tool)
    assert schema is not None
    jsonschema.Draft202012Validator(schema).validate(found.structured_content)
    return dict(found.structured_content)


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    found = await client.call_tool(tool, arguments)
    assert found.is_error, found.structured_content
    return str(getattr(found.content[0], "text", ""))


@pytest.mark.slow
def test_a_question_is_answered_in_the_folder_and_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: 12345\n")
    (folder / "link.yaml").symlink_to(secret)

    async def ask(client: Client) -> None:
        listed = await client.list_tools()
        assert {tool.name for tool in listed.tools} == set(TOOLS)
        assert all(tool.description and tool.input_schema["type"] == "object" for tool in listed.tools)
        found = await answered(client, "search", problem="gpt3-4k", evaluations=500, rows=5)
        assert len(found["front"]) == 5 < found["designs"]
        assert "character 6 of 'time<<3'" in await refused(client, "front", result="last", where="time<<3")
        said = await refused(client, "search", problem="link.yaml", evaluations=1)
        assert "lies outside the folder of the server" in said
        assert "12345" not in said
        assert "names code" in await refused(client, "search", problem="os:getcwd")

    drive(folder, ask)


def manifest_of(folder: Path) -> str:
    return next(folder.glob("results/gpt3-4k/*/manifest.json")).read_text()


async def until(what: Callable[[], bool]) -> None:
    while not what():  # noqa: ASYNC110 - a file of another process tells no event
        await asyncio.sleep(0.1)


_TRIALS = """
import os, sys
from pathlib import Path
from evo_libra.ui.agents.confined import confine
confine(Path.cwd())
Path("inside").write_text("1")
for name, trial in {
    "read": lambda: open("../secret"),
    "link": lambda: open("link"), "write": lambda: open("../new", "w"),
    "program": lambda: open(os.__file__, "a"), "list": lambda: os.listdir(".."),
    "move": lambda: os.rename("inside", "../moved"),
    "remove": lambda: os.remove("../secret"), "folder": lambda: os.mkdir("../made"),
    "sibling": lambda: open("../work2/file"),
    "hidden": lambda: open("./sub/../../secret"), "linked": lambda: os.symlink("../secret", "../other"),
    "code": lambda: exec(compile("1", str(Path("inside").resolve()), "exec")),
}.items():
    try:
        trial()
    except PermissionError as error:
        assert "folder" in str(error), error
    else:
        print(name)
open(os.__file__).read(); os.listdir("."); os.rename("inside", "moved"); os.remove("moved")
print("end")
"""


def test_a_confined_process_reaches_no_file_outside_its_folder(tmp_path: Path) -> None:
    folder, secret = tmp_path / "work", tmp_path / "secret"
    for made in (folder / "sub", tmp_path / "work2", tmp_path / "temporary"):
        made.mkdir(parents=True)
    secret.write_text("12345")
    (tmp_path / "work2" / "file").write_text("12345")
    (folder / "link").symlink_to(secret)
    env = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-P", "-c", _TRIALS], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["end"], done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret", "temporary", "work", "work2"]


def test_names_of_code_are_refused_and_addresses_are_not() -> None:
    for name in ("gpt3-4k", "mine.yaml", "last#12", "mine.yaml#SW(8)@nvlink4:450", "results/a#2 x / 2:1"):
        without_code(problem=name)
    for name in ("os:getcwd", "a.b:c.d", "os:getcwd#1"):
        with pytest.raises(InputError, match="names code"):
            without_code(problem=name)


def test_a_front_is_thinned_to_both_ends() -> None:
    answer = {"front": list(range(100)), "question": "design"}
    assert thinned(answer, 4) == {"front": [0, 33, 66, 99], "designs": 100, "question": "design"}
    assert thinned({"front": [1, 2]}, 20) == {"front": [1, 2], "designs": 2}
    assert thinned({"front": []}, 20) == {"front": [], "designs": 0}
    assert thinned({"verdict": 1}, 20) == {"verdict": 1}


@pytest.mark.slow
def test_a_long_search_tells_its_progress_and_stops_when_it_is_cancelled(tmp_path: Path) -> None:
    async def ask(client: Client) -> None:
        told, begun = list[float](), asyncio.Event()

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            told.append(progress)
            assert message is not None
            assert total == 100_000_000
            begun.set()

        arguments = {"problem": "gpt3-4k", "evaluations": 100_000_000}
        task = asyncio.create_task(client.call_tool("search", arguments, progress_callback=hear))
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(until(lambda: '"interrupted"' in manifest_of(tmp_path)), 20)
        assert told == sorted(told)
        assert (await answered(client, "init", path="mine.yaml"))["problem"] == "mine.yaml"
        assert "question: order" in (tmp_path / "mine.yaml").read_text()
        await answered(client, "search", problem="gpt3-4k", evaluations=500)
        assert (await answered(client, "recommend", result="last", seconds=0))["verdict"]["text"].startswith("Buy #")
        assert (await answered(client, "explain", result="last#knee"))["design"]
        assert (await answered(client, "evaluate", problem="last#0"))["feasible"]
        assert await answered(client, "diff", first="last#0", second="last#1")
        assert await answered(client, "catalog", name="accelerators")

    drive(tmp_path, ask)


@cache
def own_server() -> MCPServer:
    return server(Place(Path(), Path()), tool_commands())


@cache
def input_schemas() -> dict[str, dict[str, Any]]:
    return {one.name: one.input_schema for one in asyncio.run(own_server().list_tools())}


def given_for(schema: dict[str, Any]) -> Any:
    """Return a value that fits the schema of a parameter and is not its default."""
    kinds = schema.get("anyOf", [schema])
    if named := kinds[0].get("enum", [kinds[0].get("const")])[-1]:
        return named
    return {"string": "a-b", "integer": 7, "number": 0.5, "boolean": True, "array": ["a=1", "b=2"]}[kinds[0]["type"]]


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_takes_the_options_of_its_command(name: str) -> None:
    found = input_schemas()[name]
    command = tool_commands()[name]
    listed = command.assemble_argument_collection(parse_docstring=True)
    options = {one.name.lstrip("-").replace("-", "_").lower(): one for one in listed}
    own = {"rows"} if name in ("search", "front") else set()
    assert found["properties"].keys() - own == options.keys() - PRINTED - UNCONFINED
    assert set(found.get("required", ())) == {key for key, one in options.items() if one.required}
    for key in found["properties"].keys() - own:
        told, option = found["properties"][key], options[key]
        kept = {part: value for part, value in told.items() if part not in ("title", "description", "default")}
        assert kept == TypeAdapter(option.hint).json_schema()
        assert told["description"].replace("`", "") == (option.parameter.help or "").replace("--", "").replace("`", "")
        if "default" in told:
            default = () if option.field_info.default is inspect.Parameter.empty else option.field_info.default
            assert told["default"] == TypeAdapter(Any).dump_python(default, mode="json")


@pytest.mark.parametrize("name", TOOLS)
def test_what_a_tool_is_given_reaches_its_command(name: str) -> None:
    properties = input_schemas()[name]["properties"]
    given = {key: given_for(schema) for key, schema in properties.items() if key not in ("rows", "files")}
    listed = ["-c.json", "d.json"] if "files" in properties else []
    command = tool_commands()[name]
    _, bound, _ = command.parse_args(command_line(name, listed, given)[1:], exit_on_error=False, print_error=False)
    taken = {key: comparable(value) for key, value in bound.arguments.items()}
    assert taken["as_json"] is True
    assert all(comparable(value) in taken.values() for value in given.values())
    assert taken.get("files", ()) == tuple(listed)


def comparable(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple(map(str, value))
    return str(value) if isinstance(value, Path) else value


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search", {"problem": "os:getcwd"}),
        ("search", {"problem": "gpt3-4k", "engine": "os:getcwd"}),
        ("evaluate", {"problem": "os:getcwd#1"}),
        ("explain", {"result": "last#1", "problem": "os:getcwd"}),
        ("diff", {"first": "last#1", "second": "os:getcwd#1"}),
    ],
)
def test_code_is_refused_whatever_parameter_names_it(tool: str, arguments: dict[str, str]) -> None:
    with pytest.raises(ToolError, match="names code, and tools run no code of a user"):
        asyncio.run(own_server().call_tool(tool, arguments))
