from __future__ import annotations

import contextlib
import os
import socket
import threading

import pytest

import ramaria
from ramaria import instance

PRINT = "ab" * 32


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def remote(tmp_path_factory):
    """Where an instance on another machine would be, and its token; it goes at the end."""
    if "RAMARIA_BIN" not in os.environ:
        pytest.skip("SKIPPED: RAMARIA_BIN does not name a ramaria to test with")
    name = f"python-remote-{os.getpid()}"
    instance.run("up", name, "--database", "shop", "--api-listen", f"127.0.0.1:{free_port()}")
    try:
        instance.run("template", "add", "shop", "-i", name)
        lines = instance.run("env", name, "--format", "remote").splitlines()
        found = dict(line[len("export ") :].replace("'", "").split("=", 1) for line in lines)
        yield found["RAMARIA_API"], found["RAMARIA_TOKEN"]
    finally:
        instance.run("down", name, "--rm")


def test_a_lease(remote, driver, monkeypatch):
    where, token = remote
    monkeypatch.setenv("RAMARIA_API", where)
    monkeypatch.setenv("RAMARIA_TOKEN", token)
    monkeypatch.delenv("RAMARIA_INSTANCE", raising=False)
    monkeypatch.delenv("RAMARIA_SERVER", raising=False)
    client = ramaria.connect()
    with contextlib.closing(client), client.database("shop") as db:
        assert db.socket == "" and db.host == "127.0.0.1"
        cursor = db.connection(driver).cursor()
        cursor.execute("SELECT DATABASE()")
        assert cursor.fetchone()[0] == db.name
        with db.engine(driver).connect() as connection:
            assert connection.exec_driver_sql("SELECT DATABASE()").scalar() == db.name
        assert db.reset()["way"] == "noop"
        with pytest.raises(ramaria.ApiError) as refused:
            client.pool()
        assert refused.value.code == "forbidden"
        assert len(client._idle.get()) == 1


def test_a_token_from_a_file(remote, tmp_path, monkeypatch):
    where, token = remote
    monkeypatch.delenv("RAMARIA_TOKEN", raising=False)
    path = tmp_path / "token"
    path.write_text(token + "\n")
    monkeypatch.setenv("RAMARIA_TOKEN_FILE", str(path))
    client = ramaria.Client(where)
    assert client.status()["phase"] == "running"
    client.close()


def test_a_wrong_token(remote):
    with pytest.raises(ramaria.ApiError) as refused:
        ramaria.Client(remote[0], token="WRONG").status()
    assert refused.value.code == "unauthorized"


def test_another_fingerprint(remote):
    where = remote[0][: -len(PRINT)] + PRINT
    with pytest.raises(ramaria.NoInstance, match="another fingerprint") as refused:
        ramaria.Client(where, token=remote[1]).status()
    assert remote[1] not in str(refused.value)


@pytest.mark.parametrize(
    ("where", "token", "why"),
    [
        (f"http://db1:1#sha256={PRINT}", "t", "only https"),
        ("https://db1:1", "t", "fingerprint is missing"),
        (f"https://db1:1#sha256={PRINT[2:]}", "t", "fingerprint is missing"),
        (f"https://db1#sha256={PRINT}", "t", "it is not https://HOST:PORT"),
        (f"https://a@db1:1#sha256={PRINT}", "t", "it is not https://HOST:PORT"),
        (f"https://db1:x#sha256={PRINT}", "t", "not a URL"),
        (f"https://db1:1#sha256={PRINT}", "", "the token is missing"),
        (f"https://db1:1#sha256={PRINT}", "a\r\nb", "the token is missing, or is not one"),
    ],
)
def test_refuses(where, token, why):
    with pytest.raises(ramaria.RamariaError, match=why):
        ramaria.Client(where, token=token)


def test_no_tls():
    """What speaks no TLS gets nothing of the request."""
    got = b""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)

        def answer():
            nonlocal got
            connection, _ = server.accept()
            with connection:
                got = connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(ramaria.NoInstance):
            ramaria.Client(f"https://127.0.0.1:{server.getsockname()[1]}#sha256={PRINT}", token="SESAME").status()
        thread.join()
    assert got and b"SESAME" not in got and b"GET" not in got
