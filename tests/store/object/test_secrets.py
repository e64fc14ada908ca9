"""Credentials: their sources, and that no text, error or pickle shows them."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import pytest
from obstore.store import S3Store
from tests.servers.proxy import Faults, Proxy
from tests.servers.running import RunningServer

import omnizarr
from omnizarr.errors import LocationError, OmnizarrError
from omnizarr.store import ObjectStore

SECRET = "a-very-secret-key"


def _texts(store: ObjectStore) -> list[str]:
    return [repr(store), str(store), store.location, repr(pickle.dumps(store)), repr(store.__dict__)]


def test_no_secret_is_shown(s3: RunningServer, faulty_s3: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    options = {**s3.through(faulty_s3.endpoint), "session_token": "a-session-token", "max_retries": 0}
    assert options["secret_access_key"] == SECRET
    store = ObjectStore.from_url(s3.new(), **options)
    store.set("a", b"1")
    for text in _texts(store):
        assert SECRET not in text
        assert "a-session-token" not in text
    for status in (400, 401, 403, 500):
        faulty_s3.faults = Faults(status=status)
        for operation in (lambda: store.get("a"), lambda: store.set("a", b"2"), lambda: list(store.list())):
            with pytest.raises(OmnizarrError) as caught:
                operation()
            error: BaseException | None = caught.value
            while error is not None:
                for text in (str(error), repr(error), repr(error.__dict__)):
                    assert SECRET not in text
                    assert "a-session-token" not in text
                error = error.__cause__
            assert SECRET not in repr(pickle.dumps(caught.value))
    assert SECRET not in caplog.text


def test_user_names_and_signatures_of_urls_are_not_shown(faulty_web: Proxy) -> None:
    server = faulty_web.endpoint.removeprefix("http://")
    store = ObjectStore.from_url(f"http://me:{SECRET}@{server}/x", max_retries=0)
    faulty_web.faults = Faults(status=500)
    for text in _texts(store)[:4]:
        assert SECRET not in text
    assert pickle.loads(pickle.dumps(store)) == store
    with pytest.raises(OmnizarrError) as caught:
        store.get("a")
    assert SECRET not in str(caught.value)
    with pytest.raises(LocationError) as caught:
        ObjectStore.from_url(f"https://example.org/x?sig={SECRET}")
    assert SECRET not in str(caught.value)


def test_pickles(s3: RunningServer) -> None:
    store = ObjectStore.from_url(s3.new(), **s3.options)
    store.set("a", b"1")
    unpickled = pickle.loads(pickle.dumps(store))
    assert unpickled == store
    assert bytes(unpickled.get("a")) == b"1"
    z = omnizarr.create_array(store, name="z", data=[1, 2, 3])
    assert (pickle.loads(pickle.dumps(z))[...] == [1, 2, 3]).all()


def test_a_pickle_contains_the_name_of_the_environment_variable_of_a_secret(
    s3: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", SECRET)
    store = ObjectStore.from_url(s3.new(), **s3.options)
    pickled = pickle.dumps(store)
    assert b"MY_SECRET" in pickled
    assert pickle.loads(pickled) == store
    monkeypatch.delenv("MY_SECRET")
    with pytest.raises(LocationError, match="MY_SECRET"):
        pickle.loads(pickled)


def _without_keys(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if "key" not in name}


def test_credentials_come_from_the_environment(s3: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "from-the-environment")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    store = ObjectStore.from_url(s3.new(), **_without_keys(s3.options))
    store.set("a", b"1")
    pickled = pickle.dumps(store)
    assert b"from-the-environment" not in pickled
    assert bytes(pickle.loads(pickled).get("a")) == b"1"


def test_credentials_come_from_the_files_of_the_aws_cli(
    s3: RunningServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "credentials").write_text(
        f"[default]\naws_access_key_id = x\naws_secret_access_key = {SECRET}\n[empty]\noutput = json\n"
    )
    (tmp_path / "config").write_text("[default]\nregion = us-east-1\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    options = _without_keys(s3.options)
    del options["region"]
    store = ObjectStore.from_url(s3.new(), **options)
    store.set("a", b"1")
    assert bytes(pickle.loads(pickle.dumps(store)).get("a")) == b"1"
    with pytest.raises(OmnizarrError, match="empty"):
        ObjectStore.from_url(s3.new(), **options, profile="empty").get("a")


def test_anonymous_requests_are_not_signed(s3: RunningServer, faulty_s3: Proxy) -> None:
    options = s3.through(faulty_s3.endpoint)
    ObjectStore.from_url(s3.new(), **options).set("a", b"1")
    assert faulty_s3.signed == 1
    assert ObjectStore.from_url(s3.new(), **_without_keys(options), anon=True).get("a") is None
    assert (faulty_s3.signed, len(faulty_s3.requests)) == (1, 2)


def test_a_store_of_a_client_object_shows_no_secret(s3: RunningServer) -> None:
    options = s3.options
    client = S3Store("bucket", config=options, client_options={"allow_http": True}, prefix="given")
    store = ObjectStore(client, prefix="a")
    assert store.location == "s3://bucket/given/a"
    for text in _texts(store)[:4]:
        assert SECRET not in text
    store.set("k", b"1")
    unpickled = pickle.loads(pickle.dumps(store))
    assert unpickled == store
    assert bytes(unpickled.get("k")) == b"1"


def test_equality() -> None:
    store = ObjectStore.from_url("s3://bucket/a", secret_access_key="1", access_key_id="2")
    assert store == ObjectStore.from_url("s3://bucket/a/", secret_access_key="3", access_key_id="2")
    assert hash(store) == hash(ObjectStore.from_url("s3://bucket/a/"))
    assert store != ObjectStore.from_url("s3://bucket/b")
    assert store != ObjectStore.from_url("s3://bucket/a", endpoint="http://127.0.0.1:1")
    assert store != ObjectStore.from_url("gs://bucket/a")
    assert store.parent() == (ObjectStore.from_url("s3://bucket"), "a")
    assert ObjectStore.from_url("abfs://box@me.dfs.core.windows.net/a/b").location == "az://box/a/b"


@pytest.mark.parametrize(
    "url", [f"s3://me:{SECRET}@bucket/a", f"s3://bucket/a?X-Amz-Signature={SECRET}", f"az://box/a?sv=1&sig={SECRET}"]
)
def test_a_secret_in_the_url_of_a_bucket_is_rejected(url: str) -> None:
    with pytest.raises(LocationError, match="storage_options") as caught:
        ObjectStore.from_url(url)
    assert SECRET not in str(caught.value)


def test_pickles_do_not_contain_secrets_of_other_options_in_plain_text() -> None:
    for options in (
        {"endpoint": f"http://me:{SECRET}@127.0.0.1:1"},
        {"headers": {"Authorization": SECRET}},
        {"access_key_id": "x", "secret_access_key": SECRET.encode()},
    ):
        pickled = pickle.dumps(ObjectStore.from_url("s3://bucket/a", **options))
        assert SECRET.encode() not in pickled
        assert pickle.loads(pickled)._factory.options == options


def test_location_errors_show_no_secret() -> None:
    for address, options in ((f"file://me:{SECRET}@host/x", {}), ("s3://bucket/x.zip", {"zip": SECRET})):
        with pytest.raises(LocationError) as caught:
            omnizarr.open(address, storage_options=options)
        assert SECRET not in str(caught.value)


def test_stores_are_equal_for_all_names_of_the_endpoint_option() -> None:
    for one, other in (
        (("s3://b", {"endpoint": "http://h:1"}), ("s3://b", {"endpoint_url": "http://h:1"})),
        (("gs://b", {"endpoint": "http://h:1"}), ("gs://b", {"base_url": "http://h:1"})),
        (("abfs://b@me.dfs.core.windows.net", {}), ("az://b", {"account": "me"})),
    ):
        first, second = (ObjectStore.from_url(url, **options) for url, options in (one, other))
        assert (first, hash(first)) == (second, hash(second))
    assert ObjectStore.from_url("gs://b", endpoint="http://h:1") != ObjectStore.from_url("gs://b")
