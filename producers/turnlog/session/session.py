"""A session as an embedder uses it: append, views, barriers, inbox; with coroutine twins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from turnlog.events.errors import Backpressure, TooLarge
from turnlog.events.event import Draft, Event, Replace
from turnlog.events.gate import MAX_EVENT_BYTES
from turnlog.events.head import Head
from turnlog.events.header import Header, check_new_header, check_session_id
from turnlog.events.rows import Row, event_row
from turnlog.events.vocabulary import Registry
from turnlog.kernel.breach import Breach
from turnlog.kernel.inbox import Inbox, Target
from turnlog.kernel.inbox_plan import InboxPlan, plan_claim, plan_splice
from turnlog.kernel.late import late_result
from turnlog.kernel.log import Log
from turnlog.kernel.messages import Message
from turnlog.kernel.request import Request
from turnlog.kernel.restore import restore
from turnlog.kernel.state import SessionState

from .clock import clock_ms
from .core import SessionCore
from .store_side import store_side

__all__ = ["Session"]

_T = TypeVar("_T")

_CHECK_ROUNDS = 3
"""Times that a request is checked and flushed while other threads go on appending, at most.

Two are enough: what the first flush made durable gives the request, and so does the log after it.
"""


class Session(SessionCore):
    """The log of one agent session, and the only way to append to it.

    `append` accepted means: in order, in this process's log. `flush` returned means: all appended
    before is durable. Thread-safe; a context manager that detaches at the end. Every blocking call
    has a coroutine twin with the prefix `a`.
    """

    @classmethod
    def create(
        cls,
        id: str,
        seed: Iterable[Any] | None = None,
        header: Any = None,
        *,
        registry: Registry | None = None,
        strict: bool = False,
        clock: Callable[[], int] = clock_ms,
    ) -> Session:
        """Make a new session in memory, over `seed` events (JSON) that it inherits.

        A given seed is checked as a stored log is, and ended by `session/end-seed`. Needs no store;
        nothing of it is durable.

        Raises BadSessionId, RestoreRefused, TooLarge for an event or a header that no store could
        write, BadShape for a header with a `type` of its own.
        """
        check_session_id(id)
        if header is None:
            header = Header.new(id, clock())
        restored = restore(header, map(_seed_row, seed or ()), id=id)
        check_new_header(restored.header)
        session = cls(restored, registry=registry or Registry(), strict=strict, clock=clock)
        if seed is not None:
            store_side(session).end_seed()
        return session

    @classmethod
    def from_restore(
        cls,
        id: str,
        events: Iterable[Any],
        header: Any,
        *,
        registry: Registry | None = None,
        strict: bool = False,
        clock: Callable[[], int] = clock_ms,
    ) -> Session:
        """Rebuild a session from its stored events (JSON) and header, and end its seed.

        Checks what semantics.md section 8 lists, unknown types excepted: that is the store's part.
        Needs no store; appends no closing events.

        Raises BadSessionId, RestoreRefused.
        """
        check_session_id(id)
        restored = restore(header, map(event_row, events), id=id)
        session = cls(restored, registry=registry or Registry(), strict=strict, clock=clock)
        store_side(session).end_seed()
        return session

    @property
    def state(self) -> SessionState:
        """A copy of the hot state, such as for a checkpoint. Raises Superseded."""
        with self._reading() as live:
            return live.state()

    @property
    def log(self) -> Log:
        """The log as it stands now; later appends don't change it. Raises Superseded."""
        with self._reading() as live:
            return live.log()

    @property
    def breaches(self) -> tuple[Breach, ...]:
        """The breaches of the invariants so far, in log order. Raises Superseded."""
        with self._reading() as live:
            return live.breaches()

    def messages(self) -> list[Message]:
        """What the model sees now, a new list that stays as it is. Raises Superseded."""
        with self._reading() as live:
            return live.messages()

    def request(self) -> Request:
        """The request that the log gives now: header in force and Messages. Raises Superseded."""
        with self._reading() as live:
            return live.request()

    def append_late_result(self, turn: int, step: int, call_id: str, message: Any) -> list[Event]:
        """Log a real result that came after its turn was closed, and tell the model.

        Two events in one commit: `tool/late-result`, log-only and ignorable, and a user message;
        the earlier result stays. Raises as `append`.
        """
        with self._changing() as live:
            return self.append_all(late_result(live.log(), turn, step, call_id, message))

    @property
    def inbox(self) -> Inbox:
        """The messages that wait for the next turn and the next step. Raises BadSplice."""
        with self._reading() as live:
            return live.inbox()

    def change_inbox(self, plan: Callable[[Inbox], InboxPlan]) -> list[Any]:
        """Log the change that a function of `turnlog.kernel.inbox_plan` plans.

        Gives the messages (JSON) that it takes out; an empty change logs nothing. Raises as
        `append`, and BadShape for what the plan refuses. The plan is called under the session's
        lock: it may not flush.
        """
        with self._changing() as live:
            drafts, messages = plan(live.inbox())
            self.append_all(drafts)
            return [message.value for message in messages]

    def splice_inbox(
        self, target: Target, start: int, removed: int = 0, inserted: Sequence[Any] = ()
    ) -> list[Any]:
        """Remove and insert pending messages at a place of a list; gives those removed.

        A negative start counts from the end, ranges are clamped; a removal is logged as canceled.
        Raises as `change_inbox`.
        """
        return self.change_inbox(lambda inbox: plan_splice(inbox, target, start, removed, inserted))

    def claim_inbox(self, target: Target) -> list[Any]:
        """Take the pending messages that are due out of the inbox, in order.

        For `next-turn` all of next-step, then the first of next-turn; for `next-step` all of
        next-step. Raises as `append`.
        """
        return self.change_inbox(lambda inbox: plan_claim(inbox, target))

    @contextmanager
    def model_call(self, request: Request, *, timeout_s: float = 30.0) -> Iterator[Request]:
        """Barrier before a model request leaves: it is what the log says, and that is durable.

        Checked once more after the flush, for other threads may append meanwhile.

        Raises RequestMismatch, ViewBreach, and as `flush`; the body then does not run.
        """
        self._check_request(request)
        for _ in range(_CHECK_ROUNDS):
            head = self.flush(timeout_s=timeout_s)
            if self._check_request(request) <= head.next_seq:
                break
        yield request

    @contextmanager
    def tool_call(
        self,
        turn: int,
        step: int,
        call_id: str,
        name: str,
        arguments: str,
        *,
        timeout_s: float = 30.0,
    ) -> Iterator[Event]:
        """Barrier before a tool's body runs: its `tool/call` is appended and durable.

        The body appends the result, citing the yielded event. Raises as `append` and `flush`; the
        body then does not run.
        """
        call = self.append("tool/call", _call_data(turn, step, call_id, name, arguments))
        self.flush(timeout_s=timeout_s)
        yield call

    @contextmanager
    def step(self, turn: int, step: int, *, timeout_s: float = 30.0) -> Iterator[Event]:
        """Barrier around a step: what came before is durable, then `step/start`; `step/end` after.

        A body that raises leaves the step open: what comes next is the harness's to say. Raises as
        `append` and `flush`; the body then does not run.
        """
        self.flush(timeout_s=timeout_s)
        yield self.append("step/start", {"turn": turn, "step": step})
        self.append("step/end", {"turn": turn, "step": step})

    async def aappend(
        self,
        type: str,
        data: Any,
        *,
        surface: str | Replace | dict[str, Any] | None = None,
        sources: Sequence[int] | None = None,
        ignorable: bool = False,
        time_ms: int | None = None,
        expected_seq: int | None = None,
    ) -> Event:
        """As `append`, but waits for room in the buffer instead of raising Backpressure.

        Cancelled while it waits, it appends nothing. Raises what `flush` does where this session
        can't write.
        """
        return await self._with_room(
            lambda: self.append(
                type,
                data,
                surface=surface,
                sources=sources,
                ignorable=ignorable,
                time_ms=time_ms,
                expected_seq=expected_seq,
            )
        )

    async def aappend_all(
        self, drafts: Iterable[Draft], *, expected_seq: int | None = None
    ) -> list[Event]:
        """As `append_all`, but waits for room in the buffer; else as `aappend`."""
        group = tuple(drafts)
        return await self._with_room(lambda: self.append_all(group, expected_seq=expected_seq))

    async def aflush(self, *, timeout_s: float = 30.0) -> Head:
        """As `flush`, without blocking the event loop."""
        return await asyncio.to_thread(self.flush, timeout_s=timeout_s)

    async def adetach(self) -> None:
        """As `detach`, without blocking the event loop."""
        await asyncio.to_thread(self.detach)

    @asynccontextmanager
    async def amodel_call(
        self, request: Request, *, timeout_s: float = 30.0
    ) -> AsyncIterator[Request]:
        """As `model_call`."""
        self._check_request(request)
        for _ in range(_CHECK_ROUNDS):
            head = await self.aflush(timeout_s=timeout_s)
            if self._check_request(request) <= head.next_seq:
                break
        yield request

    @asynccontextmanager
    async def atool_call(
        self,
        turn: int,
        step: int,
        call_id: str,
        name: str,
        arguments: str,
        *,
        timeout_s: float = 30.0,
    ) -> AsyncIterator[Event]:
        """As `tool_call`, but waits for room. Cancelled in its flush, the call stays in the log."""
        call = await self.aappend("tool/call", _call_data(turn, step, call_id, name, arguments))
        await self.aflush(timeout_s=timeout_s)
        yield call

    @asynccontextmanager
    async def astep(self, turn: int, step: int, *, timeout_s: float = 30.0) -> AsyncIterator[Event]:
        """As `step`, but waits for room. Cancelled before its body, it appends nothing."""
        await self.aflush(timeout_s=timeout_s)
        yield await self.aappend("step/start", {"turn": turn, "step": step})
        await self.aappend("step/end", {"turn": turn, "step": step})

    def _check_request(self, request: Request) -> int:
        """Check a request against the log as it stands; gives the log's length."""
        with self._reading() as live:
            live.check_dispatch(request)
            return live.next_seq

    async def _with_room(self, append: Callable[[], _T]) -> _T:
        """Append on the event loop as soon as there is room."""
        while True:
            try:
                with self._held():  # a detach that an observer asks for must not block the loop
                    appended = append()
            except Backpressure as error:
                await self.aflush()
                await self._room(error.wanted)
                continue
            if self._detach_asked:
                await asyncio.to_thread(self._detach_if_asked)
            return appended

    async def _room(self, size_bytes: int) -> None:
        """Wait until the store's buffer may have room; whoever waits then tries again."""
        if self._link is None:
            return
        loop = asyncio.get_running_loop()
        room = asyncio.Event()

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(room.set)
            except RuntimeError:  # the loop ended with the one who waited
                pass

        forget = self._link.when_room(size_bytes, wake)
        try:
            await room.wait()
        finally:
            forget()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.adetach()


def _seed_row(value: Any) -> Row:
    """Make the row of an inherited event. Raises BadRow, TooLarge."""
    row = event_row(value)
    if len(row.text) > MAX_EVENT_BYTES:
        raise TooLarge(len(row.text), MAX_EVENT_BYTES)
    return row


def _call_data(turn: int, step: int, call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """The data of a `tool/call`."""
    return {"turn": turn, "step": step, "callId": call_id, "name": name, "arguments": arguments}
