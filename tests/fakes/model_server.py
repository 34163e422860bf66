"""A model server on loopback that speaks OpenAI's, Anthropic's and Google's protocols and plays a script.

A script is a list of turns; a turn is the final text, or a list of (tool, arguments as JSON text). Which turn is due is read
off the conversation: how many of this script's turns it has answered already. So the server keeps nothing but what it was sent,
and the same request gets the same bytes: ids are digests of the request.
"""

import contextlib
import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

J = json.dumps
SCRIPTS = {
    "parallel": [[("search_orders", J({"query": "blue lamp", "limit": 3})), ("get_weather", J({"city": "Berlin"}))],
                 "Found order A-17 (blue lamp); it is 7 degrees in Berlin."],
    "raises": [[("cancel_order", J({"order_id": "A-17", "reason": "duplicate"}))], "I could not cancel order A-17."],
    "timeout": [[("submit_refund", J({"order_id": "A-17", "amount_cents": 1250}))], "The refund may have gone through."],
    "badjson": [[("search_orders", '{"query": "blue lamp", "limit": ')],
                [("search_orders", J({"query": "blue lamp", "limit": 2}))], "Found order A-17."],
    "unknown": [[("delete_everything", J({"confirm": True}))],
                [("search_orders", J({"query": "blue lamp"}))], "Found order A-17."],
    "badargs": [[("search_orders", J({"query": "blue lamp", "limit": "lots", "colour": "blue"}))],
                [("search_orders", J({"query": "blue lamp", "limit": 2}))], "Found order A-17."],
    "flaky": [[("flaky_lookup", J({"key": "A-17"}))], "Lookup says shipped."],
    "http429": ["Hello after a retry."],
    "notool": ["No tool is needed: hello."],
    "odd": [[("get_weather", J({"city": "Berlin"}))], "I cannot say."],
    "approve": [[("submit_refund", J({"order_id": "A-17", "amount_cents": 1250}))], "Refunded."],
}  # fmt: skip
_TAG = re.compile(r"\[script:([a-z0-9]+)\]")
_ID = re.compile(r"(?:call|toolu)_([a-z0-9]+)_t(\d+)_")


@dataclass
class ModelServer:
    """What a running server was sent, in order, as (path, body, headers); `url` is where it listens."""

    url: str = ""
    requests: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    refused: set = field(default_factory=set)
    scripts: dict = field(default_factory=lambda: dict(SCRIPTS))
    gives_ids: bool = False  # Google's, which mostly does not

    def bodies(self):
        """The bodies as they came."""
        return [body for _, body, _ in self.requests]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: ModelServer

    def log_message(self, *_arguments):
        """Say nothing."""

    def _json(self, answer, status=200, headers=()):
        body = J(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _events(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in events:
            text = (f"event: {name}\n" if name else "") + f"data: {data if isinstance(data, str) else J(data)}\n\n"
            chunk = text.encode()
            self.wfile.write(b"%x\r\n" % len(chunk) + chunk + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def handle(self):
        """Serve a connection; a client may stop reading, and reset it, whenever it wants."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_POST(self):
        """Play the turn that is due."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        state, path = self.server_state, self.path.partition("?")[0]
        with state.lock:
            state.requests.append((path, raw, dict(self.headers)))
        body, text = json.loads(raw or b"{}"), raw.decode()
        tags, ids = _TAG.findall(text), _ID.findall(text)
        script = tags[-1] if tags else ids[-1][0] if ids else "notool"
        turns = state.scripts[script]
        done = max((int(turn) + 1 for name, turn in ids if name == script), default=0)
        if "generateContent" in path or "GenerateContent" in path:
            answers = {"functionResponse", "function_response"}
            done = sum(any(answers & part.keys() for part in one.get("parts", ())) for one in body.get("contents", ()))
        turn = turns[min(done, len(turns) - 1)]
        if script == "http429":
            with state.lock:
                first = raw not in state.refused
                state.refused.add(raw)
            if first:
                if "enerateContent" in path:
                    self._json({"error": {"code": 429, "message": "Rate limit reached", "status": "RESOURCE_EXHAUSTED"}}, 429)
                    return
                limit = {"error": {"message": "Rate limit reached", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}
                self._json(limit, 429, [("retry-after-ms", "5"), ("retry-after", "0")])
                return
        digest = hashlib.sha256(raw).hexdigest()
        calls = [] if isinstance(turn, str) else [
            (f"{script}_t{done}_{position}_{digest[:6]}", name, arguments) for position, (name, arguments) in enumerate(turn)
        ]  # fmt: skip
        said = turn if isinstance(turn, str) else None
        if path.endswith("/chat/completions"):
            self._chat(body, digest, said, calls)
        elif path.endswith("/responses"):
            self._responses(body, digest, said, calls)
        elif path.endswith("/messages"):
            self._messages(body, digest, said, calls)
        elif "enerateContent" in path:
            self._gemini(path, digest, said, calls)
        else:
            self._json({"error": {"message": f"no route {path}"}}, 404)

    def _chat(self, body, digest, said, calls):
        usage = {"prompt_tokens": 57, "completion_tokens": 19, "total_tokens": 76}
        message = {"role": "assistant", "content": said, "refusal": None}
        if calls:
            message["tool_calls"] = [
                {"id": f"call_{id_}", "type": "function", "function": {"name": name, "arguments": arguments}}
                for id_, name, arguments in calls
            ]
        finish = "tool_calls" if calls else "stop"
        base = {"id": f"chatcmpl-{digest[:12]}", "created": 1700000000, "model": body.get("model", "fake") + "-2026-01-01"}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
            self._json({**base, "object": "chat.completion", "choices": [choice], "usage": usage})
            return

        def chunk(delta, finish=None):
            choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
            return (None, {**base, "object": "chat.completion.chunk", "choices": choices})

        events = [chunk({"role": "assistant", "content": None if calls else ""})]
        events += [chunk({"content": word}) for word in re.findall(r"\S+\s*", said or "")]
        for position, (id_, name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": ""}
            events.append(
                chunk({"tool_calls": [{"index": position, "id": f"call_{id_}", "type": "function", "function": function}]})
            )
            for at in range(0, len(arguments), 7):
                part = {"index": position, "function": {"arguments": arguments[at : at + 7]}}
                events.append(chunk({"tool_calls": [part]}))
        events.append(chunk({}, finish))
        if (body.get("stream_options") or {}).get("include_usage"):
            events.append((None, {**base, "object": "chat.completion.chunk", "choices": [], "usage": usage}))
        self._events([*events, (None, "[DONE]")])

    def _responses(self, body, digest, said, calls):
        if calls:
            output = [
                {"type": "function_call", "id": f"fc_{id_}", "call_id": f"call_{id_}", "name": name, "arguments": arguments,
                 "status": "completed"}
                for id_, name, arguments in calls
            ]  # fmt: skip
        else:
            content = [{"type": "output_text", "text": said, "annotations": [], "logprobs": []}]
            output = [
                {"type": "message", "id": f"msg_{digest[:8]}", "status": "completed", "role": "assistant", "content": content}
            ]

        def response(status, output):
            usage = {"input_tokens": 57, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                     "output_tokens": 19, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 76}  # fmt: skip
            return {"id": f"resp_{digest[:16]}", "object": "response", "created_at": 1700000000, "status": status,
                    "error": None, "incomplete_details": None, "instructions": body.get("instructions"),
                    "max_output_tokens": None, "model": body.get("model", "fake") + "-2026-01-01", "output": output,
                    "parallel_tool_calls": True, "previous_response_id": body.get("previous_response_id"),
                    "reasoning": {"effort": None, "summary": None}, "store": True, "temperature": 1.0,
                    "text": {"format": {"type": "text"}}, "tool_choice": body.get("tool_choice", "auto"),
                    "tools": body.get("tools", []), "top_p": 1.0, "truncation": "disabled", "metadata": {}, "user": None,
                    "usage": usage if status == "completed" else None}  # fmt: skip

        if not body.get("stream"):
            self._json(response("completed", output))
            return
        events = []

        def add(kind, **fields):
            events.append((kind, {"type": kind, "sequence_number": len(events), **fields}))

        add("response.created", response=response("in_progress", []))
        for position, item in enumerate(output):
            at = {"output_index": position}
            if item["type"] == "message":
                add("response.output_item.added", item={**item, "status": "in_progress", "content": []}, **at)
                empty = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
                add("response.content_part.added", item_id=item["id"], content_index=0, part=empty, **at)
                for word in re.findall(r"\S+\s*", said):
                    add("response.output_text.delta", item_id=item["id"], content_index=0, delta=word, logprobs=[], **at)
                add("response.output_text.done", item_id=item["id"], content_index=0, text=said, logprobs=[], **at)
                add("response.content_part.done", item_id=item["id"], content_index=0, part=item["content"][0], **at)
            else:
                add("response.output_item.added", item={**item, "status": "in_progress", "arguments": ""}, **at)
                for start in range(0, len(item["arguments"]), 7):
                    part = item["arguments"][start : start + 7]
                    add("response.function_call_arguments.delta", item_id=item["id"], delta=part, **at)
                add("response.function_call_arguments.done", item_id=item["id"], arguments=item["arguments"],
                    name=item["name"], **at)  # fmt: skip
            add("response.output_item.done", item=item, **at)
        add("response.completed", response=response("completed", output))
        self._events(events)

    def _messages(self, body, digest, said, calls):
        content = [{"type": "text", "text": said if said is not None else "Let me look."}]
        raws = [None]
        for id_, name, arguments in calls:
            try:
                given = json.loads(arguments)
            except ValueError:
                given = {"__raw__": arguments}
            toolset, _, member = name.rpartition("/")
            of_toolset = {"toolset_name": toolset} if toolset else {}
            content.append({"type": "tool_use", "id": f"toolu_{id_}", "name": member, "input": given, **of_toolset})
            raws.append(arguments)
        stop = "tool_use" if calls else "end_turn"
        message = {"id": f"msg_{digest[:12]}", "type": "message", "role": "assistant", "model": body.get("model", "fake"),
                   "content": content, "stop_reason": stop, "stop_sequence": None,
                   "usage": {"input_tokens": 57, "output_tokens": 19}}  # fmt: skip
        if not body.get("stream"):
            self._json(message, headers=[("request-id", "req_fake")])
            return
        events = []

        def add(kind, **fields):
            events.append((kind, {"type": kind, **fields}))

        add(
            "message_start",
            message={**message, "content": [], "stop_reason": None, "usage": {"input_tokens": 57, "output_tokens": 1}},
        )
        for index, (block, raw) in enumerate(zip(content, raws, strict=True)):
            if raw is None:
                add("content_block_start", index=index, content_block={"type": "text", "text": ""})
                for word in re.findall(r"\S+\s*", block["text"]):
                    add("content_block_delta", index=index, delta={"type": "text_delta", "text": word})
            else:
                add("content_block_start", index=index, content_block={**block, "input": {}})
                for at in range(0, len(raw), 7):
                    add(
                        "content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": raw[at : at + 7]}
                    )
            add("content_block_stop", index=index)
        add("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 19})
        add("message_stop")
        self._events(events)

    def _gemini(self, path, digest, said, calls):
        parts, finish = [{"text": word} for word in re.findall(r"\S+\s*", said or "")], "STOP"
        try:
            ids = [{"id": id_} if self.server_state.gives_ids else {} for id_, _, _ in calls]
            functions = [{"name": name, "args": json.loads(arguments)} for _, name, arguments in calls]
            parts += [{"functionCall": {**function, **id_}} for function, id_ in zip(functions, ids, strict=True)]
        except ValueError:  # what is no JSON never leaves Google's server
            finish = "MALFORMED_FUNCTION_CALL"
        base = {"modelVersion": "fake-2026-01-01", "responseId": digest[:12],
                "usageMetadata": {"promptTokenCount": 57, "candidatesTokenCount": 19, "totalTokenCount": 76}}  # fmt: skip

        def answer(parts, finish=None):
            candidate = {
                "content": {"role": "model", "parts": parts},
                "index": 0,
                **({"finishReason": finish} if finish else {}),
            }
            return {"candidates": [candidate], **base}

        if "stream" in path:
            self._events([(None, answer([part])) for part in parts] + [(None, answer([{"text": ""}], finish))])
        else:
            self._json(answer([{"text": said}] if said else parts, finish))


def start_model_server():
    """Start one; gives the `ModelServer` and a function that stops it."""
    state = ModelServer()
    handler = type("Handler", (_Handler,), {"server_state": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"

    def stop():
        server.shutdown()
        server.server_close()
        thread.join()

    return state, stop
