"""A hand-written loop that pays bills over a payment service, by one of three clients; the test plays the model."""

import asyncio
import contextlib
import ssl
from dataclasses import dataclass

import httpx
import requests

import toolwitness

IMPATIENT_S, PATIENT_S = 0.3, 20
SETTLE_AFTER_S = 30.0
_TLS = ssl.create_default_context()
"""Never used, and dear to make for every client."""
CLIENTS = ("httpx", "httpx-async", "requests")


@dataclass(frozen=True)
class Bill:
    """One payment that the model proposes; `instructions` are what the service is told to do with each try, None to be gone.

    `keyed`: each try carries the idempotency key of its call.
    """

    instructions: tuple
    keyed: bool = False

    def __str__(self):
        """Be the name of a test."""
        return "+".join(map(str, self.instructions))


class PayingAgent:
    """Pays bills; `references` are those of its logical calls, in the order of the bills.

    Its tool `raises` what its client raises, `tells` it as an error of its own, or `words` it as a text.
    """

    def __init__(self, service, client="httpx", manner="raises"):
        self.service, self.client = service, client
        self.references = []
        send = {"httpx": self._httpx, "httpx-async": self._httpx_async, "requests": self._requests}[client]
        caught = () if manner == "raises" else (httpx.HTTPError, requests.RequestException, ValueError)

        def pay(amount_cents: int) -> dict | str:
            """Pay a bill."""
            try:
                return send(amount_cents)
            except caught as error:
                return said(error)

        async def apay(amount_cents: int) -> dict | str:
            """Pay a bill."""
            try:
                return await send(amount_cents)
            except caught as error:
                return said(error)

        def said(error):
            return {"error": type(error).__name__} if manner == "tells" else f"The payment failed ({error})."

        self.pay = toolwitness.tool(
            apay if client == "httpx-async" else pay,
            name="pay",
            side_effect="write",
            owner="payments",
            settle_after=SETTLE_AFTER_S,
        )

    def run(self, bills):
        """Pay each of them in a call of its own, trying again what raised as long as there are instructions for it."""
        with toolwitness.run("pay the bills", id="run-1") as run:
            for number, bill in enumerate(bills):
                with toolwitness.decision("m", tools=[self.pay]) as step:
                    call = step.call("pay", {"amount_cents": 100 + number}, id=f"call_{number}")
                with call:
                    self.references.append(call.id)
                    self._try(bill, 100 + number)
            run.finish("unknown")

    def _try(self, bill, amount_cents):
        for told in bill.instructions:
            self.url = self.service.refused if told is None else self.service.url
            if told is not None:
                self.service.instructions.append(told)
            self.keyed, self.timeout_s = bill.keyed, IMPATIENT_S if told and told.answer == "silent" else PATIENT_S
            with contextlib.suppress(httpx.HTTPError, requests.RequestException, ValueError):
                paid = self.pay(amount_cents)
                paid = asyncio.run(paid) if self.client == "httpx-async" else paid
                if isinstance(paid, dict) and "error" not in paid:
                    return
            if told is not None:
                self.service.wait_for(self.references[-1])

    def _request(self, amount_cents):
        call = toolwitness.current_call()
        body = {"reference": call.id, "amount_cents": amount_cents}
        headers = {"Idempotency-Key": call.idempotency_key} if self.keyed else {}
        return {"url": self.url + "/payments", "json": body, "headers": headers, "timeout": self.timeout_s}

    def _httpx(self, amount_cents):
        with httpx.Client(trust_env=False, verify=_TLS) as client:
            return client.post(**self._request(amount_cents)).raise_for_status().json()

    async def _httpx_async(self, amount_cents):
        async with httpx.AsyncClient(trust_env=False, verify=_TLS) as client:
            return (await client.post(**self._request(amount_cents))).raise_for_status().json()

    def _requests(self, amount_cents):
        with requests.Session() as session:
            session.trust_env = False
            answer = session.post(**self._request(amount_cents))
            answer.raise_for_status()
            return answer.json()
