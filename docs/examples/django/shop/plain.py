"""The same tests without Ramaria, to compare with: python manage.py test --settings shop.plain.

The server is that of the variables MYSQL_. ISOLATION says how the database is put back after each of
them: flush, as Django does, or none, with which they fail.
"""

import os

from .settings import *  # noqa: F403

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.mysql",
        "NAME": "shop",
        "HOST": os.environ["MYSQL_HOST"],
        "PORT": os.environ["MYSQL_TCP_PORT"],
        "USER": os.environ["MYSQL_USER"],
        "PASSWORD": os.environ["MYSQL_PWD"],
    }
}
runners = {"flush": "django.test.runner.DiscoverRunner", "none": "shop.keeping.Runner"}
if os.environ.get("ISOLATION") not in runners:
    raise SystemExit("ISOLATION is flush or none")
TEST_RUNNER = runners[os.environ["ISOLATION"]]
