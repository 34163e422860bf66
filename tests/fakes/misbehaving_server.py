"""An HTTP server on loopback that does what networks do to tools; the path of a request says what becomes of it.

`/200`, `/202`, `/500`, `/502`: that status with a short body. `/redirect`: to `/200`, `/redirect-silent`: to `/silent`.
`/silent`: read, and never answered. `/reset`: read, and the connection reset. `/cut`: an answer that breaks off in its body.
`/slow`: answered after a moment. As a proxy it refuses tunnels, and does itself what the path says. It speaks no TLS. Two more
URLs are no server's: nobody listens at `refused`, nobody accepts at `full`.
"""

import contextlib
import socket
import socketserver
import struct
import threading

SLOW_S = 0.15
_TLS_HANDSHAKE = b"\x16"
_RESET = struct.pack("ii", 1, 0)


class MisbehavingServer(socketserver.ThreadingTCPServer):
    """Listens from the start; `paths` are those of the requests that were read whole."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.paths = []
        self.over = threading.Event()
        self._sockets = contextlib.ExitStack()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        with socket.create_server(("127.0.0.1", 0)) as closed:
            self.refused = f"http://127.0.0.1:{closed.getsockname()[1]}"
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def full(self):
        """A URL where connecting takes for ever: the queue of those that nobody accepts is full."""
        deaf = self._sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(2):
            waiting = self._sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(deaf.getsockname())
        return f"http://127.0.0.1:{deaf.getsockname()[1]}"

    def close(self):
        """Let every request go and stop."""
        self.over.set()
        self._sockets.close()
        self.shutdown()
        self.server_close()


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(ConnectionError, ValueError):  # what is no request ends the connection
            while self._one():
                pass

    def _one(self):
        """Handle one request; whether the connection goes on."""
        if self.rfile.peek(1)[:1] == _TLS_HANDSHAKE:
            return False
        line = self.rfile.readline()
        if not line:
            return False
        length = 0
        while (header := self.rfile.readline().strip()) != b"":
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        self.rfile.read(length)
        method, path = line.split()[:2]
        path = "/" + path.decode().rpartition("/")[2]
        self.server.paths.append(path)
        if method == b"CONNECT":
            return self._answer(403)
        return getattr(self, "_" + path[1:].replace("-", "_"), self._status)(path)

    def _answer(self, status, *headers, body=b"{}", length=None):
        head = [f"HTTP/1.1 {status} x", f"content-length: {len(body) if length is None else length}", *headers, "", ""]
        self.wfile.write("\r\n".join(head).encode() + body)
        return True

    def _status(self, path):
        return self._answer(int(path[1:]))

    def _redirect(self, _):
        return self._answer(307, "location: /200")

    def _redirect_silent(self, _):
        return self._answer(307, "location: /silent")

    def _silent(self, _):
        self.server.over.wait()
        return False

    def _slow(self, _):
        self.server.over.wait(SLOW_S)
        return self._answer(200)

    def _cut(self, _):
        self._answer(200, body=b"{", length=100)
        return False

    def _reset(self, _):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()
        return False
