"""The coroutine twins: one for each blocking call, with its signature, and the same answer."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from tests.session.talk import run_turn, say
from turnlog.events import Closed
from turnlog.session import MemoryLogs, MemoryStore, Session, SessionStore

BLOCKING = [
    (SessionStore, name)
    for name in ("create", "enter", "open", "fork", "import_log", "read", "sessions", "flush")
] + [(SessionStore, "close"), *((Session, name) for name in ("append", "append_all", "flush"))]
BLOCKING += [(Session, name) for name in ("detach", "model_call", "tool_call", "step")]


@pytest.mark.parametrize(("of", "name"), BLOCKING, ids=lambda item: getattr(item, "__name__", item))
def test_a_blocking_call_has_a_twin_with_its_signature(of: type, name: str) -> None:
    blocking = inspect.signature(getattr(of, name))
    twin = inspect.signature(getattr(of, f"a{name}"))
    assert twin.parameters == blocking.parameters
    if name not in ("sessions", "model_call", "tool_call", "step"):
        assert twin.return_annotation == blocking.return_annotation


def test_the_stores_twins_do_the_same() -> None:
    async def talk() -> list[str]:
        kept = MemoryLogs()
        async with MemoryStore(kept) as store:
            session = await store.acreate("s")
            run_turn(session)
            assert await store.aflush(session) == session.head
            child = await store.afork(session, child_id="c")
            await child.adetach()
            assert (await store.aopen("c")).header.parent_session == "s"
            detach = await store.aenter(store.prepare("e"))
            await asyncio.to_thread(detach)
            log = await store.aread("s", wait=session.head)
            result = await store.aimport_log(log.header, log.rows)
            assert result.added == 0
        with pytest.raises(Closed):
            say(session, "late")
        return sorted(info.id for info in await MemoryStore(kept).asessions())

    assert asyncio.run(talk()) == ["c", "e", "s"]
