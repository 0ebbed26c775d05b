"""Refusals of a connection, and of a user who may only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.secured.broker import ADMIN, SecuredBroker
from tests.secured.certificates import Authority
from tests.secured.test_access import DESCRIBE, READ, WRITE, refused, store_of, written
from turnlog.broker import ensure_topics
from turnlog.events import BadShape
from turnlog.log import KafkaSettings, KafkaStore


@pytest.fixture(autouse=True)
def topics(secured: SecuredBroker, namespace: str) -> None:
    """The namespace's topics, and leave on those alone."""
    ensure_topics(secured.bootstrap, namespace, client=secured.client(ADMIN))
    secured.grant("writer", f"{namespace}.", WRITE, READ, DESCRIBE)
    secured.grant("reader", f"{namespace}.", READ, DESCRIBE)


def test_no_leave_on_a_group_is_needed(secured: SecuredBroker, namespace: str) -> None:
    written(secured, namespace, "s")
    with store_of(secured, namespace, "writer") as store:
        assert [event.type for event in store.read("s").events()] == ["plan/mode"]


@pytest.mark.parametrize("act", ["create", "open"])
def test_without_write_the_topic_is_refused(
    secured: SecuredBroker, namespace: str, act: str
) -> None:
    written(secured, namespace, "s")

    def reader() -> None:
        with store_of(secured, namespace, "reader") as store:
            getattr(store, act)("new" if act == "create" else "s")

    refused(reader, f"{namespace}.")


def test_a_store_that_may_only_read_is_closed_without_an_error(
    secured: SecuredBroker, namespace: str
) -> None:
    with store_of(secured, namespace, "reader") as store:
        assert list(store.sessions()) == []


@pytest.mark.parametrize("what", ["store", "topics"])
@pytest.mark.parametrize("fault", ["password", "authority"])
def test_a_connection_that_is_refused_says_so(
    secured: SecuredBroker, namespace: str, tmp_path: Path, fault: str, what: str
) -> None:
    if fault == "password":
        client = secured.client("writer", password="wrong")
    else:
        client = secured.client("writer", ca=Authority.make(tmp_path, "other").certificate)
    settings = KafkaSettings(bootstrap=secured.bootstrap, namespace=namespace, client=client)
    if what == "store":
        refused(lambda: KafkaStore(settings), secured.bootstrap)
    else:
        refused(
            lambda: ensure_topics(secured.bootstrap, namespace, client=client), secured.bootstrap
        )


def test_an_authority_that_is_no_file_is_refused_by_its_name(
    secured: SecuredBroker, namespace: str, tmp_path: Path
) -> None:
    client = secured.client("writer", ca=tmp_path / "none.pem")
    settings = KafkaSettings(bootstrap=secured.bootstrap, namespace=namespace, client=client)
    with pytest.raises(BadShape, match=r"ssl\.ca\.location"):
        KafkaStore(settings)
