"""A hand-written loop whose tools ask an HTTP service, by each client, before they do what they do."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import httpx2
import requests

import toolwitness
from toolwitness.tests.fakes.agents import openai_chat

INSTRUMENTATION = "httpx"
MODES = ("httpx", "httpx-async", "httpx2", "requests", "threads")
_NOBODY = "http://127.0.0.1:9"


def run(url, script, orders, mode="httpx"):
    """Ask about orders; gives the final text."""
    return openai_chat.run(url, script, _Shop(url, orders, mode))


class _Shop:
    """The order service behind HTTP; at the flaky lookup's first try nobody listens."""

    def __init__(self, url, orders, mode):
        self._url, self._orders, self._mode = url, orders, mode

    def __getattr__(self, name):
        do = getattr(self._orders, name)

        def ask(**arguments):
            absent = name == "flaky_lookup" and not self._orders.ledger
            asked = _ASK[self._mode](f"{_NOBODY if absent else self._url}/shop/{name}", arguments)
            return do(**arguments), asked.status_code, asked.text

        return toolwitness.tool(ask, name=name)


async def _aask(url, arguments):
    async with httpx.AsyncClient() as client:
        return await client.post(url, json=arguments, headers={"x-desk": "7"})


def _in_pool(url, arguments):
    with ThreadPoolExecutor(1) as pool:
        first, second = (pool.submit(requests.post, f"{url}/{part}", json=arguments) for part in ("a", "b"))
        return first.result() or second.result()


_ASK = {
    "httpx": lambda url, arguments: httpx.post(url, json=arguments, headers={"x-desk": "7"}),
    "httpx-async": lambda url, arguments: asyncio.run(_aask(url, arguments)),
    "httpx2": lambda url, arguments: httpx2.post(url, json=arguments, auth=("desk", "key")),
    "requests": lambda url, arguments: requests.post(url, data=iter([str(arguments).encode()]), timeout=20),
    "threads": _in_pool,
}
