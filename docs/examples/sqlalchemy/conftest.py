import os
import pathlib

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session


@pytest.fixture
def session(ramaria_engine):
    with Session(ramaria_engine) as session:
        look(session)
        yield session


def pytest_generate_tests(metafunc):
    """Each test runs TIMES times: a benchmark wants more of them."""
    if "n" in metafunc.fixturenames:
        metafunc.parametrize("n", range(int(os.environ.get("TIMES", "1"))))


def look(session):
    """Says to a benchmark what the test found; it counts what differs from test to test."""
    if "RAMARIA_LEAKS" in os.environ:
        found = session.scalar(text(pathlib.Path("../look.sql").read_text()))
        session.commit()
        with open(os.environ["RAMARIA_LEAKS"], "a") as file:
            file.write(found + "\n")
