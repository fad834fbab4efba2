"""An instance on another machine, spoken to over TLS and with a token."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import os
import re
import ssl
from typing import Optional
from urllib.parse import urlsplit

from .errors import RamariaError

HINT = "hint: ramaria env --format remote, on the instance's machine, has the right RAMARIA_API and RAMARIA_TOKEN"

# How long a connection may take, in seconds. A call takes as long as the instance takes.
CONNECT_SECONDS = 15


class Remote:
    """Where an instance is, https://HOST:PORT#sha256=FINGERPRINT, and what shows who asks."""

    def __init__(self, where: str, token: Optional[str] = None) -> None:
        try:
            url = urlsplit(where)
            port = url.port
        except ValueError:
            raise RamariaError(f"find instance: RAMARIA_API is not a URL\n{HINT}") from None
        if url.scheme != "https":
            raise RamariaError(f"find instance: {url.scheme}: others on the way could read the token: only https is spoken\n{HINT}")
        if not url.hostname or not port or url.username is not None or url.path not in ("", "/") or url.query:
            raise RamariaError(f"find instance: it is not https://HOST:PORT#sha256=FINGERPRINT\n{HINT}")
        known = re.fullmatch(r"sha256=([0-9A-Fa-f]{64})", url.fragment)
        if known is None:
            raise RamariaError(f"find instance: the fingerprint is missing by which it is known, #sha256= and 64 hexadecimal digits\n{HINT}")
        self.host: str = url.hostname
        self.port: int = port
        self.fingerprint = bytes.fromhex(known.group(1))
        self.token = _token() if token is None else token
        if not re.fullmatch(r"[!-~]+", self.token):
            raise RamariaError(f"find instance: the token is missing, or is not one: RAMARIA_TOKEN, or the file RAMARIA_TOKEN_FILE\n{HINT}")


class RemoteConnection(http.client.HTTPSConnection):
    """HTTP over TLS with an instance that has shown the right certificate: before that nothing is sent."""

    def __init__(self, remote: Remote) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Nobody has signed the certificate: its fingerprint says whose it is.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        super().__init__(remote.host, remote.port, timeout=CONNECT_SECONDS, context=context)
        self._remote = remote

    def connect(self) -> None:
        super().connect()
        shown = self.sock.getpeercert(binary_form=True)
        if not shown or not hmac.compare_digest(hashlib.sha256(shown).digest(), self._remote.fingerprint):
            self.close()
            raise PermissionError(
                "its certificate has another fingerprint: it is another instance, or somebody is between it and you"
            )
        self.sock.settimeout(None)


def _token() -> str:
    token, path = os.environ.get("RAMARIA_TOKEN", ""), os.environ.get("RAMARIA_TOKEN_FILE")
    if not token and path:
        try:
            with open(path, encoding="ascii", errors="replace") as file:
                token = file.read()
        except OSError as error:
            raise RamariaError(f"find instance: read token: {error}") from error
    return token.strip()
