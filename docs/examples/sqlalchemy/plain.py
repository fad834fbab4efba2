"""The same tests without Ramaria, to compare with: python -m pytest -p no:ramaria -p plain.

All have one database, that of DATABASE_URL. ISOLATION says how it is put back before each of them:
truncate, reload, or none, with which they fail.
"""

import os
import pathlib

import pytest
from sqlalchemy import create_engine, text

DUMP = pathlib.Path("../shop.sql").read_text().strip().rstrip(";").split(";\n")


@pytest.fixture(scope="session")
def engine():
    engine = create_engine(os.environ["DATABASE_URL"].replace("mysql:", "mysql+pymysql:", 1))
    reload(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def ramaria_engine(engine):
    ways = {"truncate": truncate, "reload": reload, "none": lambda engine: None}
    if os.environ.get("ISOLATION") not in ways:
        pytest.exit("ISOLATION is truncate, reload or none", returncode=1)
    ways[os.environ["ISOLATION"]](engine)
    return engine


def truncate(engine):
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
    with engine.begin() as connection:
        for table in connection.scalars(text(tables)).all():
            connection.exec_driver_sql(f"TRUNCATE TABLE {table}")
        for statement in DUMP:
            if statement.startswith("INSERT"):
                connection.exec_driver_sql(statement)


def reload(engine):
    with engine.begin() as connection:
        name = connection.scalar(text("SELECT DATABASE()"))
        for statement in [f"DROP DATABASE {name}", f"CREATE DATABASE {name}", f"USE {name}", *DUMP]:
            connection.exec_driver_sql(statement)
