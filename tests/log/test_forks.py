"""Two forks of one child id, from two stores at once."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.log.conftest import Stores
from turnlog.events import SessionExists
from turnlog.session import Session, failpoints

CLAIM = "writer.before-produce.claim"
EVENTS = "writer.before-produce.events"


@pytest.fixture(autouse=True)
def _disarmed() -> Iterator[None]:
    yield
    for name in (CLAIM, EVENTS):
        failpoints.arm(name, lambda: None)


@pytest.fixture
def parent(stores: Stores) -> str:
    session = stores().create("parent")
    session.append("turn/start", {"turn": 1})
    session.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    session.detach()
    return session.id


def goes_on(child: Session) -> None:
    child.append("turn/start", {"turn": 2})
    child.flush()
    assert child.not_landed == ()


def test_a_fork_does_not_take_a_child_that_its_maker_completes_meanwhile(
    stores: Stores, parent: str
) -> None:
    maker, other = stores(), stores()
    made, may_go_on = threading.Event(), threading.Event()

    def stop_behind_the_open() -> None:
        made.set()
        assert may_go_on.wait(20)

    failpoints.arm(EVENTS, stop_behind_the_open)
    with ThreadPoolExecutor(1) as threads:
        making = threads.submit(maker.fork, parent, child_id="child")
        assert made.wait(20)

        def let_the_maker_end() -> None:
            """The claim is made on the unborn child, and produced when that is born."""
            failpoints.arm(CLAIM, lambda: None)
            may_go_on.set()
            making.result(20)

        failpoints.arm(CLAIM, let_the_maker_end)
        with pytest.raises(SessionExists):
            other.fork(parent, child_id="child")
    goes_on(making.result())


def test_of_two_forks_that_go_on_with_a_crashed_ones_child_one_gets_it(
    stores: Stores, parent: str
) -> None:
    crashed, first, second = stores(), stores(), stores()
    failpoints.arm(EVENTS, _crash)
    with pytest.raises(_Crash):
        crashed.fork(parent, child_id="child")
    failpoints.arm(EVENTS, lambda: None)
    born: list[Session] = []

    def first_is_quicker() -> None:
        failpoints.arm(CLAIM, lambda: None)
        born.append(first.fork(parent, child_id="child"))

    failpoints.arm(CLAIM, first_is_quicker)
    with pytest.raises(SessionExists):
        second.fork(parent, child_id="child")
    goes_on(born[0])


class _Crash(BaseException):
    pass


def _crash() -> None:
    raise _Crash
