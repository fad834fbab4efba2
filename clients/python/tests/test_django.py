"""A small Django project's tests, run by the runner on a real instance."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("django", reason="SKIPPED: Django is not installed")

SETTINGS = """
import os
if os.environ["DRIVER"] == "pymysql":
    import pymysql
    pymysql.install_as_MySQLdb()
SECRET_KEY = "x"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "shop"]
MYSQL = {"ENGINE": "django.db.backends.mysql", "NAME": "shop", "USER": "nobody", "HOST": "db.example.invalid", "OPTIONS": {"ssl": {"ca": "/none"}}}
DATABASES = {
    "default": {**MYSQL, "TEST": {"COLLATION": "utf8mb4_bin", "CHARSET": "utf8mb4"}},
    "copy": {**MYSQL, "TEST": {"MIRROR": "default"}},
    "other": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
}
TEST_RUNNER = "ramaria.django.Runner"
"""

MODELS = """
from django.db import models

class Item(models.Model):
    name = models.CharField(max_length=50)
"""

FIRST = """
from django.db import migrations, models

class Migration(migrations.Migration):
    operations = [migrations.CreateModel("Item", [("id", models.BigAutoField(primary_key=True)), ("name", models.CharField(max_length=50))])]
"""

SECOND = """
from django.db import migrations

def fill(apps, schema_editor):
    apps.get_model("shop", "Item").objects.using(schema_editor.connection.alias).create(name="migrated")

class Migration(migrations.Migration):
    dependencies = [("shop", "0001_first")]
    operations = [migrations.RunPython(fill)]
"""

TESTS = """
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, connections
from django.db.models.signals import post_save
from django.test import TestCase, TransactionTestCase
from shop.models import Item


class Plain(TestCase):
    def test_rolled_back(self):
        Item.objects.create(name="mine")
        self.assertEqual(Item.objects.count(), 2)

    test_again = test_rolled_back


class Flushed:
    databases = ["default", "other"]

    def test_reset(self):
        self.assertEqual([item.name for item in Item.objects.order_by("pk")], self.expected)
        self.assertEqual(Permission.objects.filter(content_type__model="item").count(), 4)
        mine = Item.objects.create(name="mine")
        if self.reset_sequences:  # else a TestCase may have moved the counter
            self.assertEqual(mine.pk, len(self.expected) + 1)
        Item.objects.using("other").create(name="theirs")
        ContentType.objects.get_for_model(Item).delete()
        connection.set_autocommit(False)
        Item.objects.create(name="not committed")

    test_1 = test_2 = test_3 = test_reset


class One(Flushed, TransactionTestCase):
    expected = ["migrated"]


class Serialized(Flushed, TransactionTestCase):
    serialized_rollback = True
    expected = ["migrated"]


class Sequences(Flushed, TransactionTestCase):
    reset_sequences = True
    expected = ["migrated"]


class Fixtures(Flushed, TransactionTestCase):
    fixtures = ["two"]
    expected = ["migrated", "loaded"]


class Many(TransactionTestCase):
    fixtures = ["many"]

    def test_rows(self):
        self.assertEqual(
            list(Item.objects.order_by("pk").values_list("pk", "name")),
            [(1, "migrated"), (3, "it's"), (4, "%s"), (7, "")],
        )

    test_again = test_rows


class Watched(TransactionTestCase):
    fixtures = ["two"]
    seen = []

    def setUp(self):
        post_save.connect(self.see, sender=Item)
        self.addCleanup(post_save.disconnect, self.see, sender=Item)

    def see(self, instance, **kwargs):
        self.seen.append(instance.name)

    def test_signal(self):
        Item.objects.create(name="mine")
        self.assertEqual(self.seen, ["mine"])
        self.seen.clear()


class Changed(TransactionTestCase):
    fixtures = ["two"]

    def setUp(self):
        # As a class would that changes rows before fixtures are loaded.
        Item.objects.filter(pk=2).update(name="changed")
        with connection.cursor() as cursor:
            cursor.execute("UPDATE shop_item SET name = 'gone' WHERE id = 2")
        self._fixture_setup()

    def test_loaded_over_rows(self):
        self.assertEqual(Item.objects.get(pk=2).name, "loaded")

    test_again = test_loaded_over_rows


class Aliases(TransactionTestCase):
    databases = ["default", "copy", "other"]

    def test_mirror(self):
        Item.objects.create(name="mine")
        self.assertEqual(Item.objects.using("copy").count(), 2)

    def test_other(self):
        self.assertEqual(connections["other"].vendor, "sqlite")
        self.assertNotIn("RAMARIA", connections["other"].settings_dict)

    def test_collation(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@collation_database")
            self.assertEqual(cursor.fetchone()[0], "utf8mb4_bin")
"""

FIXTURE = '[{"model": "shop.item", "pk": 2, "fields": {"name": "loaded"}}]'
MANY = json.dumps([{"model": "shop.item", "pk": pk, "fields": {"name": name}} for pk, name in ((3, "it's"), (4, "%s"), (7, ""))])


@pytest.fixture
def project(tmp_path):
    files = {
        "settings.py": SETTINGS,
        "shop/__init__.py": "",
        "shop/models.py": MODELS,
        "shop/tests.py": TESTS,
        "shop/fixtures/two.json": FIXTURE,
        "shop/fixtures/many.json": MANY,
        "shop/migrations/__init__.py": "",
        "shop/migrations/0001_first.py": FIRST,
        "shop/migrations/0002_second.py": SECOND,
    }
    for name, text in files.items():
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
    assert "Ran 26 tests" in said and migrations(said) == 2
    said = run(project, driver, "--reverse")
    assert "Ran 26 tests" in said and migrations(said) == 0
    assert leases(real, project) == []


def test_workers_have_clones(real, project, driver):
    said = run(project, driver, "--parallel=2")
    assert "Ran 26 tests" in said and "Found 26 test" in said
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


def test_without_resets_the_tests_fail(real, project):
    """The negative control."""
    pytest.importorskip("pymysql")
    with open(project / "settings.py", "a") as settings:
        settings.write("import ramaria.django.creation as creation\ncreation.CreationMixin.reset = lambda self: None\n")
    assert "FAILED" in run(project, "pymysql", "shop.tests.One", status=1)


def test_workers_that_are_not_forked(real, project):
    pytest.importorskip("pymysql")
    with open(project / "settings.py", "a") as settings:
        settings.write("import multiprocessing\nmultiprocessing.set_start_method('spawn', force=True)\n")
    assert "Ran 26 tests" in run(project, "pymysql", "--parallel=2")
