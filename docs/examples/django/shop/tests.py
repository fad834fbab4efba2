import os
import pathlib

from django.db import connection
from django.test import TransactionTestCase

from .models import Item


class ItemTest(TransactionTestCase):
    """Tests that commit, as those with threads, tasks or a browser do: Django flushes all tables after each."""

    fixtures = ["items"]

    def setUp(self):
        look()

    def assert_items(self, *names):
        self.assertEqual(list(Item.objects.order_by("pk").values_list("name", flat=True)), list(names))

    def adds_an_item(self, n):
        Item.objects.create(name=f"cocoa {n}")
        self.assert_items("tea", "coffee", f"cocoa {n}")

    def renames_an_item(self, n):
        Item.objects.filter(pk=1).update(name=f"chai {n}")
        self.assert_items(f"chai {n}", "coffee")

    def deletes_an_item(self, n):
        Item.objects.get(pk=2).delete()
        self.assert_items("tea")

    def alters_the_table(self, n):
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE items ADD COLUMN price_{n} INT")
        self.assert_items("tea", "coffee")

    def sets_a_variable(self, n):
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_wait_timeout = {100 + n}")
        self.assert_items("tea", "coffee")

    def only_reads(self, n):
        self.assert_items("tea", "coffee")


TESTS = ["adds_an_item", "renames_an_item", "deletes_an_item", "alters_the_table", "sets_a_variable", "only_reads"]
for n in range(int(os.environ.get("TIMES", "1"))):  # a benchmark wants more of them
    for name in TESTS:
        setattr(ItemTest, f"test_{n}_{name}", lambda self, n=n, name=name: getattr(self, name)(n))


def look():
    """Says to a benchmark what the test found; it counts what differs from test to test."""
    if "RAMARIA_LEAKS" in os.environ:
        with connection.cursor() as cursor, open(os.environ["RAMARIA_LEAKS"], "a") as file:
            cursor.execute(pathlib.Path("../look.sql").read_text())
            file.write(cursor.fetchone()[0] + "\n")
