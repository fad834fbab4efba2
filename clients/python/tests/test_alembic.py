from __future__ import annotations

import pytest

import ramaria
from ramaria import Template

pytest.importorskip("alembic", reason="SKIPPED: Alembic is not installed")

ENV = """
from alembic import context
from sqlalchemy import create_engine

engine = create_engine({url})
with engine.connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()
"""

MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "{n}"
down_revision = {before}


def upgrade():
    op.create_table("t{n}", sa.Column("id", sa.Integer, primary_key=True))
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "alembic" / "versions").mkdir(parents=True)
    (tmp_path / "alembic.ini").write_text(f"[alembic]\nscript_location = {tmp_path}/alembic\n")
    (tmp_path / "alembic" / "env.py").write_text(ENV.format(url='context.config.get_main_option("sqlalchemy.url")'))
    migration(tmp_path, 1)
    return tmp_path


def migration(project, n):
    text = MIGRATION.format(n=n, before=repr(str(n - 1)) if n > 1 else None)
    (project / "alembic" / "versions" / f"{n}.py").write_text(text)


def tables(real, project):
    with real.database(Template.from_alembic(project / "alembic.ini")) as database:
        with database.engine().connect() as connection:
            return [name for (name,) in connection.exec_driver_sql("SHOW TABLES")], database.template


def test_migrations_make_a_template(real, project):
    names, first = tables(real, project)
    assert names == ["alembic_version", "t1"]
    assert tables(real, project)[1] == first
    migration(project, 2)
    names, second = tables(real, project)
    assert names == ["alembic_version", "t1", "t2"] and second != first


def test_migrations_that_went_elsewhere_are_an_error(real, project):
    (project / "alembic" / "env.py").write_text(ENV.format(url='"sqlite://"'))
    with pytest.raises(ramaria.RamariaError, match="they made no table.*\nhint: in env.py"):
        tables(real, project)
