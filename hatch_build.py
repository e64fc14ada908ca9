"""Compiles the loop over chunks (`src/omnizarr/native/kernel.c` and its parts) when omnizarr is built or installed.

It is never needed: without a compiler, or the headers of Python, the package is made without it, all the same. One
build serves every Python from 3.11 on (the stable ABI). OMNIZARR_BUILD_NATIVE=0 leaves it out, =1 insists on it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):  # type: ignore[misc]
    """Adds the compiled module to wheels and to editable installations."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        folder = Path(self.root, "src", "omnizarr", "native")
        target = folder / "_kernel.abi3.so"
        wanted = os.environ.get("OMNIZARR_BUILD_NATIVE", "")
        if wanted == "0" or not self._compile(folder / "kernel.c", target, insist=wanted == "1"):
            if version == "editable":  # which would go on with one that was compiled before
                target.unlink(missing_ok=True)
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["artifacts"].append("src/omnizarr/native/_kernel.abi3.so")

    def _compile(self, source: Path, target: Path, *, insist: bool) -> bool:
        """Whether that went well. A module is put in its place when it is whole: somebody may be using the old one."""
        if os.name != "posix" or sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            return False  # there is no such file system, or no such ABI
        linked = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
        unfinished = target.with_suffix(".unfinished")
        try:
            command = [
                *shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"),
                *("-O3", "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-pthread", *linked),
                *shlex.split(os.environ.get("CFLAGS", "")),
                f"-I{sysconfig.get_path('include')}",
                str(source),
                *("-o", str(unfinished)),
            ]
            subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
            unfinished.replace(target)
            return True
        except (OSError, ValueError, subprocess.CalledProcessError) as error:  # ValueError: such are unpaired quotes
            unfinished.unlink(missing_ok=True)
            if insist:
                raise
            reason = (getattr(error, "stderr", "") or str(error)).strip()
            self.app.display_warning(f"omnizarr is built without its compiled loop over chunks: {reason}")
            return False
