"""Django's tests on Ramaria: TEST_RUNNER = "ramaria.django.Runner".

Every alias with a MySQL engine gets its test database from an instance: a clone of a template
that holds the migrated database. The flush after a TransactionTestCase becomes a reset, after
which the database is as it was after `migrate`. Other aliases stay untouched.

pytest-django does the same by that setting: see pytest_plugin. With another runner, call install()
before databases are set up.
"""

from .install import install, uninstall
from .runner import Runner, RunnerMixin

__all__ = ["Runner", "RunnerMixin", "install", "uninstall"]
