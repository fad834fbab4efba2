"""Drivers and SQLAlchemy, on a real instance."""

from __future__ import annotations

import pytest

from ramaria import Template, connections


def fill(database):
    connection = database.connect()
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(20))")
    cursor.execute("INSERT INTO t (v) VALUES ('a'), ('b')")
    connection.commit()


TEMPLATE = Template.from_callable(fill, name="connections")


@pytest.fixture
def db(real):
    with real.database(TEMPLATE) as database:
        yield database


def rows(connection):
    cursor = connection.cursor()
    cursor.execute("SELECT COUNT(*), MAX(id) FROM t")
    return tuple(cursor.fetchone())


def insert(connection):
    connection.cursor().execute("INSERT INTO t (v) VALUES ('new')")


def test_a_connection_outlives_resets(db, driver):
    connection = db.connect(driver)
    for sessions in (True, False):
        for end in (connection.commit, connection.rollback, lambda: None):
            insert(connection)
            assert rows(connection) == (3, 3)
            end()
            db.reset(sessions=sessions)
            assert rows(connection) == (2, 2)


def test_without_the_rollback_the_error_says_why(db, driver, monkeypatch):
    """The negative control of the test above."""
    connection = db.connect(driver)
    insert(connection)
    monkeypatch.setattr(connections, "rollback", lambda opened: None)
    db.reset(sessions=False)
    for _ in range(2):
        with pytest.raises(Exception, match="Ramaria ended this connection at a reset") as error:
            rows(connection)
        assert error.value.args[0] in connections.LOST


def test_other_errors_stay_as_they_are(db, driver):
    connection = db.connect(driver)
    db.reset()
    with pytest.raises(Exception, match="doesn't exist") as error:
        connection.cursor().execute("SELECT * FROM nothing")
    assert error.value.args[0] == 1146 and connections.WHY not in str(error.value)


def test_the_kept_connection_is_the_same_until_it_is_closed(db, driver):
    first = db.connection(driver)
    assert db.connection(driver) is first
    first.close()
    assert rows(db.connection(driver)) == (2, 2)


def test_an_engine_outlives_resets(db, driver):
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SKIPPED: SQLAlchemy is not installed")
    count = sqlalchemy.text("SELECT COUNT(*) FROM t")
    engine = db.engine(driver)
    with engine.connect() as left_open:
        left_open.execute(sqlalchemy.text("INSERT INTO t (v) VALUES ('new')"))
        db.reset()
        assert left_open.execute(count).scalar() == 2
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("INSERT INTO t (v) VALUES ('new')"))
    db.reset()
    with engine.connect() as connection:
        assert connection.execute(count).scalar() == 2
    assert db.engine(driver) is engine and db.engine(driver, echo=False) is not engine


def test_a_kept_database_stays(real, driver):
    with real.database(TEMPLATE) as database:
        connection = database.connect(driver)
        insert(connection)
        connection.commit()
        assert database.keep() == database.url
    with real.database(TEMPLATE) as another:
        assert another.name != database.name
        another.renew()
    connection = database.connect(driver)
    assert rows(connection) == (3, 3)
    database.release()


def test_a_dump_is_a_template(real, tmp_path, driver):
    (tmp_path / "shop.sql").write_text("CREATE TABLE item (id INT PRIMARY KEY);\nINSERT INTO item VALUES (1), (2);\n")
    template = Template.from_dump(tmp_path / "shop.sql")
    with real.database(template) as database:
        cursor = database.connect(driver).cursor()
        cursor.execute("SELECT COUNT(*) FROM item")
        assert cursor.fetchone()[0] == 2
    assert real.ensure(Template.existing(real.ensure(template))) == real.ensure(template)
