from __future__ import annotations

import pytest

import ramaria
from ramaria import instance

PROGRAM = """#!/bin/sh
echo "$@" >>"$0.log"
case $1 in
up) echo "making it" >&2; echo mysql://here ;;
env) echo "export OTHER='a b'"; echo "export RAMARIA_API='/tmp/it'\\\\''s.sock'" ;;
*) echo "ramaria: no such thing" >&2; echo "hint: ramaria ls" >&2; exit 3 ;;
esac
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "ramaria"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    for name in ("RAMARIA_API", "RAMARIA_INSTANCE", "RAMARIA_SERVER", "RAMARIA_VOLUME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAMARIA_BIN", str(path))
    return path


def test_connect_starts_an_instance(program, capsys):
    assert ramaria.connect().socket == "/tmp/it's.sock"
    assert open(f"{program}.log").read() == "up tests\nenv tests\n"
    assert capsys.readouterr() == ("", "making it\n")


def test_connect_takes_the_name_from_the_environment(program, monkeypatch):
    monkeypatch.setenv("RAMARIA_INSTANCE", "mine")
    ramaria.connect()
    assert open(f"{program}.log").read() == "up mine\nenv mine\n"


def test_connect_prefers_the_api(program, monkeypatch):
    monkeypatch.setenv("RAMARIA_API", "/run/x.sock")
    assert ramaria.connect().socket == "/run/x.sock"


def test_connect_refuses_another_instance(real, monkeypatch):
    flavour = real.status()["server"]["flavour"]
    monkeypatch.setenv("RAMARIA_API", real.socket)
    monkeypatch.setenv("RAMARIA_SERVER", flavour)
    assert ramaria.connect().socket == real.socket
    monkeypatch.setenv("RAMARIA_SERVER", {"mariadb": "mysql", "mysql": "mariadb"}[flavour])
    with pytest.raises(ramaria.ApiError, match="was asked for\nhint: unset RAMARIA_SERVER") as caught:
        ramaria.connect()
    assert caught.value.code == "other"


def test_an_error_says_what_the_program_said(program):
    with pytest.raises(ramaria.RamariaError, match="ramaria down x: exit status 3: ramaria: no such thing\nhint: ramaria ls"):
        instance.run("down", "x")


def test_a_program_that_is_not_there(monkeypatch):
    monkeypatch.setenv("RAMARIA_BIN", "/nowhere/ramaria")
    with pytest.raises(ramaria.NoInstance, match="hint: set RAMARIA_BIN"):
        instance.run("up")
