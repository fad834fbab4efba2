"""Finds the instance to ask, and starts one if none runs."""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
from typing import Dict, Optional

from .client import Client
from .errors import NoInstance, RamariaError

# The instance that is used where nothing names one.
DEFAULT_INSTANCE = "tests"


def connect(instance: Optional[str] = None) -> Client:
    """Returns a client of the instance that RAMARIA_API, or the argument, names.

    Where neither does it is $RAMARIA_INSTANCE or `tests`. It is started if it does not run, and
    stays up afterwards, so that the next run finds its templates; `ramaria down tests --rm`
    removes it.
    """
    api = os.environ.get("RAMARIA_API")
    if api and instance is None:
        client = Client(api)
        client.expect(os.environ)
        return client
    name = instance or os.environ.get("RAMARIA_INSTANCE") or DEFAULT_INSTANCE
    run("up", name)
    for line in run("env", name).splitlines():
        words = shlex.split(line)
        if len(words) == 2 and words[1].startswith("RAMARIA_API="):
            return Client(words[1].partition("=")[2])
    raise NoInstance(f"find instance {name}: ramaria env does not tell where its API is")


def program() -> str:
    """Returns the path of `ramaria`: $RAMARIA_BIN, the one of this package, or the one in PATH."""
    named = os.environ.get("RAMARIA_BIN")
    if named:
        return named
    try:
        files = importlib.metadata.files("ramaria") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "ramaria" and os.access(file.locate(), os.X_OK) and not os.path.isdir(file.locate()):
            return str(file.locate())
    found = shutil.which("ramaria")
    if found is None:
        raise NoInstance("find ramaria: it is neither in this package nor in PATH\nhint: set RAMARIA_BIN to its path")
    return found


def run(*arguments: str, env: Optional[Dict[str, str]] = None) -> str:
    """Runs `ramaria` with arguments, shows what it says, and returns what it prints."""
    command = [program(), *arguments]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(env or {})},
        )
    except OSError as error:
        raise NoInstance(f"run {command[0]}: {error}\nhint: set RAMARIA_BIN to the path of ramaria") from error
    said = []
    with process:
        assert process.stdout is not None and process.stderr is not None
        # What it prints is a few lines, which wait in the pipe until it has said everything.
        for line in process.stderr:
            said.append(line)
            sys.stderr.write(line)
        printed = process.stdout.read()
    if process.returncode != 0:
        raise RamariaError(f"{shlex.join(['ramaria', *arguments])}: exit status {process.returncode}: {''.join(said).strip()}")
    return printed
