"""Build hook that compiles the kernel (`src/omnizarr/native/kernel.c`, which includes the other `.c` files there).

The kernel is optional: without a C compiler or the headers of Python, the hook builds the package without it. One
build serves every Python from 3.11 on (stable ABI). OMNIZARR_BUILD_NATIVE=0 skips it; =1 fails if it cannot compile.
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
        choice = os.environ.get("OMNIZARR_BUILD_NATIVE", "")
        if choice == "0" or not self._compile(folder / "kernel.c", target, required=choice == "1"):
            if version == "editable":  # otherwise a kernel compiled earlier would stay in use
                target.unlink(missing_ok=True)
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{platform}"
        build_data["artifacts"].append("src/omnizarr/native/_kernel.abi3.so")

    def _compile(self, source: Path, target: Path, *, required: bool) -> bool:
        """Compile `source`; False if that fails. Replaces `target` atomically, because a process may have loaded it."""
        if os.name != "posix" or sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            return False  # the kernel needs POSIX files and the stable ABI
        link_options = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
        temporary = target.with_suffix(".unfinished")
        try:
            command = [
                *shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"),
                *("-O3", "-std=c11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-pthread", *link_options),
                *shlex.split(os.environ.get("CFLAGS", "")),
                f"-I{sysconfig.get_path('include')}",
                str(source),
                *("-o", str(temporary)),
            ]
            subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
            temporary.replace(target)
            return True
        except (
            OSError,
            ValueError,
            subprocess.CalledProcessError,
        ) as error:  # ValueError: unpaired quotes in CFLAGS
            temporary.unlink(missing_ok=True)
            if required:
                raise
            reason = (getattr(error, "stderr", "") or str(error)).strip()
            self.app.display_warning(f"building omnizarr without its compiled kernel: {reason}")
            return False
