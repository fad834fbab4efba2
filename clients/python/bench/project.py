"""Generates a Django project: 60 migrations over 40 tables, 300 TransactionTestCase tests."""

from __future__ import annotations

import json
from pathlib import Path

APPS, MODELS, CLASSES, METHODS = 4, 10, 15, 5
ROWS = 4  # in a fixture

SETTINGS = """
import os
SECRET_KEY = "bench"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", {apps}]
DATABASES = {{"default": {{
    "ENGINE": "django.db.backends.mysql", "NAME": "bench", "USER": "bench", "PASSWORD": "bench",
    "HOST": os.environ.get("BENCH_SOCKET", ""),
}}}}
if "BENCH_SOCKET" not in os.environ:
    TEST_RUNNER = "ramaria.django.Runner"
if os.environ.get("BENCH_DRIVER") == "pymysql":
    import pymysql
    pymysql.install_as_MySQLdb()
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
"""

MANAGE = """
import os, sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "settings")
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""

MODEL = """

class M{n}(models.Model):
    name = models.CharField(max_length=100, db_index=True)
    number = models.IntegerField(default={n})
    created = models.DateTimeField(null=True)
    parent = models.ForeignKey("{parent}", null=True, on_delete=models.CASCADE)
"""

MIGRATION = """
import django.db.models.deletion
from django.db import migrations, models


def fill(apps, schema_editor):
    apps.get_model("{app}", "M9").objects.create(name="from a migration")


class Migration(migrations.Migration):
    dependencies = {dependencies}
    operations = [{operation}]
"""

CREATE = """migrations.CreateModel("M{n}", [
    ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
    ("name", models.CharField(max_length=100, db_index=True)),
    ("number", models.IntegerField(default={n})),
    ("parent", models.ForeignKey("{app}.{parent}", null=True, on_delete=django.db.models.deletion.CASCADE)),
])"""

ADD = 'migrations.AddField("M{n}", "created", models.DateTimeField(null=True))'

TESTS = """
from django.test import TransactionTestCase
from {app}.models import M1, M2


class {name}(TransactionTestCase):
    fixtures = ["{app}"]

    def check(self, n):
        M2.objects.create(name=f"new {{n}}", parent=M1.objects.get(pk=1))
        M1.objects.filter(pk=2).update(name="changed")
        self.assertEqual(M1.objects.filter(name="row 2").count(), 0)
        self.assertEqual(M2.objects.count(), 1)
"""

METHOD = """
    def test_{n}(self):
        self.check({n})
"""


def generate(root: Path) -> None:
    """Writes the project into a directory."""
    apps = [f"app{n}" for n in range(APPS)]
    write(root / "settings.py", SETTINGS.format(apps=", ".join(map(repr, apps))))
    write(root / "manage.py", MANAGE)
    for app in apps:
        make_app(root / app, app)


def make_app(root: Path, app: str) -> None:
    write(root / "__init__.py", "")
    write(root / "migrations" / "__init__.py", "")
    write(root / "models.py", "from django.db import models\n" + "".join(MODEL.format(n=n, parent=parent(n)) for n in range(MODELS)))
    steps = []
    for n in range(MODELS):
        steps.append(CREATE.format(n=n, app=app, parent=parent(n)))
        if n % 2:  # two models get the column at once, so that five migrations alter tables
            steps.append(",\n".join(ADD.format(n=m) for m in (n - 1, n)))
    steps[-1] += ", migrations.RunPython(fill)"
    before = []
    for n, operation in enumerate(steps, 1):
        write(root / "migrations" / f"{n:04}_step.py", MIGRATION.format(app=app, dependencies=before, operation=operation))
        before = [(app, f"{n:04}_step")]
    rows = [{"model": f"{app}.m1", "pk": pk, "fields": {"name": f"row {pk}"}} for pk in range(1, ROWS + 1)]
    write(root / "fixtures" / f"{app}.json", json.dumps(rows))
    write(root / "tests" / "__init__.py", "")
    for n in range(CLASSES):
        text = TESTS.format(app=app, name=f"Test{n}") + "".join(METHOD.format(n=m) for m in range(METHODS))
        write(root / "tests" / f"test_{n}.py", text)


def parent(n: int) -> str:
    return f"M{max(n - 1, 0)}"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
