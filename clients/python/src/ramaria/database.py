"""Leases: databases that their callers have for themselves."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Dict, List, Optional
from urllib.parse import quote

from . import connections
from .process import PerProcess

if TYPE_CHECKING:
    from .client import Client

# Behind the path of a reset: that counters are left where they are.
KEEP_COUNTERS = "?counters=keep"


class Database:
    """A lease: a clone of a template with an account of its own, which sees nothing else.

    As a context manager it is released at the end, unless it was kept. One that is neither reset nor released
    goes when its time to live is over.
    """

    def __init__(self, client: Client, fields: Dict[str, Any]) -> None:
        self.client = client
        self.name: str = fields["name"]
        self.host: str = fields["host"]
        self.port: int = fields["port"]
        self.socket: str = fields["socket"]
        self.user: str = fields["user"]
        self.password: str = fields["password"]
        self.url: str = fields["url"]
        self.template: str = fields.get("template", "")
        self.expires_at: Optional[str] = fields.get("expires_at")
        self.kept = False
        # How often it was reset: what a connection saw last tells whether a reset ended it.
        self.resets = 0
        self._open: PerProcess[weakref.WeakSet[Any]] = PerProcess(weakref.WeakSet)
        self._kept: PerProcess[Dict[str, Any]] = PerProcess(dict)

    def __repr__(self) -> str:
        return f"ramaria.Database({self.name!r})"  # and not its password

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.kept:
            self.close()
        else:
            self.release()

    @property
    def dsn(self) -> str:
        """The same as url: mysql://USER:PASSWORD@HOST:PORT/NAME."""
        return self.url

    @property
    def params(self) -> Dict[str, Any]:
        """Arguments for the connect function of PyMySQL or mysqlclient."""
        # Without a socket the server is on another machine.
        where: Dict[str, Any] = {"unix_socket": self.socket} if self.socket else {"host": self.host, "port": self.port}
        return {**where, "user": self.user, "password": self.password, "database": self.name}

    def reset(self, counters: bool = True, sessions: bool = True) -> Dict[str, Any]:
        """Makes the database as its template is, and tells how: way, micros, warnings.

        Without `counters` those of AUTO_INCREMENT stay where they are, as DELETE leaves them, where
        rows alone are undone: that takes less time.

        Connections stay open. Those that came from this object are as they were when it handed them
        out: variables, temporary tables, locks and prepared statements of a session do not outlive a
        reset, unless `sessions` is False; they are rolled back in any case. Others that have a
        transaction open are ended by the instance.
        """
        return self._put_back("/reset", counters, sessions)

    def set_savepoint(self) -> None:
        """Makes what is committed now the savepoint, to which roll_back() returns until the next reset().

        For rows that several tests begin with. A lease has one savepoint: another takes its place.
        """
        self.client.call("POST", self._path("/savepoint"))

    def roll_back(self, counters: bool = True, sessions: bool = True) -> Dict[str, Any]:
        """Puts the database back to its savepoint, and tells how. All else as in reset().

        An ApiError whose code is `lost` says that the lease has no savepoint, or that undoing rows
        does not lead back to it: then the database was reset to its template.
        """
        return self._put_back("/rollback", counters, sessions)

    def renew(self) -> None:
        """Starts its time to live over, as a reset does."""
        self.expires_at = self.client.call("GET", self._path()).get("expires_at")

    def keep(self) -> str:
        """Takes the database out of the pool, so that it stays to be looked at; returns its DSN."""
        self.client.call("POST", self._path("/keep"))
        self.kept = True
        self.expires_at = None
        return self.dsn

    def release(self) -> None:
        """Gives the database back, and closes the connections that came from this object."""
        self.close()
        self.client.call("DELETE", self._path())

    def connect(self, driver: Optional[str] = None, **options: Any) -> Any:
        """Opens a connection: `driver` is mysqlclient or pymysql, options are its own."""
        opened = connections.connect(self, driver or connections.default_driver(), {**self.params, **options})
        self._open.get().add(opened)
        return opened

    def connection(self, driver: Optional[str] = None) -> Any:
        """Returns one connection, the same each time: a test need not wait for a new one."""
        driver = driver or connections.default_driver()
        kept = self._kept.get()
        if driver not in kept or not kept[driver].open:
            kept[driver] = self.connect(driver)
        return kept[driver]

    def engine(self, driver: Optional[str] = None, **options: Any) -> Any:
        """Returns an SQLAlchemy engine: without options the same each time."""
        driver = driver or connections.default_driver()
        if options:
            return connections.engine(self, driver, options)
        kept = self._kept.get()
        if driver + " engine" not in kept:
            kept[driver + " engine"] = connections.engine(self, driver, {})
        return kept[driver + " engine"]

    def rollback(self) -> None:
        """Ends the transactions of the connections that came from this object."""
        connections.rollback(self._live())

    def close(self) -> None:
        """Closes the connections that came from this object."""
        kept = self._kept.get()
        for value in kept.values():
            if hasattr(value, "dispose"):
                value.dispose()
        kept.clear()
        for opened in self._live():
            connections.close(opened)

    def _put_back(self, action: str, counters: bool, sessions: bool) -> Dict[str, Any]:
        if sessions:
            connections.renew(self._live())
        else:
            self.rollback()
        self.resets += 1
        return self.client.call("POST", self._path(action) + ("" if counters else KEEP_COUNTERS))

    def _live(self) -> List[Any]:
        return list(self._open.get())

    def _path(self, action: str = "") -> str:
        return "/v1/databases/" + quote(self.name, safe="") + action
