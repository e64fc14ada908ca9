"""Storage options of buckets and web servers: common names are translated to those of obstore. Secrets are never shown,
and obfuscated in pickles."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Mapping
from datetime import timedelta
from hashlib import shake_256
from typing import Any, NamedTuple

from omnizarr._json import nearest
from omnizarr.errors import LocationError
from omnizarr.store.object.error_mapping import without_secrets

__all__ = ["Options", "check_conditional", "deobfuscate", "describe_options", "obfuscate", "parse_options", "secrets"]

_ALIASES = {
    "anon": "skip_signature",
    "endpoint_url": "endpoint",
    "headers": "default_headers",
    "retries": "max_retries",
}
_SCHEME_ALIASES = {
    "s3": {
        "key": "access_key_id",
        "secret": "secret_access_key",
        "token": "session_token",
        "aws_access_key_id": "access_key_id",
        "aws_secret_access_key": "secret_access_key",
        "aws_session_token": "session_token",
        "region_name": "region",
        "requester_pays": "request_payer",
    },
    "gs": {"token": "bearer_token", "endpoint": "base_url"},
    "az": {"sas_token": "sas_key", "account": "account_name", "key": "account_key"},
    "http": {},
}
_CONFIG_OPTIONS = {
    "s3": frozenset(
        (
            *("access_key_id", "secret_access_key", "session_token", "region", "default_region", "endpoint"),
            *("skip_signature", "virtual_hosted_style_request", "request_payer", "role_arn", "role_session_name"),
            *("web_identity_token_file", "sts_endpoint", "metadata_endpoint", "imdsv1_fallback", "s3_express"),
            *("container_credentials_relative_uri", "container_credentials_full_uri", "conditional_put"),
            *("container_authorization_token_file", "unsigned_payload", "checksum_algorithm", "disable_bulk_delete"),
            *("server_side_encryption", "sse_kms_key_id", "sse_bucket_key_enabled", "sse_customer_key_base64"),
        )
    ),
    "gs": frozenset(
        (
            *("service_account", "service_account_key", "bearer_token", "application_credentials"),
            *("skip_signature", "base_url"),
        )
    ),
    "az": frozenset(
        (
            *("account_name", "account_key", "client_id", "client_secret", "tenant_id", "authority_host", "sas_key"),
            *("token", "use_emulator", "use_fabric_endpoint", "endpoint", "msi_endpoint", "object_id"),
            *("msi_resource_id", "federated_token_file", "use_azure_cli", "skip_signature", "credential_type"),
        )
    ),
    "http": frozenset[str](),
}
_CLIENT_OPTIONS: dict[str, Any] = {
    "allow_http": None,
    "allow_invalid_certificates": None,
    "connect_timeout": 5.0,
    "default_headers": None,
    "http1_only": None,
    "http2_only": None,
    "pool_idle_timeout": None,
    "pool_max_idle_per_host": None,
    "proxy_url": None,
    "proxy_ca_certificate": None,
    "proxy_excludes": None,
    "randomize_addresses": None,
    "read_timeout": 20.0,
    "root_certificate": None,
    "timeout": 60.0,
    "user_agent": None,
}
_ENDPOINT = re.compile(r"https?://[^\s/]+(?:/[!-~]*)?")
_ENDPOINT_VARIABLES = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
"""Variables that the tools of Amazon and Azure read. obstore reads some of them, but then rejects `http://`."""
_DURATIONS = frozenset({"connect_timeout", "pool_idle_timeout", "read_timeout", "timeout"})
_RETRY_OPTIONS: dict[str, Any] = {"max_retries": 5, "retry_timeout": 60.0}
_OWN_OPTIONS: dict[str, Any] = {
    "conditional": "verify",
    "forbidden_is_absent": False,
    "max_concurrency": 256,
    "profile": None,
    "credential_provider": None,
}
_SECRET_WORDS = (
    *("key", "secret", "token", "pass", "headers", "authorization", "proxy_url", "sas"),
    *("credential", "connection_string"),
)
"""Words in the names of options that hold secrets, of omnizarr and of fsspec file systems."""


class Options(NamedTuple):
    """The options by purpose."""

    config: dict[str, Any]
    client: dict[str, Any]
    retrying: dict[str, Any]
    conditional: str
    forbidden_is_absent: bool
    max_concurrency: int
    profile: str | None
    credential_provider: Any


def parse_options(kind: str, options: Mapping[str, Any]) -> Options:
    """The options for `s3`, `gs`, `az` or `http`. Rejects unknown options."""
    config: dict[str, Any] = {}
    client: dict[str, Any] = {name: value for name, value in _CLIENT_OPTIONS.items() if value is not None}
    retrying, own = dict(_RETRY_OPTIONS), dict(_OWN_OPTIONS)
    for given_name, value in options.items():
        name = _SCHEME_ALIASES[kind].get(given_name) or _ALIASES.get(given_name, given_name)
        for group, known in (
            (own, _OWN_OPTIONS),
            (retrying, _RETRY_OPTIONS),
            (client, _CLIENT_OPTIONS),
            (config, _CONFIG_OPTIONS[kind]),
        ):
            if name in known:
                group[name] = value
                break
        else:
            names = [
                *_OWN_OPTIONS,
                *_RETRY_OPTIONS,
                *_CLIENT_OPTIONS,
                *_CONFIG_OPTIONS[kind],
                *_ALIASES,
                *_SCHEME_ALIASES[kind],
            ]
            raise LocationError(
                f"`{kind}://` does not take the `storage_options` {given_name!r}",
                hint=nearest(given_name, names) or "docs/stores.md lists the options",
            )
    _check(own, retrying, client)
    check_conditional(own["conditional"])
    if kind in _ENDPOINT_VARIABLES and not config.keys() & {"endpoint", "use_emulator"}:
        given_endpoint = next(filter(None, map(os.environ.get, _ENDPOINT_VARIABLES[kind])), None)
        config |= {} if given_endpoint is None else {"endpoint": given_endpoint}
    endpoint = config.get("endpoint") or config.get("base_url")
    if endpoint is not None and not _ENDPOINT.fullmatch(str(endpoint)):
        raise LocationError(
            "`storage_options`: `endpoint` is no address of a server", hint="write it like `http://127.0.0.1:9000`"
        )
    if str(endpoint).startswith("http://"):
        client.setdefault("allow_http", True)  # the user wrote it
    for name in _DURATIONS & client.keys():
        client[name] = timedelta(seconds=client[name])
    return Options(config, client, retrying, **own)


def check_conditional(value: Any) -> str:
    """Reject what is no choice of conditional writes."""
    if value not in ("verify", "trust", "off"):
        raise LocationError(f'`conditional`: expected "verify", "trust" or "off", found {value!r}')
    return str(value)


def _check(*groups: dict[str, Any]) -> None:
    for group in groups:
        for name, value in group.items():
            seconds = name in _DURATIONS or name == "retry_timeout"
            if seconds and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0):
                raise LocationError(f"`storage_options`: `{name}` is a number of seconds above 0, found {value!r}")
            least = {"max_retries": 0, "max_concurrency": 1}.get(name)
            if least is not None and (type(value) is not int or value < least):
                raise LocationError(f"`storage_options`: `{name}` is an integer of at least {least}, found {value!r}")


def _is_secret(name: object) -> bool:
    return name != "metadata_endpoint" and any(word in str(name).lower() for word in _SECRET_WORDS)


def secrets(options: Mapping[Any, Any], *, all: bool = False) -> list[str]:
    """The secret values among options, also in nested options; `all` values, if the outer option is secret."""
    values = []
    for name, value in options.items():
        hidden = all or _is_secret(name)
        if isinstance(value, Mapping):
            values += secrets(value, all=hidden)
        elif hidden and isinstance(value, (str, bytes)) and len(value) > 2:
            values.append(value if isinstance(value, str) else value.decode("utf-8", "replace"))
    return values


def describe_options(options: Mapping[Any, Any]) -> list[str]:
    """The options that are not secret, as texts that are the same in every program."""
    texts = []
    for name, value in sorted(options.items(), key=lambda item: str(item[0])):
        if isinstance(value, Mapping):
            texts += [f"{name}.{text}" for text in describe_options(value)]
        elif isinstance(value, (str, int)) and not _is_secret(name):
            texts.append(f"{name}={without_secrets(str(value), ())}")
    return texts


def obfuscate(options: Mapping[Any, Any]) -> dict[Any, Any]:
    """Options for a pickle. A secret that an environment variable holds is replaced by the name of the variable and
    looked up on unpickling. Other values are obfuscated, because addresses and objects may contain passwords, too. This
    hides them from searches of logs and files; it is no encryption."""
    variables = {value: name for name, value in os.environ.items() if len(value) > 7}
    hidden: dict[Any, Any] = {}
    for name, value in options.items():
        if type(value) is dict:
            hidden[name] = "options", obfuscate(value)
        elif isinstance(value, str) and _is_secret(name) and value in variables:
            hidden[name] = "environment", variables[value]
        elif value is None or type(value) in (bool, int, float):
            hidden[name] = value
        else:
            hidden[name] = "obfuscated", _obfuscate_bytes(pickle.dumps(value))
    return hidden


def deobfuscate(options: Mapping[Any, Any]) -> dict[Any, Any]:
    """The options from a pickle."""
    plain: dict[Any, Any] = {}
    for name, value in options.items():
        if not isinstance(value, tuple):
            plain[name] = value
        elif value[0] == "options":
            plain[name] = deobfuscate(value[1])
        elif value[0] == "environment":
            if value[1] not in os.environ:
                raise LocationError(
                    f"`storage_options`: `{name}` was in the environment as {value[1]}, which is not set"
                )
            plain[name] = os.environ[value[1]]
        else:
            seed, data = value[1]
            plain[name] = pickle.loads(_xor_stream(data, seed))
    return plain


def _xor_stream(data: bytes, seed: bytes) -> bytes:
    pad = shake_256(seed).digest(len(data))
    return (int.from_bytes(data, "little") ^ int.from_bytes(pad, "little")).to_bytes(len(data), "little")


def _obfuscate_bytes(data: bytes) -> tuple[bytes, bytes]:
    """A random seed, and the bytes XORed with a stream that is derived from it."""
    seed = os.urandom(12)
    return seed, _xor_stream(data, seed)
