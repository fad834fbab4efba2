"""Loads fixtures for the second time by the statements of the first.

After a reset a database is as it was, so what `loaddata` did once is right again: the rows need
not be read, compared and checked again. It is not done where it could be noticed: where a signal of
saving has listeners, where a key was chosen by the server, or where a statement does not do to as
many rows as it did.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Set, Tuple

from django.db import DatabaseError, connections, transaction
from django.db.models.signals import m2m_changed, post_save, pre_save

from . import marks

# What `loaddata` did: SQL, its parameters, and how many rows it was done to.
Statement = Tuple[str, Any, int]

# Statements that change nothing that stays.
PASSING = ("SELECT", "SHOW", "SAVEPOINT", "RELEASE SAVEPOINT")
REPEATED = ("INSERT", "UPDATE", "DELETE", "REPLACE", "SET FOREIGN_KEY_CHECKS")

# How Django inserts an object: a row whose values are all parameters. What it has returned is of
# no use the second time.
ROW = re.compile(r"(INSERT INTO `[^`]+` \([^()%]*\) VALUES )(\(%s(?:, %s)*\))(?: RETURNING [^%]*)?")
MAX_PARAMS = 10_000  # of one statement


def merged(statements: List[Statement]) -> List[Statement]:
    """Returns statements that do the same: rows that follow each other go in one."""
    result: List[Statement] = []
    head = None  # of the last one, if more rows can go into it
    for sql, params, rows in statements:
        row = ROW.fullmatch(sql) if rows == 1 else None
        if row and row[1] == head and len(result[-1][1]) + len(params) <= MAX_PARAMS:
            before, values, count = result[-1]
            result[-1] = (before + ", " + row[2], (*values, *params), count + 1)
        elif row:
            head = row[1]
            result.append((head + row[2], params, 1))
        else:
            head = None
            result.append((sql, params, rows))
    return result


class Recording:
    """What one run of `loaddata` did, and whether it may be repeated."""

    def __init__(self) -> None:
        self.statements: List[Statement] = []
        self.models: Set[Any] = set()
        self.repeatable = True

    def run(self, alias: str, load: Any) -> None:
        """Runs load, which is the command, and notes what it does."""
        connections[alias].ensure_connection()  # whose first statements are not the command's
        pre_save.connect(self._saving)
        try:
            with connections[alias].execute_wrapper(self._execute):
                load()
        finally:
            pre_save.disconnect(self._saving)
        self.statements = merged(self.statements)

    def repeat(self, alias: str) -> bool:
        """Does the same once more; false if it cannot, and nothing was done then."""
        if not self.may_stand():
            return False
        try:
            with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
                for sql, params, rows in self.statements:
                    cursor.execute(sql, params)
                    if cursor.rowcount != rows:
                        raise DatabaseError("the database is not as it was")
        except DatabaseError:
            with connections[alias].cursor() as cursor:
                cursor.execute("SET foreign_key_checks = 1")
            return False
        return True

    def may_stand(self) -> bool:
        """Tells whether what `loaddata` did looks the same as what it would do now."""
        return self.repeatable and not any(signal.has_listeners(model) for signal in (pre_save, post_save, m2m_changed) for model in self.models)

    def _saving(self, sender: Any, instance: Any, **kwargs: Any) -> None:
        self.models.add(sender)
        self.models.update(field.remote_field.through for field in sender._meta.local_many_to_many)
        if instance.pk is None:
            self.repeatable = False

    def _execute(self, execute: Any, sql: str, params: Any, many: bool, context: Dict[str, Any]) -> Any:
        result = execute(sql, params, many, context)
        word = sql.lstrip().upper()
        rows = context["cursor"].rowcount
        if word.startswith(REPEATED) and not many:
            if rows or not word.startswith("UPDATE"):  # an update of no row was a try
                self.statements.append((sql, params, rows))
        elif not word.startswith(PASSING):
            self.repeatable = False
        return result


_recordings: Dict[Tuple[Any, ...], Recording] = {}


def load(alias: str, fixtures: Tuple[Any, ...], command: Any) -> None:
    """Loads fixtures into an alias of Ramaria: by the command, or as the command did before."""
    key = (alias, connections[alias].settings_dict["ENGINE"], fixtures)
    known: Optional[Recording] = _recordings.get(key)
    content = marks.content(alias)
    if content == key and known is not None and known.may_stand():
        return
    if content not in (marks.EMPTY, marks.UNKNOWN):
        marks.empty(alias)
        content = marks.content(alias)
    if known is None or not known.repeat(alias):
        known = _recordings[key] = Recording()
        known.run(alias, command)
    if content is marks.EMPTY and known.may_stand():
        marks.mark(alias, key)
