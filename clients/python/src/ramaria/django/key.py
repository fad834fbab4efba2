"""What a migrated database depends on."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any, Iterable, Iterator, List, Union

import django
from django.apps import apps
from django.conf import settings
from django.db import router

from ..template import content, digest

# The settings that change what `migrate` makes. RAMARIA_TEMPLATE_FILES names what else the
# migrations of a project read: files, and directories with all that is in them.
SETTINGS = (
    "INSTALLED_APPS",
    "AUTH_USER_MODEL",
    "DATABASE_ROUTERS",
    "DEFAULT_AUTO_FIELD",
    "DEFAULT_TABLESPACE",
    "DEFAULT_INDEX_TABLESPACE",
    "CACHES",
    "LANGUAGE_CODE",
    "SITE_ID",
    "TIME_ZONE",
    "USE_TZ",
    "RAMARIA_TEMPLATE_FILES",
)


def template_key(connection: Any) -> str:
    """Returns the key of an alias's migrated database.

    It is a hash of the migrations of all apps, the models of those without, the routers, the
    settings above and those of the alias, and Django's version.
    """
    return digest(_parts(connection))


def _parts(connection: Any) -> Iterator[Union[str, bytes]]:
    yield django.get_version()
    yield connection.alias
    for name in SETTINGS:
        yield f"{name}={getattr(settings, name, None)!r}"
    for name in ("ENGINE", "OPTIONS", "TIME_ZONE"):
        yield f"{name}={connection.settings_dict.get(name)!r}"
    # Not its NAME, which no database has, and which pytest-django makes another for each worker.
    yield f"TEST={({name: value for name, value in connection.settings_dict['TEST'].items() if name != 'NAME'})!r}"
    for config in apps.get_app_configs():
        yield f"{config.label}={_migrations(config)}"
        yield from content(_files(config, connection))
    for one in router.routers:
        yield from content(_sources([type(one)]))
    yield from content(getattr(settings, "RAMARIA_TEMPLATE_FILES", ()))


def _files(config: Any, connection: Any) -> List[Path]:
    """Returns where an app's tables come from: its migrations, or else its models."""
    migrations = _migrations(config)
    if migrations is not None and connection.settings_dict["TEST"]["MIGRATE"] is not False:
        try:
            return [Path(path) for path in importlib.import_module(migrations).__path__]
        except ModuleNotFoundError as error:
            if not migrations.startswith(error.name or " "):
                raise  # the migrations are there, and import what is not
    return sorted(set(_sources(base for model in config.get_models() for base in model.__mro__[:-1])))


def _migrations(config: Any) -> Any:
    """Returns the module with an app's migrations, None if they are switched off, as by pytest --no-migrations."""
    modules = settings.MIGRATION_MODULES
    return modules[config.label] if config.label in modules else f"{config.name}.migrations"


def _sources(things: Iterable[Any]) -> List[Path]:
    return [Path(inspect.getfile(thing)) for thing in things]
