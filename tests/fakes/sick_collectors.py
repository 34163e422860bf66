"""Collectors on loopback that take no spans, each in its way."""

import socket
import threading
from contextlib import contextmanager


def silent(connection, over):
    """Take the request and say nothing for half a minute."""
    with connection:
        over.wait(30)


def erring(connection, _over):
    """Answer 500."""
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def breaking_off(connection, _over):
    """Announce a body and close in the middle of it."""
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")


SICK = {"dead": None, "slow": silent, "500": erring, "broken off": breaking_off}
"""What each does with a connection; nobody listens where that is None."""


@contextmanager
def sick_collector(name):
    """The URL of one; it answers until the end of `with`."""
    answer = SICK[name]
    if answer is None:
        yield "http://127.0.0.1:9"
        return
    server = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve():
        while not over.is_set():
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection, over), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}"
    over.set()
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(5)
