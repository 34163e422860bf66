"""A collector on loopback, for agents in processes of their own."""

import http.server
import threading

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector(http.server.ThreadingHTTPServer):
    """A loopback collector that answers as it is told and keeps what it got."""

    daemon_threads = True

    def __init__(self, status=200, delay=0.0):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.release = status, threading.Event()
        self.delay = delay
        self.headers_seen, self.scopes, self.spans = [], [], []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        """Its base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def names(self):
        """Names of the spans it got."""
        return [span.name for span in self.spans]


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.headers_seen.append(dict(self.headers))
        if self.server.delay:
            self.server.release.wait(self.server.delay)
        if self.server.status == 200:
            request = ExportTraceServiceRequest.FromString(body)
            groups = [group for resource in request.resource_spans for group in resource.scope_spans]
            self.server.scopes += [group.scope for group in groups]
            self.server.spans += [span for group in groups for span in group.spans]
        self.send_response(self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Stay quiet."""
