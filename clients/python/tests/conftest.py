"""An instance for the tests that need a real one, and a stand-in for the others."""

from __future__ import annotations

import os

import pytest
from fake import FakeApi

import ramaria
from ramaria import instance

pytest_plugins = ["pytester"]


@pytest.fixture
def api(tmp_path):
    """The stand-in of an instance's API, and a client of it."""
    with FakeApi(str(tmp_path / "api.sock")) as fake:
        yield fake


@pytest.fixture
def client(api):
    client = ramaria.Client(api.path)
    yield client
    client.close()


@pytest.fixture(scope="session")
def real():
    """A client of a real instance, which goes at the end."""
    if "RAMARIA_BIN" not in os.environ:
        pytest.skip("SKIPPED: RAMARIA_BIN does not name a ramaria to test with")
    name = f"python-{os.getpid()}"
    before = os.environ.pop("RAMARIA_API", None)
    os.environ["RAMARIA_INSTANCE"] = name
    client = ramaria.connect()
    yield client
    client.close()
    instance.run("down", name, "--rm")
    del os.environ["RAMARIA_INSTANCE"]
    if before is not None:
        os.environ["RAMARIA_API"] = before


@pytest.fixture(params=["pymysql", "mysqlclient"])
def driver(request):
    module = ramaria.connections.DRIVERS[request.param]
    pytest.importorskip(module, reason=f"SKIPPED: {request.param} is not installed")
    return request.param
