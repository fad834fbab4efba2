"""Puts the `ramaria` binary into the wheel, as a file that pip installs beside `python`."""

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BinaryHook(BuildHookInterface):
    """Takes the binary that RAMARIA_BIN names, or has Go build it; it is static, so one wheel fits every Linux."""

    made = ""

    def from_source(self) -> Path:
        """Has Go build the binary of the checkout that the client lies in."""
        source = Path(self.root).resolve().parent.parent
        if not (source / "cmd" / "ramaria").is_dir():
            raise SystemExit(
                "build wheel: RAMARIA_BIN does not name the ramaria binary to put in\n"
                "hint: build in a clone of the project, or set RAMARIA_BIN to the path of a static ramaria"
            )
        if shutil.which("go") is None:
            raise SystemExit("build wheel: there is no go to build ramaria with\nhint: install Go, or set RAMARIA_BIN to the path of a static ramaria")
        self.made = tempfile.mkdtemp()
        binary = Path(self.made) / "ramaria"
        command = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", str(binary), "./cmd/ramaria"]
        subprocess.run(command, cwd=source, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
        return binary

    def finalize(self, version, build_data, artifact):
        if self.made:
            shutil.rmtree(self.made)

    def initialize(self, version, build_data):
        if version == "editable":  # such an install takes `ramaria` from PATH
            return
        binary = Path(os.environ.get("RAMARIA_BIN") or self.from_source())
        if not binary.is_file():
            raise SystemExit(f"build wheel: RAMARIA_BIN names {binary}, and there is no such file\nhint: unset it, and Go builds one")
        if b"\0/lib64/ld-linux" in binary.read_bytes()[:4096]:
            raise SystemExit(f"build wheel: {binary} is not static\nhint: build it with CGO_ENABLED=0")
        # RAMARIA_ARCH names another machine than this one, as Python does: aarch64.
        arch = os.environ.get("RAMARIA_ARCH") or platform.machine()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{arch}.manylinux2014_{arch}.musllinux_1_1_{arch}"
        build_data["shared_scripts"] = {str(binary.resolve()): "ramaria"}
