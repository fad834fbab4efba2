"""The pytest plugin: `ramaria_db` is a fresh database for each test.

Each process, so each worker of pytest-xdist, leases one database of each template and resets
it after each test, which is all that a test costs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional

import pytest

from .client import Client
from .errors import RamariaError
from .instance import connect
from .template import Template

if TYPE_CHECKING:
    from .database import Database

HOW = """no template is chosen
hint: set ramaria_dump, ramaria_alembic or ramaria_fill in pytest's configuration, or write a fixture \
ramaria_template that returns a ramaria.Template, or mark the test: @pytest.mark.ramaria(template)"""

# What a test's report says, and the name of the fixture by which a failed test is known.
SECTION = "Ramaria"
FIXTURE = "ramaria_db"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("ramaria", "databases of Ramaria")
    group.addoption("--ramaria-keep", action="store_true", help="a test that fails keeps its database, and its report has the DSN")
    parser.addini("ramaria_dump", "dumps, or directories of dumps, that make the template", type="paths")
    parser.addini("ramaria_alembic", "the alembic.ini whose migrations make the template", type="paths")
    parser.addini("ramaria_fill", "the function, as package.module:name, that fills the template's empty database")
    parser.addini("ramaria_keep_sessions", "connections keep variables, temporary tables and the like from test to test", type="bool", default=False)
    parser.addini("ramaria_depends", "files and directories on which ramaria_fill depends", type="paths")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "ramaria(template): the ramaria.Template, or the name of one, that ramaria_db is a clone of")


@pytest.fixture(scope="session")
def ramaria_server() -> Iterator[Client]:
    """The client of the instance that RAMARIA_API names, or of one that is started."""
    client = connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def ramaria_template(pytestconfig: pytest.Config) -> Template:
    """The template of ramaria_db, from pytest's configuration; override it for your own."""
    dumps = pytestconfig.getini("ramaria_dump")
    if dumps:
        return Template.from_dump(*dumps)
    alembic = pytestconfig.getini("ramaria_alembic")
    if alembic:
        return Template.from_alembic(alembic[0])
    fill = pytestconfig.getini("ramaria_fill")
    if fill:
        module, _, function = fill.partition(":")
        depends = pytestconfig.getini("ramaria_depends")
        return Template.from_callable(getattr(importlib.import_module(module), function), depends=depends)
    raise pytest.UsageError(HOW)


@pytest.fixture(scope="session")
def _ramaria_leases(ramaria_server: Client) -> Iterator[Dict[str, Database]]:
    """The databases that this process has, by template."""
    leases: Dict[str, Database] = {}
    yield leases
    for database in leases.values():
        database.release()


@pytest.fixture
def ramaria_db(request: pytest.FixtureRequest, ramaria_server: Client, _ramaria_leases: Dict[str, Database]) -> Iterator[Database]:
    """A database as its template is, which the test has for itself."""
    template = ramaria_server.ensure(_template(request))
    database = _ramaria_leases.pop(template, None) or ramaria_server.database(template)
    yield database
    if database.kept:
        database.close()
        return
    database.reset(sessions=not request.config.getini("ramaria_keep_sessions"))
    # Only now: one that could not be reset is not used again, and the next test gets another.
    _ramaria_leases[template] = database


@pytest.fixture
def ramaria_connection(ramaria_db: Database) -> Any:
    """A connection of mysqlclient or PyMySQL to ramaria_db, open from test to test."""
    return ramaria_db.connection()


@pytest.fixture
def ramaria_engine(ramaria_db: Database) -> Any:
    """An SQLAlchemy engine of ramaria_db, the same from test to test."""
    return ramaria_db.engine()


_ended_by: Optional[Callable[[], None]] = None


@pytest.hookimpl(hookwrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Iterator[None]:
    """Has pytest-django make its databases by the runner that the project's settings name."""
    global _ended_by
    if fixturedef.argname == "django_db_setup" and request.config.pluginmanager.hasplugin("django"):
        from .django import pytest as ours

        if ours.begin():
            _ended_by = ours.end
    yield


def pytest_unconfigure() -> None:
    global _ended_by
    end, _ended_by = _ended_by, None
    if end is not None:
        end()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    report = outcome.get_result()
    database = getattr(item, "funcargs", {}).get(FIXTURE)
    # In the test's own report, which pytest-xdist carries to where it is printed.
    if report.failed and report.when in ("setup", "call") and database is not None and item.config.getoption("ramaria_keep"):
        report.sections.append((SECTION, _keep(database)))


def _keep(database: Database) -> str:
    try:
        return f"the database of this test is kept: {database.keep()}"
    except RamariaError as error:
        return f"the database of this test could not be kept: {error}"


def _template(request: pytest.FixtureRequest) -> Any:
    marker = request.node.get_closest_marker("ramaria")
    if marker is None:
        return request.getfixturevalue("ramaria_template")
    arguments = [*marker.args, *marker.kwargs.values()]
    if len(arguments) != 1 or not set(marker.kwargs) <= {"template"}:
        raise pytest.UsageError("the mark ramaria takes one argument: @pytest.mark.ramaria(template)")
    return arguments[0]
