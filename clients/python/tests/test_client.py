from __future__ import annotations

import os
import threading

import pytest

import ramaria
from ramaria import Template
from ramaria.template import digest, plain_name


def test_one_connection_serves_many_calls(api, client):
    with client.database("shop_1") as db:
        for _ in range(10):
            db.reset()
    assert len(api.connections) == 1
    assert api.requests("DELETE") == ["/v1/databases/shop_1_1"]


def test_counters_may_be_left(real, driver):
    create = "CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY)"
    template = Template.from_callable(lambda db: db.connection().cursor().execute(create), name="counters", key="1")
    with real.database(template) as db:

        def insert():
            cursor = db.connection(driver).cursor()
            cursor.execute("INSERT INTO t VALUES ()")
            db.connection(driver).commit()
            return cursor.lastrowid

        assert insert() == 1
        db.reset(counters=False)
        assert insert() == 2
        db.reset()
        assert insert() == 1
        db.set_savepoint()
        assert insert() == 2
        db.roll_back(counters=False)
        assert insert() == 3
        db.roll_back()
        assert insert() == 2


def test_savepoints(real, driver):
    template = Template.from_callable(lambda db: db.connection().cursor().execute("CREATE TABLE t (id int PRIMARY KEY)"), name="savepoints", key="1")
    with real.database(template) as db:
        cursor = db.connection(driver).cursor()

        def rows():
            cursor.execute("SELECT id FROM t ORDER BY id")
            return [row[0] for row in cursor.fetchall()]

        def insert(number):
            cursor.execute("INSERT INTO t VALUES (%s)", (number,))
            db.connection(driver).commit()

        insert(1)
        db.set_savepoint()
        for _ in range(2):
            insert(2)
            assert rows() == [1, 2]
            assert db.roll_back()["way"] == "rewind" and rows() == [1]
        db.reset()
        assert rows() == []
        with pytest.raises(ramaria.ApiError) as error:
            db.roll_back()
        assert error.value.code == "lost"


def test_threads_share_a_client(api, client):
    db = client.database("shop")
    threads = [threading.Thread(target=lambda: [db.reset() for _ in range(50)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(api.requests("POST")) == 1 + 8 * 50
    assert len(api.connections) <= 9


def test_a_forked_child_has_its_own_connections(api, client):
    db = client.database("shop")
    pid = os.fork()
    if pid == 0:
        try:
            db.reset()
            db.reset()
            os._exit(0)
        finally:
            os._exit(1)
    for _ in range(20):
        db.reset()
    assert os.waitpid(pid, 0)[1] == 0
    assert len(api.connections) == 2


def test_a_restarted_instance_is_found_again(tmp_path):
    from fake import FakeApi

    path = str(tmp_path / "s")
    client = ramaria.Client(path)
    with FakeApi(path):
        client.database("shop")
    with pytest.raises(ramaria.NoInstance, match="hint: ramaria ls"):
        client.database("shop")
    with FakeApi(path):
        client.database("shop")


def test_errors_have_code_and_hint(client):
    with pytest.raises(ramaria.ApiError, match="no /v1/status\nhint: ramaria db ls") as error:
        client.status()
    assert (error.value.status, error.value.code) == (404, "not_found")


def test_only_what_is_given_is_sent(api, client):
    client.database("shop", wait=5)
    assert api.asked[-1][2] == {"template": "shop", "wait_s": 5}


def test_the_password_is_not_shown(client):
    assert "secret" not in repr(client.database("shop"))


def test_a_template_is_built_once(api, client):
    filled = []
    template = Template.from_callable(filled.append, name="shop", key="1")
    for one in (template, Template.from_callable(filled.append, name="shop", key="1"), template):
        client.database(one)
    assert len(filled) == 1
    assert client.ensure(template) in api.templates


def test_a_failed_build_is_given_up(api, client):
    def fill(database):
        raise ValueError("no table")

    with pytest.raises(ValueError, match="no table"):
        client.database(Template.from_callable(fill))
    assert [path.split("_")[0] for path in api.requests("DELETE")] == ["/v1/templates/fill"]
    assert not api.templates


def test_the_key_follows_what_a_function_depends_on(api, client, tmp_path):
    def fill(database):
        pass

    def name():
        return client.ensure(Template.from_callable(fill, depends=[tmp_path]))

    (tmp_path / "a.sql").write_text("1")
    first = name()
    assert name() == first
    (tmp_path / "a.sql").write_text("2")
    assert name() != first
    with pytest.raises(ramaria.RamariaError, match="there is no"):
        Template.from_callable(fill, depends=[tmp_path / "nothing"])


def test_parts_of_a_key_do_not_run_together():
    assert digest(["ab", "c"]) != digest(["a", "bc"])


def test_names_are_made_plain():
    assert plain_name("my-app.default") == "my_app_default"
    assert len(plain_name("x" * 99)) == 40
