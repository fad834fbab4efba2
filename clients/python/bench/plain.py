"""A MariaDB server set up by hand, with the settings that it comes with."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pymysql

from ramaria import instance

BOOTSTRAP = ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql", "maria_add_gis_sp_bootstrap.sql")
HEAD = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket='root';\n"
USER = "bench"


class PlainServer:
    """A server with its data in a new directory below `parent`, which goes at the end."""

    def __init__(self, parent: str) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="ramaria-plain-", dir=parent))
        self.socket = str(self.dir / "sock")

    def __enter__(self) -> PlainServer:
        listed = json.loads(instance.run("server", "ls", "--json"))
        path = Path(next(one["path"] for one in listed if one.get("flavour") == "mariadb" and not one.get("passed_over")))
        description = (path / "server.json").read_text()
        server = json.loads(description.replace(json.loads(description)["dir"], str(path)))
        data = self.dir / "data"
        data.mkdir()
        arguments = [
            *server["daemon"]["argv"],
            "--no-defaults",
            "--user=root",
            f"--datadir={data}",
            f"--lc-messages-dir={server['messages']}",
            f"--character-sets-dir={server['share']}/charsets",
            # As the distributions' configuration has it.
            "--character-set-server=utf8mb4",
            "--collation-server=utf8mb4_general_ci",
        ]
        script = HEAD + "\n".join((Path(server["share"]) / name).read_text() for name in BOOTSTRAP)
        with open(self.dir / "log", "w") as log:
            subprocess.run([*arguments, "--bootstrap"], input=script, text=True, stdout=log, stderr=log, check=True)
            account = self.dir / "init.sql"
            account.write_text(f"CREATE USER {USER}@localhost IDENTIFIED BY '{USER}';\nGRANT ALL ON *.* TO {USER}@localhost;\n")
            more = [f"--init-file={account}", f"--socket={self.socket}", f"--pid-file={self.dir}/pid", "--skip-networking"]
            self.process = subprocess.Popen([*arguments, *more], stdout=log, stderr=log)
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        # What Django copies a database with for --parallel.
        for name, key in (("mysql", "client"), ("mysqldump", "dumper")):
            program = self.dir / name
            program.write_text(f'#!/bin/sh\nexec {shlex.join(server[key]["argv"])} "$@"\n')
            program.chmod(0o755)
        return self

    @property
    def environment(self) -> "dict[str, str]":
        return {"BENCH_SOCKET": self.socket, "PATH": f"{self.dir}:{os.environ['PATH']}"}

    def __exit__(self, *exc: object) -> None:
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.dir)

    def _wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                pymysql.connect(unix_socket=self.socket, user=USER, password=USER).close()
                return
            except pymysql.MySQLError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError((self.dir / "log").read_text()[-2000:])
                time.sleep(0.05)
