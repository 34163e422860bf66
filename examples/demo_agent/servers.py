"""Two real MCP servers over stdio, and the small repository that one of them serves."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TextIO

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from toolwitness import ToolDefinition
from toolwitness.model.enums import PrivacyClass, SideEffect

_PATIENCE_S = 60
_COMMITS = (
    ("Add the price list", "prices.txt", "lamp 44.95\nbulb 4.50\n"),
    ("Correct the price of the lamp", "prices.txt", "lamp 42.95\nbulb 4.50\n"),
    ("Say how returns work", "returns.txt", "Returns are free for 30 days.\n"),
    ("Allow 60 days for returns", "returns.txt", "Returns are free for 60 days.\n"),
)


def make_repository(folder: Path) -> None:
    """A repository with four commits, the same every time, whatever the user's own git settings are."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments: str, at: str = "") -> None:
        dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {}
        command = ["git", "-C", str(folder), *arguments]
        subprocess.run(command, check=True, capture_output=True, env={**environment, **dates})  # noqa: S603 -- git alone

    git("init", "--quiet", "--initial-branch=main")
    git("config", "user.name", "Demo Desk")
    git("config", "user.email", "desk@example.com")
    for day, (message, name, text) in enumerate(_COMMITS, start=1):
        (folder / name).write_text(text, encoding="utf-8")
        git("add", name)
        git("commit", "--quiet", "-m", message, at=f"2026-01-{day:02}T09:00:00+0000")
    (folder / "returns.txt").write_text("Returns are free for 90 days.\n", encoding="utf-8")


def _definition(server: str, tool: Any) -> ToolDefinition:
    hints = tool.annotations
    effect = SideEffect.UNKNOWN
    if hints is not None and hints.read_only_hint:
        effect = SideEffect.READ
    elif hints is not None:
        effect = SideEffect.DESTRUCTIVE if hints.destructive_hint else SideEffect.WRITE
    return ToolDefinition(
        server=server,
        name=tool.name,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=None if hints is None else hints.model_dump(by_alias=True, exclude_none=True),
        side_effect=effect,
        classes={"args": PrivacyClass.INTERNAL, "result": PrivacyClass.INTERNAL},
    )


class Servers:
    """The connected servers, by name, and what they offer, by `server/tool`."""

    def __init__(self) -> None:
        self.definitions: dict[str, ToolDefinition] = {}
        self._clients: dict[str, Client] = {}

    async def add(self, name: str, client: Client) -> None:
        """Take in a server and list its tools."""
        self._clients[name] = client
        for tool in (await client.list_tools()).tools:
            self.definitions[f"{name}/{tool.name}"] = _definition(name, tool)

    async def call(self, server: str, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """The answer's text, and whether the tool reports an error in it."""
        answer = await self._clients[server].call_tool(tool, arguments)
        return "".join(part.text for part in answer.content if part.type == "text"), bool(answer.is_error)


@contextmanager
def _workplace() -> Iterator[tuple[str, TextIO]]:
    """A folder with the repository, and somewhere for what the servers log."""
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        make_repository(Path(folder))
        yield folder, nowhere


@asynccontextmanager
async def connect() -> AsyncIterator[Servers]:
    """Start both servers, and stop them at the end."""
    with _workplace() as (folder, nowhere):

        def client(*arguments: str) -> Client:
            parameters = StdioServerParameters(command=sys.executable, args=["-m", *arguments], cwd=folder)
            return Client(stdio_client(parameters, errlog=nowhere), read_timeout_seconds=_PATIENCE_S)

        git, time = client("mcp_server_git", "--repository", folder), client("mcp_server_time", "--local-timezone", "UTC")
        async with git, time:
            servers = Servers()
            await servers.add("git", git)
            await servers.add("time", time)
            yield servers
