"""Nothing of a session passes from one test to the next, on a real instance."""

from __future__ import annotations

import time

import pytest
from test_connections import TEMPLATE

# What leaves something in a session, and what tells it.
STATES = {
    "foreign_key_checks": ("SET foreign_key_checks = 0", "SELECT @@foreign_key_checks"),
    "sql_mode": ("SET SESSION sql_mode = ''", "SELECT @@sql_mode"),
    "isolation": ("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", None),
    "autocommit": ("SET autocommit = 1 - @@autocommit", "SELECT @@autocommit"),
    "timestamp": ("SET timestamp = 1000", "SELECT YEAR(NOW()) > 2000"),
    "character set": ("SET NAMES latin1", "SELECT @@character_set_client, @@character_set_results, @@collation_connection"),
    "user variable": ("SET @x = 1", "SELECT @x"),
    "temporary table": ("CREATE TEMPORARY TABLE t (a INT)", "SELECT COUNT(*) FROM t"),
    "user lock": ("DO GET_LOCK('z', 0)", "SELECT IS_FREE_LOCK('z')"),
    "database": ("USE information_schema", "SELECT DATABASE()"),
    "last_insert_id": ("INSERT INTO t VALUES (NULL, 'x')", "SELECT LAST_INSERT_ID()"),
    "transaction": ("START TRANSACTION; INSERT INTO t VALUES (77, 'x')", "SELECT COUNT(*) FROM t"),
    "locked table": ("LOCK TABLES t WRITE; INSERT INTO t VALUES (77, 'x')", "SELECT COUNT(*) FROM t"),
    "prepared statement": ("PREPARE s FROM 'SELECT 1'", "SELECT @@prepared_stmt_count"),
}


@pytest.fixture
def db(real):
    with real.database(TEMPLATE) as database:
        yield database


def ask(connection, question):
    cursor = connection.cursor()
    if question is None:
        mariadb = "MariaDB" in connection.get_server_info()
        question = "SELECT @@tx_isolation" if mariadb else "SELECT @@transaction_isolation"
    if "prepared_stmt_count" in question:
        question = "SHOW STATUS LIKE 'Prepared_stmt_count'"
    cursor.execute(question)
    return cursor.fetchall()


def leave(connection, statements):
    for statement in statements.split("; "):
        connection.cursor().execute(statement)


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("how", ["connection", "autocommit", "engine"])
def test_a_reset_puts_the_session_back(db, driver, name, how):
    if how == "engine":
        sqlalchemy = pytest.importorskip("sqlalchemy", reason="SKIPPED: SQLAlchemy is not installed")
        engine = db.engine(driver)

        @sqlalchemy.event.listens_for(engine, "connect")
        def set_up(opened, record):
            leave(opened, "SET SESSION sql_mode = 'ANSI'; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

        proxy = engine.raw_connection()
        connection = proxy.driver_connection
    else:
        connection = db.connect(driver, **({"autocommit": True} if how == "autocommit" else {}))
    statements, question = STATES[name]
    for put_back in (db.reset, db.reset):
        before = ask(connection, question)
        connection.rollback()
        leave(connection, statements)
        assert ask(connection, question) != before
        put_back()
        assert ask(connection, question) == before
        connection.rollback()


def test_a_session_that_is_kept(db, driver):
    connection = db.connect(driver)
    leave(connection, "SET @x = 1; INSERT INTO t VALUES (77, 'x')")
    db.reset(sessions=False)
    assert ask(connection, "SELECT @x, COUNT(*) FROM t") == ((1, 2),)


def test_what_it_costs(db, driver):
    connection = db.connect(driver)
    took = {True: [], False: []}
    for _ in range(200):
        for sessions in took:
            leave(connection, "INSERT INTO t VALUES (77, 'x')")
            connection.commit()
            start = time.perf_counter()
            db.reset(sessions=sessions)
            took[sessions].append(time.perf_counter() - start)
    medians = {sessions: sorted(times)[100] for sessions, times in took.items()}
    print(f"{driver}: a reset with its session takes {medians[True] * 1000:.2f} ms, without {medians[False] * 1000:.2f}")
    assert medians[True] < 2 * medians[False] + 0.005
