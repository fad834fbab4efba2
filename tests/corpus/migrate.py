"""Has Django make the tables of some apps in a database. Variables say which, and where."""

import os

import pymysql

pymysql.version_info = (2, 2, 8, "final", 0)  # Django asks for this of mysqlclient
pymysql.install_as_MySQLdb()

import django
from django.conf import settings
from django.core.management import call_command

settings.configure(
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"]
    + os.environ["CORPUS_APPS"].split(),
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.mysql",
            "NAME": os.environ["CORPUS_DATABASE"],
            "USER": os.environ["CORPUS_USER"],
            "PASSWORD": os.environ["CORPUS_PASSWORD"],
            "HOST": os.environ["CORPUS_SOCKET"],
        }
    },
    SITE_ID=1,
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    USE_TZ=True,
    SECRET_KEY="of no use",
    ROOT_URLCONF="migrate",
    STATIC_URL="/static/",
    WAGTAIL_SITE_NAME="corpus",
    WAGTAILADMIN_BASE_URL="http://127.0.0.1",
    SILENCED_SYSTEM_CHECKS=["fields.W342"],
)
django.setup()
call_command("migrate", verbosity=0, skip_checks=True)
