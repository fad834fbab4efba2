"""The HTTP API of an instance, spoken over its unix socket, or over TLS with another machine."""

from __future__ import annotations

import collections
import http.client
import json
import os
import socket
import struct
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union
from urllib.parse import quote, urlencode

from .database import Database
from .errors import ApiError, NoInstance, RamariaError
from .process import PerProcess
from .remote import HINT, Remote, RemoteConnection

if TYPE_CHECKING:
    from .template import Template

# How many connections are kept that no call uses.
MAX_IDLE = 16


class Client:
    """Asks one instance, whose API is at the path `socket`, or on another machine.

    Then `socket` is https://HOST:PORT#sha256=FINGERPRINT, and `token`, or RAMARIA_TOKEN, or the file
    that RAMARIA_TOKEN_FILE names, shows who asks. Such a client leases databases, and may do little else.

    It may be used by several threads at once, and in a child that was forked. Connections are
    kept open between calls, which makes a reset cost what the server needs for it. A call
    takes as long as the instance takes. Its errors are ApiError where the instance answered,
    and NoInstance where none did.
    """

    def __init__(self, socket: str, *, token: Optional[str] = None) -> None:
        self.socket = socket
        self._remote = Remote(socket, token) if "://" in socket else None
        # A deque is safe to use by several threads without a lock.
        self._idle: PerProcess[collections.deque[http.client.HTTPConnection]] = PerProcess(lambda: collections.deque(maxlen=MAX_IDLE))
        self._ready: Dict[Template, str] = {}

    def __repr__(self) -> str:
        return f"ramaria.Client({self.socket!r})"

    @property
    def environ(self) -> Dict[str, str]:
        """The variables by which the program `ramaria` finds the same instance."""
        token = {} if self._remote is None else {"RAMARIA_TOKEN": self._remote.token}
        return {"RAMARIA_API": self.socket, **token}

    def status(self) -> Dict[str, Any]:
        """Tells how the instance is."""
        return self.call("GET", "/v1/status")

    def expect(self, environ: Mapping[str, str]) -> None:
        """Raises ApiError with the code `other` if the instance is not what the variables choose."""
        chosen = {key: environ.get(f"RAMARIA_{key.upper()}") for key in ("instance", "server")}
        query = urlencode({key: value for key, value in chosen.items() if value})
        if query:
            self.call("GET", f"/v1/status?{query}")

    def templates(self) -> List[Dict[str, Any]]:
        """Lists the templates."""
        return self.call("GET", "/v1/templates")

    def put_template(self, name: str) -> Dict[str, Any]:
        """Makes an existing database a template, takes one again, or finishes its build."""
        return self.call("PUT", _template_path(name))

    def delete_template(self, name: str) -> None:
        """Makes a template a database like any other, or gives up its build."""
        self.call("DELETE", _template_path(name))

    def ensure(self, template: Union[Template, str]) -> str:
        """Builds a template if it is not there yet, and returns the name of its database.

        Of several processes one builds, and the others wait. A string is such a name already.
        """
        if isinstance(template, str):
            return template
        if template not in self._ready:
            self._ready[template] = template.build(self)
        return self._ready[template]

    def database(
        self,
        template: Union[Template, str],
        *,
        name: Optional[str] = None,
        ttl: Optional[float] = None,
        wait: Optional[float] = None,
    ) -> Database:
        """Leases a clone of a template.

        It lives for `ttl` seconds (an hour) after its last reset. Where the pool is full the
        call waits its turn for `wait` seconds (a minute); then the error's code is `full`.
        """
        request = {"template": self.ensure(template), "name": name, "ttl_s": ttl, "wait_s": wait}
        given = {key: value for key, value in request.items() if value is not None}
        return Database(self, self.call("POST", "/v1/databases", given))

    def databases(self) -> List[Database]:
        """Lists the leases of everybody."""
        return [Database(self, fields) for fields in self.call("GET", "/v1/databases")]

    def pool(self, **limits: int) -> Dict[str, Any]:
        """Tells the limits of the pool, having set those that are given: max_databases, spare."""
        return self.call("PUT", "/v1/pool", limits) if limits else self.call("GET", "/v1/pool")

    def close(self) -> None:
        """Closes the connections that no call uses. The client can be used afterwards."""
        idle = self._idle.get()
        while idle:
            idle.pop().close()

    def call(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Any:
        """Makes one request, and returns the answer's JSON, or None."""
        data = None if body is None else json.dumps(body).encode()
        try:
            status, answer = self._exchange(method, path, data)
        except (OSError, http.client.HTTPException) as error:
            hint = HINT if self._remote is not None else "hint: ramaria ls shows what runs"
            raise NoInstance(f"ask the instance at {self.socket}: {error or type(error).__name__}\n{hint}") from error
        if 200 <= status < 300:
            return json.loads(answer) if answer else None
        raise _error_of(status, answer)

    def _exchange(self, method: str, path: str, data: Optional[bytes]) -> Any:
        connection = self._take()
        if connection is not None:
            try:
                return self._ask(connection, method, path, data)
            except http.client.RemoteDisconnected:
                raise  # the instance may have acted on the request
            except (ConnectionResetError, BrokenPipeError):
                if self._remote is not None:
                    raise  # of TCP that tells nothing of what was read
                # It ended without having read the request; another one may be there by now.
        return self._ask(self._connection(), method, path, data)

    def _connection(self) -> http.client.HTTPConnection:
        return _Connection(self.socket) if self._remote is None else RemoteConnection(self._remote)

    def _ask(self, connection: http.client.HTTPConnection, method: str, path: str, data: Optional[bytes]) -> Any:
        headers = {"Content-Type": "application/json"} if data is not None else {}
        if self._remote is not None:
            headers["Authorization"] = "Bearer " + self._remote.token
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()  # by which the instance learns that the call was given up
            raise
        if not response.will_close:
            self._idle.get().append(connection)
        return response.status, answer

    def _take(self) -> Optional[http.client.HTTPConnection]:
        """Takes the connection that was used last and on which nothing happened since."""
        idle = self._idle.get()
        while True:
            try:
                connection = idle.pop()
            except IndexError:
                return None
            if _quiet(connection):
                return connection
            connection.close()


class _Connection(http.client.HTTPConnection):
    """HTTP on a unix socket that the caller or root owns."""

    def __init__(self, path: str) -> None:
        super().__init__("ramaria")
        self._path = path

    def connect(self) -> None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(self._path)
            # Where any user can make a socket, another user may be listening on this one.
            peer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            owner = struct.unpack("3i", peer)[1]
            if owner not in (0, os.geteuid()):
                raise PermissionError(f"it belongs to user {owner}, and neither to you nor to root")
        except BaseException:
            sock.close()
            raise
        self.sock = sock


def _quiet(connection: http.client.HTTPConnection) -> bool:
    if connection.sock is None:
        return False
    try:
        # That of the plain socket: one with TLS looks at no byte without taking it.
        socket.socket.recv(connection.sock, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False  # it was closed, or something came unasked


def _error_of(status: int, answer: bytes) -> RamariaError:
    try:
        detail = json.loads(answer)["error"]
        return ApiError(status, detail["code"], detail["message"], detail.get("hint", ""))
    except (ValueError, LookupError, TypeError):
        return ApiError(status, "internal", f"ask the instance: status {status}, and no reason given: {answer[:200]!r}")


def _template_path(name: str) -> str:
    return "/v1/templates/" + quote(name, safe="")
