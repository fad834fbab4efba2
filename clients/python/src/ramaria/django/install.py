"""Puts Ramaria below Django's tests, and takes it away again."""

from __future__ import annotations

from typing import Any, List

from django.apps import apps
from django.db import connections
from django.test import TransactionTestCase, testcases

from . import fixtures, marks
from .creation import ENTRY, CreationMixin

# The methods of TransactionTestCase that flush the database or its counters.
_REPLACED = ("_fixture_teardown", "_reset_sequences")
_call_command = testcases.call_command
_originals = {name: TransactionTestCase.__dict__[name] for name in _REPLACED}


def install() -> None:
    """Makes the aliases with a MySQL engine get their test databases from Ramaria."""
    for alias in connections:
        connection = connections[alias]
        own = type(connection.creation)
        if connection.vendor == "mysql" and not issubclass(own, CreationMixin):
            connection.creation = type("RamariaCreation", (CreationMixin, own), {"replaced": own})(connection)
    TransactionTestCase._fixture_teardown = _fixture_teardown
    TransactionTestCase._reset_sequences = staticmethod(_reset_sequences)
    testcases.call_command = _command


def uninstall() -> None:
    """Undoes install."""
    for connection in connections.all():
        if isinstance(connection.creation, CreationMixin):
            if ENTRY in connection.settings_dict:  # a mirror, which is not destroyed
                connection.creation.restore()
            connection.creation = connection.creation.replaced(connection)
    for name, original in _originals.items():
        setattr(TransactionTestCase, name, original)
    testcases.call_command = _call_command
    marks.forget()


def release() -> None:
    """Undoes install, and gives back the databases that are left: pytest-django leaves them with --reuse-db."""
    for connection in connections.all():
        if isinstance(connection.creation, CreationMixin) and connection.creation.leased:
            connection.creation.destroy_test_db()
    uninstall()


def _is_ours(alias: str) -> bool:
    connection = connections[alias]
    return isinstance(connection.creation, CreationMixin) and ENTRY in connection.settings_dict


def _fixture_teardown(case: Any) -> None:
    """Resets instead of flushing, on the aliases of Ramaria."""
    aliases = case._databases_names(include_mirrors=False)
    ours = [alias for alias in aliases if _is_ours(alias)]
    for alias in ours:
        marks.put_back(alias, type(case))
    if ours:
        _forget_rows()
    others: List[str] = [alias for alias in aliases if alias not in ours]
    if others:
        case._databases_names = lambda include_mirrors=True: others
        try:
            _originals["_fixture_teardown"](case)
        finally:
            del case._databases_names


def _reset_sequences(alias: str) -> None:
    """Resets the counters with all the rest."""
    original = _originals["_reset_sequences"]
    if _is_ours(alias):
        marks.prepare(alias)
    elif isinstance(original, staticmethod):
        original.__func__(alias)
    else:
        original(None, alias)  # before Django 5.2 it is a method, which does not use self


def _command(name: str, *arguments: Any, **options: Any) -> Any:
    """Runs a command for a test case; fixtures that were loaded before are loaded faster."""
    if name != "loaddata" or not _is_ours(options["database"]):
        return _call_command(name, *arguments, **options)
    return fixtures.load(options["database"], arguments, lambda: _call_command(name, *arguments, **options))


def _forget_rows() -> None:
    """Empties the caches of rows that a test may have made; flush does so by post_migrate."""
    for app, model in (("contenttypes", "ContentType"), ("sites", "Site")):
        if apps.is_installed(f"django.contrib.{app}"):
            apps.get_model(app, model).objects.clear_cache()
