"""Connections of PyMySQL, mysqlclient and SQLAlchemy that say why when a reset ended them."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator

from . import sessions
from .errors import RamariaError

if TYPE_CHECKING:
    from .database import Database

# The errors of a connection that the server ended: shutdown, killed, gone away, lost, lost
# while reading, ended by the administrator; 0 is PyMySQL's for one that it has closed since.
LOST = frozenset({0, 1053, 1927, 2006, 2013, 2055, 4031})

WHY = (
    "Ramaria ended this connection at a reset, since it had a transaction open; "
    "roll back or commit before the reset"
)

# The names of drivers, in the order in which they are tried, and their modules.
DRIVERS = {"mysqlclient": "MySQLdb", "pymysql": "pymysql"}


def default_driver() -> str:
    """Names the driver that is installed."""
    for driver, module in DRIVERS.items():
        with contextlib.suppress(ValueError):  # a stand-in put into sys.modules has no spec
            if importlib.util.find_spec(module) is not None:
                return driver
    raise RamariaError("find driver: neither mysqlclient nor PyMySQL is installed\nhint: pip install pymysql")


def connect(database: Database, driver: str, options: Dict[str, Any]) -> Any:
    """Opens a connection to a database."""
    opened = _connection_class(driver)(**options)
    opened.ramaria_state = sessions.State(opened, options.get("init_command"))
    opened.ramaria_database = database
    opened.ramaria_resets = database.resets
    return opened


def engine(database: Database, driver: str, options: Dict[str, Any]) -> Any:
    """Makes an SQLAlchemy engine whose connections are those of connect."""
    import sqlalchemy

    url = sqlalchemy.engine.URL.create(
        "mysql+mysqldb" if driver == "mysqlclient" else "mysql+pymysql",
        username=database.user,
        password=database.password,
        database=database.name,
        query={"unix_socket": database.socket} if database.socket else {},
        host=None if database.socket else database.host,
        port=None if database.socket else database.port,
    )
    made = sqlalchemy.create_engine(url, **options)

    @sqlalchemy.event.listens_for(made, "do_connect")
    def do_connect(dialect: Any, record: Any, args: Any, params: Dict[str, Any]) -> Any:
        return database.connect(driver, **params)

    @sqlalchemy.event.listens_for(made, "checkout")
    def checkout(opened: Any, record: Any, proxy: Any) -> None:
        # Not when it is made: SQLAlchemy and others who listen to that set it up first.
        if not record.info.setdefault("ramaria_seen", False):
            record.info["ramaria_seen"] = True
            opened.ramaria_state.look(opened)

    return made


def rollback(opened: Iterable[Any]) -> None:
    """Ends open transactions. A connection on which that fails is the reset's to end."""
    for connection in opened:
        with contextlib.suppress(Exception):
            # PyMySQL knows without asking the server.
            in_transaction = getattr(connection, "get_transaction_status", None)
            if in_transaction is None or in_transaction():
                connection.rollback()


def renew(opened: Iterable[Any]) -> None:
    """Makes sessions as they were when they were handed out. One that cannot be is closed."""
    for connection in opened:
        if not connection.open:
            continue
        try:
            connection.ramaria_state.restore(connection)
        except Exception:
            close(connection)


def close(connection: Any) -> None:
    """Closes a connection that may be closed already."""
    with contextlib.suppress(Exception):
        connection.close()


@functools.lru_cache(maxsize=None)
def _connection_class(driver: str) -> Any:
    if driver not in DRIVERS:
        raise RamariaError(f"open connection: there is no driver {driver!r}\nhint: use {' or '.join(DRIVERS)}")
    base = importlib.import_module(DRIVERS[driver] + ".connections").Connection

    class Connection(base):  # type: ignore[misc, valid-type]
        """A connection that says why when a reset ended it."""

        ramaria_database = None
        ramaria_state = None
        ramaria_resets = 0

        def query(self, *args: Any, **kwargs: Any) -> Any:
            with _explained(self):
                return super().query(*args, **kwargs)

        def commit(self) -> Any:
            with _explained(self):
                return super().commit()

        def rollback(self) -> Any:
            with _explained(self):
                return super().rollback()

    return Connection


@contextlib.contextmanager
def _explained(connection: Any) -> Iterator[None]:
    """Adds the reason to the error of a connection that worked last before a reset."""
    database = connection.ramaria_database
    try:
        yield
    except Exception as error:
        was_reset = database is not None and connection.ramaria_resets != database.resets
        if was_reset and error.args and error.args[0] in LOST and WHY not in str(error):
            said = f"{error.args[1]}: " if len(error.args) > 1 and error.args[1] else ""
            error.args = (error.args[0], said + WHY)
        raise
    if database is not None:
        connection.ramaria_resets = database.resets
