"""Puts the `ramaria` binary into the wheel, as a file that pip installs beside `python`, and gives the wheel its version."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# What a ramaria that Go builds here says of itself.
SOURCE = "0.1.0-dev"


def version() -> str:
    """What the binary says of itself. RAMARIA_VERSION says it for one of another machine, which cannot be asked."""
    binary = os.environ.get("RAMARIA_BIN")
    if os.environ.get("RAMARIA_VERSION"):
        return os.environ["RAMARIA_VERSION"]
    if not binary:
        return SOURCE
    if not Path(binary).is_file():
        raise SystemExit(f"build wheel: RAMARIA_BIN names {binary}, and there is no such file\nhint: unset it, and Go builds one")
    said = subprocess.run([binary, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return said.split()[1]  # ramaria 0.1.0 (commit 0123abcd)


def pep440(version: str) -> str:
    """The same version as Python spells it: 0.1.0-rc1-3-g0123abc, three commits later, is 0.1.0rc1.post3+g0123abc."""
    if version == "dev":  # built by hand, which says no more
        return "0.dev0"
    parts = re.fullmatch(r"v?(\d+(?:\.\d+)*)(?:-(rc)\.?(\d+))?(?:-(\d+)-(g[0-9a-f]+))?(-dev)?(-dirty)?", version)
    if parts is None:
        raise SystemExit(f"build wheel: the version {version} of ramaria is none that Python knows\nhint: RAMARIA_VERSION=0.1.0 names another")
    number, rc, candidate, commits, commit, dev, dirty = parts.groups()
    local = ".".join(filter(None, [commit, dirty and "dirty"]))
    return "".join([number, f"rc{candidate}" if rc else "", f".post{commits}" if commits else "", ".dev0" if dev else "", f"+{local}" if local else ""])


class VersionHook(MetadataHookInterface):
    def update(self, metadata):
        metadata["version"] = pep440(version())


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
        command = ["go", "build", "-trimpath", "-buildvcs=false", "-ldflags", f"-s -w -X github.com/ramaria-db/ramaria/internal/cli.version={SOURCE}", "-o", str(binary), "./cmd/ramaria"]
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
