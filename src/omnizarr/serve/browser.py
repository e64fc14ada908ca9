"""Opens a page in the user's browser, or says how to reach it from another machine."""

from __future__ import annotations

import getpass
import os
import socket
import sys
from threading import Thread

__all__ = ["is_headless", "open_page", "tunnel_hint"]


def is_headless() -> bool:
    """Whether this machine shows the user no windows: a remote shell, or a system without a display."""
    if "SSH_CONNECTION" in os.environ or "SSH_TTY" in os.environ:
        return True
    has_display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return sys.platform.startswith("linux") and not has_display


def open_page(address: str) -> None:
    """Opens an address in the browser, in a thread, because some systems wait for the browser to end."""
    if is_headless():
        return
    import webbrowser  # lazy import: only this command opens a browser

    Thread(target=webbrowser.open, args=(address,), name="omnizarr-browser", daemon=True).start()


def tunnel_hint(port: int) -> str | None:
    """The command that makes a port of this machine reachable on the user's own; None if this is the user's own."""
    if not is_headless():
        return None
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "user"
    return f"ssh -L {port}:127.0.0.1:{port} {user}@{socket.gethostname()}"
