"""What databases are cloned from, and how each kind of it is built."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, List, Optional, Union

from .database import Database
from .errors import RamariaError
from .instance import run

if TYPE_CHECKING:
    from .client import Client

PathLike = Union[str, "os.PathLike[str]"]

# For how long, in seconds, a build may take, and those that need it wait.
BUILD_SECONDS = 600.0


class Template:
    """A database that others are cloned from, named by what it depends on.

    `build` makes it if it is not there and returns the name of its database. Make one once, for
    example at the top of a module: a client remembers which it has built.
    """

    def __init__(self, name: str, build: Callable[[Client], str]) -> None:
        self.name = plain_name(name)
        self._build = build

    def __repr__(self) -> str:
        return f"ramaria.Template({self.name!r})"

    def build(self, client: Client) -> str:
        return self._build(client)

    @classmethod
    def existing(cls, name: str) -> Template:
        """A template made with `ramaria template add`."""
        return cls(name, lambda client: name)

    @classmethod
    def from_dump(cls, *paths: PathLike, name: Optional[str] = None, key: Optional[str] = None) -> Template:
        """Dumps (.sql, .sql.gz, .sql.zst, .sql.xz) or directories of them; the key is their content's hash."""
        if not paths:
            raise RamariaError("make template: no dump is named")
        chosen = plain_name(name or Path(paths[0]).name.split(".")[0])
        arguments = ["template", "add", chosen, *(word for path in paths for word in ("--from", os.fspath(path)))]
        if key is not None:
            arguments += ["--key", key]
        return cls(chosen, lambda client: run(*arguments, env=client.environ).strip())

    @classmethod
    def from_callable(
        cls,
        fill: Callable[[Database], Any],
        *,
        name: Optional[str] = None,
        key: Optional[str] = None,
        depends: Iterable[PathLike] = (),
        timeout: float = BUILD_SECONDS,
    ) -> Template:
        """A function that fills the empty database that it is given.

        The key must stand for everything that it depends on. Without one it is a hash of the
        file that the function is in, and of the files and directories `depends`.
        """
        chosen = plain_name(name or str(getattr(fill, "__name__", "template")))
        files = list(depends)
        if key is None:
            source = inspect.getsourcefile(inspect.unwrap(fill))
            if source is None:
                raise RamariaError(f"make template {chosen}: its function has no source file\nhint: pass key=")
            files.append(source)
        whole_key = digest([key or "", *content(files)])

        def build(client: Client) -> str:
            request = {"name": chosen, "key": whole_key, "wait_s": timeout, "build_s": timeout}
            answer = client.call("POST", "/v1/templates", request)
            database_name = answer["template"]["name"]
            if answer["state"] == "build":
                _fill(client, database_name, fill, Database(client, answer["database"]))
            return database_name

        return cls(chosen, build)

    @classmethod
    def from_alembic(cls, config: PathLike = "alembic.ini", *, name: Optional[str] = None, revision: str = "heads") -> Template:
        """The migrations of an Alembic environment, run into an empty database.

        They connect to what `config.get_main_option("sqlalchemy.url")` says in env.py.
        """
        from .alembic import template

        return template(config, name=name, revision=revision)


def _fill(client: Client, name: str, fill: Callable[[Database], Any], database: Database) -> None:
    try:
        fill(database)
        database.close()  # what is not committed is not wanted
        client.put_template(name)
    except BaseException:
        database.close()
        with contextlib.suppress(RamariaError):  # the first error is the one to tell
            client.delete_template(name)
        raise


def digest(parts: Iterable[Union[str, bytes]]) -> str:
    """Returns a hash of texts that tells ("ab", "c") from ("a", "bc")."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(b"%d:" % len(data) + data)
    return whole.hexdigest()


def content(paths: Iterable[PathLike]) -> Iterator[Union[str, bytes]]:
    """Yields the names and contents of files, and of those below directories."""
    for path in map(Path, paths):
        for file in [path] if path.is_file() else sorted(_below(path)):
            yield str(file.relative_to(path.parent))
            yield file.read_bytes()


def _below(directory: Path) -> List[Path]:
    if not directory.is_dir():
        raise RamariaError(f"make template: there is no {directory}")
    found = (path for path in directory.rglob("*") if "__pycache__" not in path.parts)
    return [path for path in found if path.is_file()]


def plain_name(name: str) -> str:
    """Makes a name that a template may have, with room for the hash behind it."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", name)[:40] or "template"


