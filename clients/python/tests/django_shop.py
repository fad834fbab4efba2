"""The sources of a small Django project, with its tests."""

from __future__ import annotations

import json

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
    "same": {**MYSQL, "TEST": {"COLLATION": "utf8mb4_bin", "CHARSET": "utf8mb4"}},
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
import django
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
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


class SerializedAtClassSetup(TransactionTestCase):
    serialized_rollback = True

    @classmethod
    def setUpClass(cls):
        call_command("flush", verbosity=0, interactive=False, allow_cascade=True)
        super().setUpClass()
        if django.VERSION >= (5, 2):  # which sets up the first test here
            cls.assertEqual(cls(), [item.name for item in Item.objects.all()], ["migrated"])

    def test_rows(self):
        self.assertEqual([item.name for item in Item.objects.all()], ["migrated"])
        Item.objects.all().delete()

    test_again = test_rows


class Sequences(Flushed, TransactionTestCase):
    reset_sequences = True
    expected = ["migrated"]


class SequencesOfFixtures(Flushed, TransactionTestCase):
    reset_sequences = True
    fixtures = ["two"]
    expected = ["migrated", "loaded"]


class Fixtures(Flushed, TransactionTestCase):
    fixtures = ["two"]
    expected = ["migrated", "loaded"]


class Going(TransactionTestCase):
    seen = 0  # without reset_sequences counters go on

    def test_counter(self):
        pk = Item.objects.create(name="mine").pk
        self.assertGreater(pk, type(self).seen)
        type(self).seen = pk

    test_again = test_once_more = test_counter


class GoingBesideFixtures(Going):
    seen = 0
    fixtures = ["two"]


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


class Leaking(TransactionTestCase):
    fixtures = ["two"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        Item.objects.create(pk=50, name="of the class")
        cls.tests = 0

    def test_flushed(self):
        # What a class writes before its tests is gone after the first of them.
        Leaking.tests += 1
        self.assertEqual(Item.objects.filter(pk=50).exists(), Leaking.tests == 1)
        self.assertEqual(Item.objects.get(pk=2).name, "loaded")
        Item.objects.create(pk=60 + Leaking.tests, name="mine")
        if Leaking.tests == 3:
            with connection.cursor() as cursor:
                cursor.execute("ALTER TABLE shop_item COMMENT 'changed'")  # no way back by rows
        self.assertEqual(Item.objects.filter(pk__gt=60).count(), 1)

    test_1 = test_2 = test_3 = test_4 = test_flushed


class Hooked(TransactionTestCase):
    fixtures = ["two"]

    def _fixture_teardown(self):
        super()._fixture_teardown()
        # As a class would that wants rows of its own below all fixtures.
        Item.objects.create(pk=70, name="base")

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        Item.objects.all().delete()
        Item.objects.create(pk=1, name="migrated")

    def test_base(self):
        self.assertEqual(Item.objects.filter(pk=2).count(), 1)

    test_1 = test_2 = test_base


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


class Same(TransactionTestCase):
    # Two aliases of one database, without a mirror: each loads fixtures, and is put back.
    databases = ["default", "same"]
    fixtures = ["two"]

    def test_one_database(self):
        self.assertEqual([item.name for item in Item.objects.using("same").order_by("pk")], ["migrated", "loaded"])
        Item.objects.create(name="mine")
        Item.objects.using("same").filter(pk=2).delete()
        self.assertEqual([item.name for item in Item.objects.order_by("pk")], ["migrated", "mine"])

    test_1 = test_2 = test_3 = test_one_database
"""

FIXTURE = '[{"model": "shop.item", "pk": 2, "fields": {"name": "loaded"}}]'
MANY = json.dumps([{"model": "shop.item", "pk": pk, "fields": {"name": name}} for pk, name in ((3, "it's"), (4, "%s"), (7, ""))])

# By the paths where they belong.
FILES = {
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
