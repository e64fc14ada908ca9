"""Factories of obstore clients: they hold what a client is made of, so that another process can create it again."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from omnizarr.errors import LocationError
from omnizarr.store.object.error_mapping import without_secrets
from omnizarr.store.object.obstore_fork import in_this_process, obstore
from omnizarr.store.object.options import (
    check_conditional,
    deobfuscate,
    describe_options,
    obfuscate,
    parse_options,
    secrets,
)
from omnizarr.store.object.profiles import profile_in_use
from omnizarr.store.object.web_client import WebClient, serves
from omnizarr.store.requests.hedging import Hedging
from omnizarr.store.requests.window import Window

__all__ = ["ClientFactory", "GivenClientFactory", "ProcessClient", "UrlClientFactory"]

_BUCKET = re.compile(r"[A-Za-z0-9._:-]+")
_QUERY = re.compile(r"\?.*=")
_CREDENTIALS = frozenset({"access_key_id", "skip_signature", "role_arn", "web_identity_token_file"})
"""Options that define where credentials come from."""


class ProcessClient(NamedTuple):
    """A client and its window, in one process."""

    client: Any
    window: Window
    process: int


class ClientFactory:
    """Creates a client, once per process."""

    location: str
    """The root, without a `/` at the end."""
    server: str = ""
    """What the location does not contain: the server and the account, if they are not the default ones."""
    kind: str
    """`s3`, `gs`, `az`, `http`, or the name of a class."""
    forbidden_is_absent: bool = False
    conditional: str = "verify"
    """Whether conditional writes are used: `verify`, `trust` or `off`."""
    endpoint: str | None = None
    """The address of the server, if the user gives one."""
    max_concurrency: int = 256
    retry_timeout: float = 60.0

    def __init__(self) -> None:
        self._process_client: ProcessClient | None = None
        self.secrets: list[str] = []

    def process_client(self) -> ProcessClient:
        """The client of this process, created on first use."""
        known = self._process_client
        if known is None or known.process != os.getpid():
            with _creating:
                known = self._process_client
                if known is None or known.process != os.getpid():
                    if known is not None:
                        _parent_clients.append(known)
                    client, window = self._create(), Window(self.max_concurrency, direct=True)
                    if not isinstance(client, WebClient):  # which sends second requests itself
                        window.hedging = Hedging()
                    known = ProcessClient(client, window, os.getpid())
                    self._process_client = known
        return known

    def _create(self) -> Any:
        raise NotImplementedError  # each kind of factory creates its own client


_creating = threading.RLock()


def _new_lock_in_child() -> None:
    global _creating
    _creating = threading.RLock()  # its holder may be a thread that a forked child does not have


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock_in_child)

_parent_clients: list[ProcessClient] = []
"""Clients of parent processes, which must not be destroyed here."""


class UrlClientFactory(ClientFactory):
    """Creates a client for a URL and the user's options."""

    def __init__(self, kind: str, root: str, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.kind = kind
        self.root = root  # the bucket; for `http`, the scheme and the server
        self.options = dict(options)
        parsed = parse_options(kind, options)
        self.forbidden_is_absent = parsed.forbidden_is_absent
        self.conditional = parsed.conditional
        self.endpoint = parsed.config.get("endpoint")
        self.max_concurrency = parsed.max_concurrency
        password = urlsplit(root).password if kind == "http" else None
        self.secrets = [*secrets(options), *([password] if password else [])]
        self.retry_timeout = float(parsed.retrying["retry_timeout"])
        server = {
            name: parsed.config[name] for name in ("endpoint", "base_url", "account_name") if name in parsed.config
        }
        self.server = " ".join(describe_options(server))
        self.location = without_secrets(root, ()) if kind == "http" else f"{kind}://{root}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UrlClientFactory) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash((self.kind, self.location))

    def _key(self) -> tuple[Any, ...]:
        return self.kind, self.location, self.server

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_url, (self.kind, obfuscate({"root": self.root}), obfuscate(self.options))

    def _create(self) -> Any:
        options = parse_options(self.kind, self.options)
        library = obstore()
        classes = {"s3": "S3Store", "gs": "GCSStore", "az": "AzureStore", "http": "HTTPStore"}
        cls = getattr(library.store, classes[self.kind])
        retrying: dict[str, Any] = dict(options.retrying)
        retrying["retry_timeout"] = timedelta(seconds=retrying["retry_timeout"])
        retrying["backoff"] = {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=5), "base": 2}
        arguments: dict[str, Any] = {"client_options": options.client, "retry_config": retrying}
        try:
            if self.kind == "http":
                if self.root.startswith("http://"):
                    options.client.setdefault("allow_http", True)  # the user wrote it
                client = cls(self.root, **arguments)
                return WebClient(self.root, options.client, client) if serves(self.root, options.client) else client
            arguments["config"] = options.config
            provider = options.credential_provider
            if self.kind == "s3":
                profile = None if provider or _CREDENTIALS & options.config.keys() else profile_in_use(options.profile)
                if profile is not None:
                    provider = profile
                    region = profile.values().get("region")
                    if region and not {"region", "default_region"} & options.config.keys():
                        arguments["config"] = {**options.config, "region": region}
            if provider is not None:
                arguments["credential_provider"] = provider
            return cls(self.root, **arguments)
        except LocationError:
            raise
        except Exception as error:
            text = " ".join(without_secrets(str(error), self.secrets).split())
            raise LocationError(f"`{self.location}` cannot be opened: {text}") from None


def _restore_url(kind: str, root: Mapping[str, Any], options: Mapping[str, Any]) -> UrlClientFactory:
    return UrlClientFactory(kind, deobfuscate(root)["root"], deobfuscate(options))


class GivenClientFactory(ClientFactory):
    """A client that the user created: one of obstore, or any object with the methods of the obspec protocol."""

    def __init__(
        self,
        client: Any,
        max_concurrency: int = 256,
        forbidden_is_absent: bool = False,
        conditional: str = "verify",
    ) -> None:
        super().__init__()
        self.client_object = client
        self.max_concurrency = max_concurrency
        self.forbidden_is_absent = forbidden_is_absent
        self.conditional = check_conditional(conditional)
        self._maker = os.getpid()
        name = type(client).__name__
        self.kind = {"S3Store": "s3", "GCSStore": "gs", "AzureStore": "az", "HTTPStore": "http"}.get(name, name)
        self.location = self._describe()

    def _describe(self) -> str:
        client, prefix = self.client_object, getattr(self.client_object, "prefix", None)
        config = getattr(client, "config", None)
        bucket = None
        if isinstance(config, Mapping):
            self.secrets = secrets(config)
            self.endpoint = config.get("endpoint")
            self.server = " ".join(describe_options(config))
            bucket = config.get("bucket") or config.get("container_name")
        if self.kind == "http":
            root = without_secrets(str(getattr(client, "url", "http://")), ())
        elif bucket is not None:
            root = f"{self.kind}://{bucket}"
        elif self.kind == "LocalStore":
            return f"file://{prefix or '/'}"
        else:
            root = f"{self.kind.lower()}://{id(client):x}"
        return f"{root.rstrip('/')}/{prefix}" if prefix else root.rstrip("/")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GivenClientFactory):
            return False
        return other.client_object is self.client_object or (
            self.kind != "MemoryStore" and bool(other.client_object == self.client_object)
        )

    def __hash__(self) -> int:
        return hash(self.kind)

    def __reduce__(self) -> tuple[Any, ...]:
        # The whole client is obfuscated: its configuration holds secrets.
        return _restore_given, (
            obfuscate({"client": self.client_object}),
            self.max_concurrency,
            self.forbidden_is_absent,
            self.conditional,
        )

    def _create(self) -> Any:
        return self.client_object if self._maker == os.getpid() else in_this_process(self.client_object)


def _restore_given(
    client: Mapping[str, Any], max_concurrency: int, forbidden_is_absent: bool, conditional: str
) -> GivenClientFactory:
    return GivenClientFactory(deobfuscate(client)["client"], max_concurrency, forbidden_is_absent, conditional)


def parse_url(url: str) -> tuple[str, str, str, dict[str, str]]:
    """The kind of a URL, its root, the path below the root, and the options that the URL contains."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme in ("http", "https"):
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise LocationError(f"this `{scheme}://` address cannot be read: {error}") from None
        if parts.query or parts.fragment:
            raise LocationError(
                "a web address with a query does not define where the keys below it are",
                hint="for signed addresses of buckets use `s3://`, `gs://` or `az://` and `storage_options`",
            )
        if not parts.netloc:
            raise LocationError(f"`{scheme}://` must be followed by the name of a server")
        return "http", f"{scheme}://{parts.netloc}", unquote(parts.path).strip("/"), {}
    kind = {"gcs": "gs", "s3a": "s3", "abfs": "az", "abfss": "az", "azure": "az", "adl": "az"}.get(scheme, scheme)
    root, _, path = rest.partition("/")
    options: dict[str, str] = {}
    if kind == "az" and "@" in root:  # abfs://container@account.dfs.core.windows.net/path
        root, _, server = root.partition("@")
        options["account_name"] = server.partition(".")[0]
    if not root:
        raise LocationError(f"`{scheme}://` must be followed by the name of a bucket")
    if "@" in root or _QUERY.search(path):  # the location is shown in errors
        raise LocationError(
            f"this `{scheme}://` address has a user or a signature in it",
            hint="give credentials in `storage_options`: `access_key_id` and `secret_access_key`, or `sas_token`",
        )
    if not _BUCKET.fullmatch(root):  # for some characters obstore panics
        raise LocationError(f"{root!r} is no name of a bucket: expected letters, digits, `.-_:`")
    return kind, root, path.strip("/"), options
