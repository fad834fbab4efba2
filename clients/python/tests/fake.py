"""A stand-in for an instance's API, on a unix socket."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import socket
import socketserver
import threading


class FakeApi(socketserver.ThreadingUnixStreamServer):
    """Answers as an instance does, and remembers what it was asked."""

    daemon_threads = True

    def __init__(self, path: str) -> None:
        self.path = path
        self.asked: "list[tuple[str, str, object]]" = []
        self.templates: "set[str]" = set()
        self.leases = 0
        self.connections: "list[object]" = []
        super().__init__(path, Handler)

    def __enter__(self) -> FakeApi:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        if os.path.exists(self.path):
            os.unlink(self.path)

    def requests(self, method: str) -> "list[str]":
        return [path for asked, path, _ in self.asked if asked == method]

    def answer(self, method: str, path: str, body: dict) -> "tuple[int, object]":
        if (method, path) == ("POST", "/v1/templates"):
            name = body["name"] + "_" + body["key"][:10]
            if name in self.templates:
                return 200, {"state": "ready", "template": {"name": name}, "news": 1}
            return 200, {"state": "build", "template": {"name": name}, "database": database(name)}
        if method == "PUT":
            self.templates.add(path.split("/")[-1])
            return 200, {"name": path.split("/")[-1]}
        if (method, path) == ("POST", "/v1/databases"):
            self.leases += 1
            return 201, {**database(f"{body['template']}_{self.leases}"), "template": body["template"], "expires_at": "2030-01-01T00:00:00Z"}
        if path.endswith("/reset"):
            return 200, {"way": "noop", "micros": 1, "warnings": []}
        if path.endswith("/keep"):
            return 200, database("kept")
        if method == "DELETE":
            return 204, None
        return 404, {"error": {"code": "not_found", "message": f"no {path}", "hint": "ramaria db ls"}}


def database(name: str) -> dict:
    return {"name": name, "host": "127.0.0.1", "port": 1, "socket": "/none", "user": "u", "password": "secret", "url": f"mysql://u:secret@127.0.0.1:1/{name}"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server.connections.append(self.connection)

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *args: object) -> None:
        pass

    def serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        self.server.asked.append((self.command, self.path, body))
        status, answer = self.server.answer(self.command, self.path, body)
        data = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = serve
