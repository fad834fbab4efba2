"""What a session has besides the database: variables, temporary tables, locks, prepared statements."""

from __future__ import annotations

import os
import select
import struct
from typing import Any, List, Optional

from .errors import RamariaError

# Commands of the protocol: enter a database, do a statement, make the session new. Packets have a header of HEADER
# bytes, and those that say that a command has failed begin with FAILED.
USE, QUERY, RESET = b"\x02", b"\x03", b"\x1f"
HEADER, FAILED = 4, 0xFF
PATIENCE = 10  # seconds

# What drivers, engines and frameworks set when they connect. All else is the server's after a reset.
VARIABLES = [
    "autocommit",
    "character_set_client",
    "character_set_results",
    "collation_connection",
    "foreign_key_checks",
    "sql_auto_is_null",
    "sql_mode",
    "time_zone",
    "unique_checks",
    "wait_timeout",
]


class State:
    """A session's state when it was handed out."""

    def __init__(self, connection: Any, init_command: Optional[str]) -> None:
        self.init_command = init_command
        self.look(connection)

    def look(self, connection: Any) -> None:
        """Remembers the state as it is now."""
        mariadb = "MariaDB" in connection.get_server_info()
        names = [*VARIABLES, "tx_isolation" if mariadb else "transaction_isolation"]
        cursor = connection.cursor(_plain(connection))
        cursor.execute("SELECT DATABASE(), " + ", ".join(f"@@SESSION.{name}, @@GLOBAL.{name}" for name in names))
        self.database, *values = cursor.fetchone()
        cursor.close()
        # Those that the server has too come back by themselves. Drivers read autocommit from the last answer.
        own = [(name, mine) for name, mine, servers in zip(names, values[::2], values[1::2]) if mine != servers or name == "autocommit"]
        self.statement = "SET SESSION " + ", SESSION ".join(f"{name} = {_literal(value)}" for name, value in own)

    def restore(self, connection: Any) -> None:
        """Makes the session new, and as it was then. An open transaction is rolled back."""
        anew = [RESET, USE + self.database.encode()]
        if not hasattr(connection, "change_user"):
            _ask(connection, [*anew, QUERY + self.statement.encode()])
        else:
            connection.rollback()  # which fails where an answer is not read yet
            database = connection.ramaria_database
            if database.socket:
                _ask_beside(connection.fileno(), anew)
            else:  # what goes over the network may be encrypted
                connection.change_user(database.user, database.password, self.database)
            connection.query(self.statement)
        if self.init_command:
            connection.cursor().execute(self.init_command)


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _plain(connection: Any) -> Any:
    """The cursor of tuples, whatever the connection's own is."""
    import importlib

    return importlib.import_module(type(connection).__mro__[1].__module__.partition(".")[0] + ".cursors").Cursor


def _packets(commands: List[bytes]) -> bytes:
    return b"".join(struct.pack("<I", len(command)) + command for command in commands)


def _ask(connection: Any, commands: List[bytes]) -> None:
    """Has PyMySQL do commands, all on one way to the server and back."""
    first, *others = commands
    connection._execute_command(first[0], first[1:].decode())
    connection._write_bytes(_packets(others))
    for _ in commands:
        connection._next_seq_id = 1  # each answer is counted anew
        connection._read_ok_packet()


def _ask_beside(fd: int, commands: List[bytes]) -> None:
    """Has the server do commands beside mysqlclient, which cannot send them, while that waits for no answer."""
    os.write(fd, _packets(commands))
    ready = select.poll()
    ready.register(fd, select.POLLIN)
    said = b""
    for _ in commands:
        while len(said) < HEADER or len(said) < HEADER + int.from_bytes(said[:3], "little"):
            if not ready.poll(PATIENCE * 1000):
                raise RamariaError(f"put the session back: the server does not answer within {PATIENCE} s")
            more = os.read(fd, 4096)
            if not more:
                raise RamariaError("put the session back: the server has ended the connection")
            said += more
        if said[HEADER] == FAILED:
            raise RamariaError(f"put the session back: {said[HEADER:]!r}")
        said = said[HEADER + int.from_bytes(said[:3], "little") :]
