"""Measures what resets add to 1000 tests of three changes each, in two workers of pytest-xdist.

    RAMARIA_BIN=.../ramaria python bench/pytest_bench.py [--rounds 3]

Needs pytest-xdist and PyMySQL or mysqlclient. The same tests without resets are the tests' own
time. It makes an instance of its own and removes it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ramaria import instance

INSTANCE = f"pytest-bench-{os.getpid()}"

SCHEMA = """
CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(50), price INT);
INSERT INTO item (name, price) VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4);
"""

TESTS = """
import pytest

@pytest.mark.parametrize("n", range(1000))
def test_three_changes(ramaria_connection, n):
    cursor = ramaria_connection.cursor()
    cursor.execute("INSERT INTO item (name, price) VALUES ('new', %s)", (n,))
    cursor.execute("UPDATE item SET price = price + 1 WHERE name = 'b'")
    cursor.execute("DELETE FROM item WHERE name = 'c'")
    ramaria_connection.commit()
"""

# The tests' own time: everything but the resets.
WITHOUT = """
import ramaria
ramaria.Database.reset = lambda self: None
"""


def run(directory: Path) -> float:
    command = [sys.executable, "-m", "pytest", "-q", "-n2", "-p", "no:cacheprovider", str(directory)]
    started = time.monotonic()
    subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ["RAMARIA_INSTANCE"] = INSTANCE
    os.environ.pop("RAMARIA_API", None)
    with tempfile.TemporaryDirectory() as name:
        places = {}
        for kind, conftest in (("own", WITHOUT), ("reset", "")):
            places[kind] = Path(name) / kind
            places[kind].mkdir()
            for file, text in (("schema.sql", SCHEMA), ("test_it.py", TESTS), ("conftest.py", conftest), ("pytest.ini", "[pytest]\nramaria_dump = schema.sql\n")):
                (places[kind] / file).write_text(text)
        instance.run("up", INSTANCE)
        try:
            run(places["reset"])  # makes the template
            rounds = [{kind: run(place) for kind, place in places.items()} for _ in range(options.rounds)]
        finally:
            instance.run("down", INSTANCE, "--rm")
    own, reset = (statistics.median(one[kind] for one in rounds) for kind in ("own", "reset"))
    print(f"\n1000 tests, 2 workers, median of {options.rounds}: {reset:.2f} s, without resets {own:.2f} s, so resets take {reset - own:.2f} s")


if __name__ == "__main__":
    main()
