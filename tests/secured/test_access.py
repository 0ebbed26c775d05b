"""What a user may do on a cluster that checks it, and how a refusal shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import AclOperation

from tests.secured.broker import ADMIN, SecuredBroker
from turnlog.broker import ensure_topics
from turnlog.events import NotAuthorized
from turnlog.log import KafkaSettings, KafkaStore

# A refusal comes within a second; no answer at all would take 10 and more.
SOON_S = 8.0
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE


@pytest.fixture(autouse=True)
def topics(secured: SecuredBroker, namespace: str) -> None:
    """The namespace's topics, and what each user may do there."""
    ensured = ensure_topics(secured.bootstrap, namespace, client=secured.client(ADMIN))
    assert ensured.servers_checked
    prefix = f"{namespace}."
    secured.grant("writer", prefix, WRITE, READ, DESCRIBE)
    secured.grant("reader", prefix, READ, DESCRIBE)
    secured.grant("blind", prefix, WRITE, DESCRIBE)


@contextmanager
def store_of(secured: SecuredBroker, namespace: str, user: str) -> Iterator[KafkaStore]:
    """A user's store; what is still open at the end is only let go of."""
    client = secured.client(user)
    settings = KafkaSettings(bootstrap=secured.bootstrap, namespace=namespace, client=client)
    store = KafkaStore(settings)
    try:
        yield store
    finally:
        store.close()


def refused(act: Callable[[], object], resource: str) -> None:
    """The act is refused soon, and the text names what was asked for."""
    begin_s = time.monotonic()
    with pytest.raises(NotAuthorized) as caught:
        act()
    assert time.monotonic() - begin_s < SOON_S
    assert resource in str(caught.value)


def written(secured: SecuredBroker, namespace: str, id: str) -> None:
    with store_of(secured, namespace, "writer") as store:
        session = store.create(id)
        session.append("plan/mode", {"n": 1})
        assert session.flush().next_seq == 1


def test_write_read_and_describe_on_the_topics_are_enough(
    secured: SecuredBroker, namespace: str
) -> None:
    written(secured, namespace, "s")
    with store_of(secured, namespace, "writer") as store:
        assert [event.type for event in store.read("s").events()] == ["plan/mode"]
        session = store.open("s")
        session.append("plan/mode", {"n": 2})
        assert session.flush().next_seq == session.next_seq == 3
        assert [info.id for info in store.sessions()] == ["s"]


def test_read_and_describe_are_enough_to_read(secured: SecuredBroker, namespace: str) -> None:
    written(secured, namespace, "s")
    client = secured.client("reader")
    settings = KafkaSettings(bootstrap=secured.bootstrap, namespace=namespace, client=client)
    store = KafkaStore(settings)
    assert [event.type for event in store.read("s").events()] == ["plan/mode"]


@pytest.mark.parametrize("act", ["create", "read", "open"])
def test_without_read_the_topic_is_refused(
    secured: SecuredBroker, namespace: str, act: str
) -> None:
    written(secured, namespace, "s")

    def blind() -> None:
        with store_of(secured, namespace, "blind") as store:
            getattr(store, act)("new" if act == "create" else "s")

    refused(blind, f"{namespace}.")


def test_without_any_leave_the_topic_is_refused(secured: SecuredBroker, namespace: str) -> None:
    def stranger() -> None:
        with store_of(secured, namespace, "stranger"):
            pass

    refused(stranger, f"{namespace}.events.0")


def test_topics_are_not_made_for_a_user_who_may_not_make_them(
    secured: SecuredBroker, namespace: str
) -> None:
    client = secured.client("writer")
    refused(
        lambda: ensure_topics(secured.bootstrap, f"other-{namespace}", client=client),
        f"other-{namespace}.meta",
    )


def test_leave_that_is_taken_away_refuses_and_given_back_goes_on(
    secured: SecuredBroker, namespace: str
) -> None:
    with store_of(secured, namespace, "writer") as store:
        session = store.create("s")
        session.append("plan/mode", {"n": 1})
        session.flush()
        secured.revoke("writer", f"{namespace}.", WRITE)
        session.append("plan/mode", {"n": 2})
        refused(session.flush, f"{namespace}.events.0")
        secured.grant("writer", f"{namespace}.", WRITE)
        eventually(lambda: session.flush().next_seq == 2)


def eventually(act: Callable[[], bool]) -> None:
    """Try until the cluster's new rules are in force everywhere."""
    deadline = time.monotonic() + 30
    while True:
        try:
            assert act()
            return
        except NotAuthorized:
            assert time.monotonic() < deadline
            time.sleep(0.1)
