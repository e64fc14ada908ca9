"""Access keys from the files of the AWS tools: `~/.aws/credentials` and `~/.aws/config`."""

from __future__ import annotations

import os
from configparser import ConfigParser, Error
from pathlib import Path
from typing import Any

from omnizarr.errors import LocationError

__all__ = ["Profile", "profile_in_use"]


class Profile:
    """A section of those files, as a credential provider. A pickle contains the name of the section, and no keys."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or os.environ.get("AWS_PROFILE") or "default"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Profile) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __call__(self) -> dict[str, Any]:
        settings = self.values()
        if not {"aws_access_key_id", "aws_secret_access_key"} <= settings.keys():
            raise LocationError(
                f"the AWS profile `{self.name}` has no access key",
                hint="give a `credential_provider`, such as `obstore.auth.boto3.Boto3CredentialProvider()`",
            )
        return {
            "access_key_id": settings["aws_access_key_id"],
            "secret_access_key": settings["aws_secret_access_key"],
            "token": settings.get("aws_session_token"),
            "expires_at": None,
        }

    def values(self) -> dict[str, str]:
        """The settings of the section."""
        home = Path("~/.aws").expanduser()
        shared = os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or home / "credentials"
        config = os.environ.get("AWS_CONFIG_FILE") or home / "config"
        settings: dict[str, str] = {}
        for file, section in (
            (config, self.name if self.name == "default" else f"profile {self.name}"),
            (shared, self.name),
        ):
            parser = ConfigParser(interpolation=None)
            try:
                parser.read(file)
            except (Error, OSError, UnicodeDecodeError):
                raise LocationError(f"`{file}` cannot be read as a file of the AWS tools") from None
            if parser.has_section(section):
                settings |= dict(parser.items(section))
        return settings


def profile_in_use(name: str | None) -> Profile | None:
    """The profile for the credentials: the one called `name`. Without a name, the current one, if it has keys and the
    environment has none."""
    if name is not None:
        return Profile(name)
    if os.environ.get("AWS_ACCESS_KEY_ID") or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"):
        return None
    profile = Profile()
    return profile if "aws_access_key_id" in profile.values() else None
