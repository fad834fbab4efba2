"""A small Django project's tests, run by the runner on a real instance."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from django_shop import FILES
from test_sessions import STATES

pytest.importorskip("django", reason="SKIPPED: Django is not installed")


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(project, driver, *options, status=0):
    """Returns what `manage.py test` says."""
    command = [sys.executable, "-m", "django", "test", "--noinput", "-v2", *options]
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": str(project), "DRIVER": driver}
    done = subprocess.run(command, cwd=project, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == status, done.stdout
    return done.stdout


def migrations(said):
    """How many migrations were run, on MySQL, not SQLite, which runs them each time."""
    return len(re.findall(r"Applying shop", said)) - 2


def leases(real, project):
    return [lease.name for lease in real.databases() if lease.name.startswith(project.name[:20])]


def test_the_second_run_migrates_nothing(real, project, driver):
    said = run(project, driver)
    assert "Ran 50 tests" in said and migrations(said) == 2
    said = run(project, driver, "--reverse")
    assert "Ran 50 tests" in said and migrations(said) == 0
    assert leases(real, project) == []


def test_workers_have_clones(real, project, driver):
    said = run(project, driver, "--parallel=2")
    assert "Ran 50 tests" in said and "Found 50 test" in said
    assert leases(real, project) == []


def test_a_changed_migration_is_run(real, project):
    pytest.importorskip("pymysql")
    run(project, "pymysql", "shop.tests.Plain")
    changed = project / "shop/migrations/0002_second.py"
    changed.write_text(changed.read_text().replace('"migrated"', '"other"'))
    assert "'other'" in run(project, "pymysql", "shop.tests.One", status=1)


LISTENER = """

from django.db.models.signals import post_save

seen = []


def see(sender, instance, **kwargs):
    seen.append(instance.name)


post_save.connect(see, sender=Item)
"""

LISTENING = """
from django.test import TransactionTestCase
from shop.models import seen


class Listening(TransactionTestCase):
    fixtures = ["two"]

    def test_loading_is_seen(self):
        self.assertEqual(seen, ["loaded"])
        seen.clear()

    test_again = test_loading_is_seen
"""


def test_fixtures_are_loaded_anew_where_signals_have_listeners(real, project):
    pytest.importorskip("pymysql")
    with open(project / "shop/models.py", "a") as models:
        models.write(LISTENER)
    (project / "shop/tests.py").write_text(LISTENING)
    assert "Ran 2 tests" in run(project, "pymysql")


def test_rows_are_inserted_together():
    from ramaria.django.fixtures import merged

    one = "INSERT INTO `a` (`id`, `b`) VALUES (%s, %s)"
    other = "INSERT INTO `a` (`id`) VALUES (%s)"
    change = "UPDATE `a` SET `b` = %s WHERE `a`.`id` = %s"
    odd = "INSERT INTO `a` (`id`, `b`) VALUES (%s, NOW(%s))"
    assert merged([(one, (1, 2), 1), (one, (3, 4), 1), (one + " RETURNING `a`.`id`", [5, 6], 1)]) == [
        (one + ", (%s, %s), (%s, %s)", (1, 2, 3, 4, 5, 6), 3)
    ]
    apart = [(one, (1, 2), 1), (change, (1, 2), 1), (one, (3, 4), 1), (other, (5,), 1), (odd, (6, 7), 1), (odd, (8, 9), 1), (one, (1, 2), 2)]
    assert merged(apart) == apart
    many = merged([(one, (n, n), 1) for n in range(12_000)])
    assert [rows for _, _, rows in many] == [5000, 5000, 2000]


SESSIONS = """
from django.db import connection
from django.test import TransactionTestCase


class Session(TransactionTestCase):
    found = {}


def check(name, leave, question):
    def run(self):
        ask = question or ("SELECT @@tx_isolation" if connection.mysql_is_mariadb else "SELECT @@transaction_isolation")
        with connection.cursor() as cursor:
            cursor.execute(ask)
            value = cursor.fetchall()
            self.assertEqual(self.found.setdefault(name, value), value)
            for statement in leave.split("; "):
                cursor.execute(statement)
            cursor.execute(ask)
            self.assertNotEqual(cursor.fetchall(), value)

    return run


for name, (leave, question) in STATES.items():
    for again in ("a", "b"):
        setattr(Session, f"test_{name}_{again}".replace(" ", "_"), check(name, leave, question))
"""


@pytest.mark.parametrize("kept", [False, True], ids=["closed", "kept"])
def test_nothing_of_a_session_passes_on(real, project, driver, kept):
    """Since Django closes the connection of such a test; with one that stays open the tests fail."""
    states = {name: (re.sub(r"\bt\b", "shop_item", leave), question and re.sub(r"\bt\b", "shop_item", question)) for name, (leave, question) in STATES.items()}
    del states["prepared statement"]  # whose number is one of the server's
    text = f"STATES = {states!r}\n{SESSIONS}"
    if kept:
        text += "\n\nSession._should_reload_connections = lambda self: False\n"
    (project / "shop/tests.py").write_text(text)
    said = run(project, driver, status=1 if kept else 0)
    assert f"Ran {2 * len(states)} tests" in said


def test_without_resets_the_tests_fail(real, project):
    """The negative control."""
    pytest.importorskip("pymysql")
    with open(project / "settings.py", "a") as settings:
        settings.write("import ramaria.django.creation as creation\ncreation.CreationMixin.reset = lambda self, counters: None\n")
    assert "FAILED" in run(project, "pymysql", "shop.tests.One", status=1)


def test_fixtures_stay_between_the_tests_of_a_class(real, project):
    """Of four tests the first two load them, and the others find them."""
    pytest.importorskip("pymysql")
    with open(project / "settings.py", "a") as settings:
        settings.write(COUNTING)
    said = run(project, "pymysql", "shop.tests.Fixtures")
    assert said.count("CALL mark") == 1 and said.count("CALL rewind") == 3 and said.count("CALL reset") == 2


COUNTING = """
import ramaria.django.creation as creation

def counted(name, original):
    def call(self, *arguments):
        print("CALL", name)
        original(self, *arguments)
    return call

for name in ("mark", "rewind", "reset"):
    setattr(creation.CreationMixin, name, counted(name, getattr(creation.CreationMixin, name)))
"""


SKIPPING = """
from unittest import skip

from django.test import TransactionTestCase
from shop.models import Item


class Skipping(TransactionTestCase):
    # Django from 5.2 on loads fixtures before the first test, even if the class has no test.
    fixtures = ["two"]
    reset_sequences = True

    @skip("as a test may be")
    def test_nothing(self):
        pass


class Skipping2(TransactionTestCase):
    def test_no_fixtures_of_others(self):
        self.flushes = getattr(type(self), "flushes", 0)
        type(self).flushes = self.flushes + 1
        if self.flushes:
            self.assertEqual([item.name for item in Item.objects.all()], ["migrated"])

    test_again = test_once_more = test_no_fixtures_of_others
"""


def test_a_mark_ends_with_its_class(real, project):
    """Also of one whose fixtures were loaded, and whose tests were skipped."""
    pytest.importorskip("pymysql")
    (project / "shop/tests.py").write_text(SKIPPING)
    assert "Ran 4 tests" in run(project, "pymysql")


def test_without_rewinds_the_tests_fail(real, project):
    """The negative control of marks."""
    pytest.importorskip("pymysql")
    with open(project / "settings.py", "a") as settings:
        settings.write("import ramaria.django.creation as creation\ncreation.CreationMixin.rewind = lambda self, counters: None\n")
    assert "FAILED" in run(project, "pymysql", "shop.tests.Fixtures", status=1)


def test_workers_that_are_not_forked(real, project):
    pytest.importorskip("pymysql")
    with open(project / "settings.py", "a") as settings:
        settings.write("import multiprocessing\nmultiprocessing.set_start_method('spawn', force=True)\n")
    assert "Ran 50 tests" in run(project, "pymysql", "--parallel=2")


PYTEST = """
import pytest
from django.db import connection
from shop.models import Item

@pytest.mark.parametrize("n", range(3))
def test_rolled_back(db, n):
    Item.objects.create(name="mine")
    assert Item.objects.count() == 2

@pytest.mark.parametrize("n", range(4))
def test_put_back(transactional_db, n):
    assert [item.name for item in Item.objects.all()] == ["migrated"]
    assert "ramaria" in type(connection.creation).__mro__[1].__module__
    Item.objects.create(name="mine")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE left_behind (a INT)")
"""


def run_pytest(project, *options, status=0):
    """Returns what pytest says, by pytest-django."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "shop/tests.py", "shop/test_functions.py", *options]
    (project / "shop/test_functions.py").write_text(PYTEST)
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": str(project), "DRIVER": "pymysql"}
    done = subprocess.run(command, cwd=project, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == status, done.stdout
    return done.stdout


@pytest.mark.parametrize("options", [[], ["-n2", "--reuse-db"]], ids=" ".join)
def test_pytest_django_takes_the_runner_of_the_settings(real, project, options):
    pytest.importorskip("pymysql")
    pytest.importorskip("pytest_django", reason="SKIPPED: pytest-django is not installed")
    before = {template["name"] for template in real.templates()}
    assert "57 passed" in run_pytest(project, *options)
    assert len({template["name"] for template in real.templates()} - before) == 1  # of all workers
    assert leases(real, project) == []


def test_pytest_django_without_migrations(real, project):
    pytest.importorskip("pymysql")
    pytest.importorskip("pytest_django", reason="SKIPPED: pytest-django is not installed")
    (project / "shop/tests.py").write_text("def test_it(transactional_db):\n    from shop.models import Item\n    assert Item.objects.count() == 0\n")
    before = {template["name"] for template in real.templates()}
    for _ in range(2):  # of which the second finds the template
        run_pytest(project, "--no-migrations", "-k", "test_it")
    assert len({template["name"] for template in real.templates()} - before) == 1
    assert leases(real, project) == []


def test_pytest_django_with_another_runner_is_left_alone(project):
    """The negative control: it goes by the settings, to a server that is not there."""
    pytest.importorskip("pymysql")
    pytest.importorskip("pytest_django", reason="SKIPPED: pytest-django is not installed")
    settings = project / "settings.py"
    settings.write_text(settings.read_text().replace("ramaria.django.Runner", "django.test.runner.DiscoverRunner"))
    assert "1 error" in run_pytest(project, "-x", status=1)
