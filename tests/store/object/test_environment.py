"""The settings of a bucket in environment variables."""

from __future__ import annotations

import pytest
from tests.servers.running import RunningServer

import omnizarr


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"])
def test_an_http_endpoint_in_the_environment(s3: RunningServer, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """MinIO and moto are found this way; without more options, obstore would reject `http://`."""
    monkeypatch.setenv(variable, s3.options["endpoint"])
    monkeypatch.setenv("AWS_REGION", s3.options["region"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.options["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.options["secret_access_key"])
    place = s3.new()
    omnizarr.save_array(place, [1, 2, 3])
    assert omnizarr.load(place).tolist() == [1, 2, 3]


def test_an_option_takes_precedence_over_the_environment(s3: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    place = s3.new()
    omnizarr.create_array(place, data=[1], storage_options=s3.options)
    assert omnizarr.open(place, storage_options=s3.options).shape == (1,)
