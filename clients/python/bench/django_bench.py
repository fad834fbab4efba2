"""Runs a generated Django project's tests on plain MariaDB, on disk and in RAM, and on Ramaria.

    RAMARIA_BIN=.../ramaria python bench/django_bench.py [--driver pymysql] [--disk DIR]

Needs Django, PyMySQL and mysqlclient. It makes an instance of its own and removes it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from plain import PlainServer
from project import generate

from ramaria import instance

INSTANCE = f"django-bench-{os.getpid()}"

# Python keeps its compiled files, as by default: else every run compiles Django again.
OWN = {name: value for name, value in os.environ.items() if name not in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")}


def run_suite(root: Path, driver: str, parallel: int, **environment: str) -> "tuple[float, str]":
    """Returns the seconds that `manage.py test` took, and its results."""
    command = [sys.executable, "manage.py", "test", "--noinput", "--verbosity=0", f"--parallel={parallel}"]
    env = {**OWN, "BENCH_DRIVER": driver, "RAMARIA_INSTANCE": INSTANCE, **environment}
    started = time.monotonic()
    done = subprocess.run(command, cwd=root, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds = time.monotonic() - started
    ran = re.search(r"Ran (\d+) tests", done.stdout)
    if done.returncode != 0 or ran is None:
        raise SystemExit(done.stdout[-3000:])
    return seconds, f"{ran[1]} passed"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", default="mysqlclient", choices=["mysqlclient", "pymysql"])
    parser.add_argument("--disk", default="/var/tmp", help="a directory on a disk")
    parser.add_argument("--only", default="disk,tmpfs,ramaria")
    options = parser.parse_args()
    if options.driver == "pymysql":
        import pymysql

        pymysql.install_as_MySQLdb()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "project"
        generate(root)
        # Nor is Django compiled, or read from disk for the first time, in what is timed.
        subprocess.run([sys.executable, "-m", "compileall", "-q", root], env=OWN, check=True)
        subprocess.run([sys.executable, "manage.py", "check"], cwd=root, env={**OWN, "BENCH_DRIVER": options.driver}, stdout=subprocess.DEVNULL, check=True)
        for parallel in (1, 2):
            for place, parent in (("disk", options.disk), ("tmpfs", "/dev/shm")):
                if place in options.only:
                    with PlainServer(parent) as server:
                        rows.append((f"MariaDB, {place}", parallel, *run_suite(root, options.driver, parallel, **server.environment)))
            if "ramaria" in options.only:
                instance.run("up", INSTANCE)
                try:
                    for which in ("first", "second"):
                        rows.append((f"Ramaria, {which} run", parallel, *run_suite(root, options.driver, parallel)))
                finally:
                    instance.run("down", INSTANCE, "--rm")
    seconds = {(what, parallel): took for what, parallel, took, _ in rows}
    print(f"\n{'':22} {'PARALLEL':>8} {'SECONDS':>8} {'RESULTS':>12} {'2ND RUN IS FASTER BY':>21}")
    for what, parallel, took, results in rows:
        second = seconds.get(("Ramaria, second run", parallel))
        ratio = f"{took / second:.1f}" if second else ""
        print(f"{what:22} {parallel:8} {took:8.2f} {results:>12} {ratio:>21}")


if __name__ == "__main__":
    main()
