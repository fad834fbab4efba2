"""Leaves fixtures where they are between the tests of a class.

Every TransactionTestCase begins with an empty database into which its fixtures are loaded. After
the second load of a class the database is marked, and from then on put back to the mark instead
of to what it was after `migrate`. Not after the first one: what setUpClass has written would be
part of the mark, and a flush takes it away. A mark is of one class, and ends with it.
"""

from __future__ import annotations

from typing import Any, Dict, Set, Type

from django.db import connections
from django.test import LiveServerTestCase

from ..errors import ApiError

# The fixtures that the databases of aliases are marked with.
_marked: Dict[str, Any] = {}

# What is in databases that were put back and not used since: the fixtures of the mark, or EMPTY.
_fresh: Dict[str, Any] = {}

# The class whose test a database was put back after last.
_classes: Dict[str, Type[Any]] = {}

# The aliases whose counters may be elsewhere than after `migrate`: a flush leaves them, as Django's
# own does, unless the class has `reset_sequences`.
_moved: Set[str] = set()

# What a database holds after `migrate`, and one of which that is unknown.
EMPTY, UNKNOWN = object(), object()

# What a class may have of its own, to write rows before fixtures are loaded or after a flush.
_HOOKS = ("_pre_setup", "_fixture_setup", "_fixture_teardown", "_post_teardown")

# `changed`: it cannot be marked. `not_found`: the instance is older than marks.
_UNMARKABLE = ("changed", "not_found")


def content(alias: str) -> Any:
    """Tells what a database holds: EMPTY, the key of fixtures, or UNKNOWN. Then it is used."""
    return _fresh.pop(alias, UNKNOWN)


def mark(alias: str, key: Any) -> None:
    """Marks a database that holds fixtures and nothing else."""
    connection = connections[alias]
    if connection.in_atomic_block or not connection.get_autocommit():
        return  # they are not committed
    try:
        connection.creation.mark()
    except ApiError as error:
        if error.code not in _UNMARKABLE:
            raise
    else:
        _marked[alias] = key


def empty(alias: str, counters: bool = False) -> None:
    """Makes a database as it was after `migrate`, the counters as well if that is wished for."""
    _marked.pop(alias, None)
    _fresh.pop(alias, None)
    counters = counters or _counters(alias)
    connections[alias].creation.reset(counters)
    if counters:
        _moved.discard(alias)
    else:
        _moved.add(alias)
    _fresh[alias] = EMPTY


def prepare(alias: str) -> None:
    """Makes a database as it was after `migrate`, counters included, unless it was just put back."""
    if alias not in _fresh or alias in _moved:
        empty(alias, counters=True)


def put_back(alias: str, case: Type[Any]) -> None:
    """Puts a database back after a test of a class."""
    if _classes.get(alias) is not case:
        _classes[alias] = case
        case.addClassCleanup(_end, alias)
        empty(alias)
    elif not _rewound(alias):
        empty(alias)
    if not _is_plain(case):
        _fresh.pop(alias, None)


def forget() -> None:
    """Forgets all aliases, whose databases are gone."""
    _marked.clear()
    _fresh.clear()
    _classes.clear()
    _moved.clear()


def _counters(alias: str) -> bool:
    """Tells whether a flush in the present class puts counters back."""
    return getattr(_classes.get(alias), "reset_sequences", False)


def _is_plain(case: Type[Any]) -> bool:
    """Tells whether nothing writes between a test of a class and the fixtures of the next."""
    if issubclass(case, LiveServerTestCase):
        return False  # whose threads may be late
    return all(getattr(case, name).__module__.split(".")[0] in ("django", "ramaria") for name in _HOOKS)


def _rewound(alias: str) -> bool:
    if alias not in _marked:
        return False
    try:
        connections[alias].creation.rewind(_counters(alias))
    except ApiError as error:
        if error.code != "lost":
            raise
        return False
    _fresh[alias] = _marked[alias]
    return True


def _end(alias: str) -> None:
    _classes.pop(alias, None)
    if _marked.pop(alias, None) is not None:
        empty(alias)
    _fresh.pop(alias, None)
