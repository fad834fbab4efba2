"""Templates made by Alembic migrations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Optional, Union

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from .database import Database
from .errors import RamariaError
from .template import Template, content, digest


def template(config: Union[str, os.PathLike[str], Config], *, name: Optional[str] = None, revision: str = "heads") -> Template:
    """Makes a template of the environment of an alembic.ini, or of a Config.

    Its key is a hash of env.py, of the migration scripts and of the heads.
    """
    cfg = config if isinstance(config, Config) else Config(os.fspath(config))
    scripts = ScriptDirectory.from_config(cfg)
    where = Path(scripts.dir).resolve()
    elsewhere = [Path(script.path) for script in scripts.walk_revisions() if where not in Path(script.path).resolve().parents]
    key = digest([revision, *sorted(scripts.get_heads()), *content([where, *sorted(elsewhere)])])

    def migrate(database: Database) -> None:
        engine = database.engine()
        with engine.connect() as connection:
            # Both ways in which an env.py may learn where to connect; % is special in the file's format.
            url = engine.url.render_as_string(hide_password=False)
            cfg.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
            cfg.attributes["connection"] = connection
            command.upgrade(cfg, revision)
            connection.commit()
            _require_tables(connection, cfg)

    return Template.from_callable(migrate, name=name or where.parent.name + "_alembic", key=key)


def _require_tables(connection: Any, cfg: Config) -> None:
    """Fails if the migrations went elsewhere: an env.py may have an address of its own."""
    if not connection.exec_driver_sql("SHOW TABLES").fetchall():
        raise RamariaError(
            f"run migrations of {cfg.config_file_name}: they made no table in the database that they were given\n"
            'hint: in env.py use config.attributes["connection"] or config.get_main_option("sqlalchemy.url")'
        )
