"""Makes, clones and destroys test databases, in place of the engine's own class for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, Optional

from ..client import Client
from ..database import KEEP_COUNTERS, Database
from ..instance import connect
from ..process import PerProcess
from ..template import Template
from .key import template_key

# Where an alias's settings remember what they were before, and the leases that were taken. Threads
# and forked workers share these settings, so each connection finds its lease in them.
ENTRY = "RAMARIA"

# The settings that say where a database is.
FIELDS = ("NAME", "USER", "PASSWORD", "HOST", "PORT")

# For how long a lease lives after its last reset, in seconds: a suite without a TransactionTestCase
# never resets.
TTL = 4 * 3600

# For how long the migrations may take, in seconds.
MIGRATE = 1800

# Options that would lead elsewhere than the rest of the settings.
ADDRESS = frozenset(
    "host port user passwd password db database unix_socket read_default_file read_default_group ssl ssl_mode".split()
)

_client: PerProcess[Dict[str, Client]] = PerProcess(dict)


def client() -> Client:
    """Returns this process's client, made when it is first needed."""
    made = _client.get()
    if "client" not in made:
        made["client"] = connect()
    return made["client"]


class CreationMixin:
    """Comes before an engine's DatabaseCreation."""

    connection: Any
    leased = False  # until destroy_test_db; a mirror has the lease of another
    _building: Optional[str] = None
    _before: Optional[Dict[str, Any]] = None

    def create_test_db(self, verbosity: int = 1, autoclobber: bool = False, **kwargs: Any) -> str:
        alias = self.connection.alias

        def migrate(database: Database) -> None:
            self._point_at(address(database))
            self._building = database.name
            try:
                with self.connection.cursor() as cursor:
                    if self.sql_table_creation_suffix():
                        name = self.connection.ops.quote_name(database.name)
                        cursor.execute(f"ALTER DATABASE {name} {self.sql_table_creation_suffix()}")
                super(CreationMixin, self).create_test_db(verbosity, autoclobber, **{**kwargs, "serialize": False})  # type: ignore[misc]
            finally:
                self._building = None
                self.restore()

        if verbosity >= 1:
            self.log(f"Using a database of Ramaria for alias {self._get_database_display_str(verbosity, self._get_test_db_name())}...")
        template = Template.from_callable(migrate, name=f"{Path.cwd().name}_{alias}", key=template_key(self.connection), timeout=MIGRATE)
        self._point_at(self._lease(template))
        self.leased = True
        self.connection.ensure_connection()
        if kwargs.get("serialize"):  # newer Djangos do it after all databases are there
            self.connection._test_serialized_contents = self.serialize_db_to_string()
        return self.connection.settings_dict["NAME"]

    def _lease(self, template: Any) -> Dict[str, Any]:
        database = client().database(template, ttl=TTL)
        return {**address(database), ENTRY: {"database": database.name, "template": database.template, "clones": {}}}

    def _clone_test_db(self, suffix: str, verbosity: int, keepdb: bool = False) -> None:
        entry = self.connection.settings_dict[ENTRY]
        entry["clones"][suffix] = self._lease(entry["template"])

    def get_test_db_clone_settings(self, suffix: str) -> Dict[str, Any]:
        settings_dict = self.connection.settings_dict
        return {**settings_dict, **settings_dict[ENTRY]["clones"][suffix]}

    def set_as_test_mirror(self, primary_settings_dict: Dict[str, Any]) -> None:
        if ENTRY not in primary_settings_dict:
            return super().set_as_test_mirror(primary_settings_dict)  # type: ignore[misc]
        self._point_at({key: primary_settings_dict[key] for key in (*FIELDS, ENTRY)})

    def destroy_test_db(
        self,
        old_database_name: Optional[str] = None,
        verbosity: int = 1,
        keepdb: bool = False,
        suffix: Optional[str] = None,
    ) -> None:
        """Gives a lease back, also with --keepdb: what is kept is the template."""
        self.connection.close()
        entry = self.connection.settings_dict[ENTRY]
        if suffix is not None:
            entry = entry["clones"].pop(suffix)[ENTRY]
        client().call("DELETE", "/v1/databases/" + entry["database"])
        if suffix is None:
            self.leased = False
            self.restore()

    def reset(self, counters: bool = True) -> None:
        """Makes the database as it was after `migrate`, or all but counters. The connection stays open."""
        self._put_back("/reset", counters)

    def mark(self) -> None:
        """Makes what is committed now the savepoint, to which rewind() returns."""
        self._ask("/savepoint")

    def rewind(self, counters: bool = True) -> None:
        """Puts the database back to its savepoint, or all but counters. The connection stays open."""
        self._put_back("/rollback", counters)

    def _put_back(self, action: str, counters: bool) -> None:
        connection = self.connection.connection
        if connection is not None and (self.connection.in_atomic_block or not self.connection.autocommit):
            connection.rollback()  # else it would be ended
        self._ask(action + ("" if counters else KEEP_COUNTERS))

    def _ask(self, action: str) -> None:
        client().call("POST", "/v1/databases/" + self.connection.settings_dict[ENTRY]["database"] + action)

    # What the engine's own create_test_db uses while it fills a template.

    def _get_test_db_name(self) -> str:
        return self._building or super()._get_test_db_name()  # type: ignore[misc]

    def _create_test_db(self, verbosity: int, autoclobber: bool, keepdb: bool = False) -> str:
        return self._get_test_db_name()

    # The settings are changed in place: threads that come later connect by the same ones.

    def _point_at(self, changes: Dict[str, Any]) -> None:
        self.connection.close()
        settings_dict = self.connection.settings_dict
        options = {key: value for key, value in settings_dict["OPTIONS"].items() if key not in ADDRESS}
        if self._before is None:
            self._before = dict(settings_dict)
        settings_dict.update({"OPTIONS": options, **changes})

    def restore(self) -> None:
        self.connection.close()
        self.connection.settings_dict.pop(ENTRY, None)
        self.connection.settings_dict.update(self._before or {})
        self._before = None


def address(database: Database) -> Dict[str, Any]:
    """Returns the settings by which Django connects to a database."""
    where = (database.socket, "") if database.socket else (database.host, str(database.port))
    return dict(zip(FIELDS, (database.name, database.user, database.password, *where)))
