import pymysql

pymysql.install_as_MySQLdb()

SECRET_KEY = "an example"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "shop"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.mysql", "NAME": "shop"}}

TEST_RUNNER = "ramaria.django.Runner"
