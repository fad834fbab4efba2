"""Puts the `ramaria` binary into the wheel, as a file that pip installs beside `python`."""

import os
import platform
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BinaryHook(BuildHookInterface):
    """Takes the binary that RAMARIA_BIN names; it is static, so one wheel fits every Linux."""

    def initialize(self, version, build_data):
        if version == "editable":  # such an install takes `ramaria` from PATH
            return
        binary = Path(os.environ.get("RAMARIA_BIN", ""))
        if not binary.is_file():
            raise SystemExit(
                "build wheel: RAMARIA_BIN does not name the ramaria binary to put in\n"
                "hint: clients/python/build.sh builds both"
            )
        if b"\0/lib64/ld-linux" in binary.read_bytes()[:4096]:
            raise SystemExit(f"build wheel: {binary} is not static\nhint: build it with CGO_ENABLED=0")
        # RAMARIA_ARCH names another machine than this one, as Python does: aarch64.
        arch = os.environ.get("RAMARIA_ARCH") or platform.machine()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_17_{arch}.manylinux2014_{arch}.musllinux_1_1_{arch}"
        build_data["shared_scripts"] = {str(binary.resolve()): "ramaria"}
