"""The same tests without Ramaria, to compare with: python manage.py test --settings shop.plain.

The server is that of the variables MYSQL_. With ISOLATION=none nothing is flushed, and they fail.
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
TEST_RUNNER = "shop.keeping.Runner" if os.environ.get("ISOLATION") == "none" else "django.test.runner.DiscoverRunner"
