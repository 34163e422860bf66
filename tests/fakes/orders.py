"""The tools of the scripts that the model server plays, as plain functions, and their schemas.

`ledger` is what they did, in order, so that a test can compare what really ran.
"""


class PermissionDeniedError(Exception):
    """The order service said no."""


class Orders:
    """The order service; one object an agent's run. `odd` is what `get_weather` gives instead of the weather."""

    def __init__(self):
        self.ledger = []
        self.odd = None

    def search_orders(self, query: str, limit: int = 5) -> dict:
        """Search orders by words."""
        self.ledger.append(("search_orders", query, limit))
        return {"orders": [{"id": "A-17", "title": query, "total_cents": 129900}], "limit": limit}

    def get_weather(self, city: str) -> str:
        """Tell the weather of a city."""
        self.ledger.append(("get_weather", city))
        return f"7 degrees in {city}" if self.odd is None else self.odd

    def cancel_order(self, order_id: str, reason: str) -> str:
        """Cancel an order."""
        self.ledger.append(("cancel_order", order_id, reason))
        raise PermissionDeniedError("permission denied for order " + order_id)

    def submit_refund(self, order_id: str, amount_cents: int) -> str:
        """Refund an order."""
        self.ledger.append(("submit_refund", order_id, amount_cents))
        raise TimeoutError("payment gateway did not answer")

    def flaky_lookup(self, key: str) -> str:
        """Look something up; fails the first time."""
        self.ledger.append(("flaky_lookup", key))
        if sum(entry[0] == "flaky_lookup" for entry in self.ledger) == 1:
            raise ConnectionError("try again")
        return f"{key}: shipped"


NAMES = ("search_orders", "get_weather", "cancel_order", "submit_refund", "flaky_lookup")
_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}
_FIELDS = {
    "search_orders": ({"query": _STRING, "limit": _INTEGER}, ["query"]),
    "get_weather": ({"city": _STRING}, ["city"]),
    "cancel_order": ({"order_id": _STRING, "reason": _STRING}, ["order_id", "reason"]),
    "submit_refund": ({"order_id": _STRING, "amount_cents": _INTEGER}, ["order_id", "amount_cents"]),
    "flaky_lookup": ({"key": _STRING}, ["key"]),
}
SCHEMAS = {
    name: {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    for name, (properties, required) in _FIELDS.items()
}
OPENAI_TOOLS = [
    {"type": "function", "function": {"name": name, "description": getattr(Orders, name).__doc__, "parameters": schema}}
    for name, schema in SCHEMAS.items()
]
