"""Fresh MySQL and MariaDB databases for tests, from a Ramaria instance in RAM.

    client = ramaria.connect()
    with client.database(ramaria.Template.from_dump("shop.sql")) as db:
        connection = db.connect()
        ...
        db.reset()

The package keeps one invariant: a database that it hands out is as its template is.
"""

from .client import Client
from .database import Database
from .errors import ApiError, NoInstance, RamariaError
from .instance import connect
from .template import Template

__all__ = ["ApiError", "Client", "Database", "NoInstance", "RamariaError", "Template", "connect"]
