"""The life of sessions in a store: made, resumed, forked, flushed, detached."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from turnlog.events.errors import (
    Closed,
    NotDurable,
    OwnedElsewhere,
    SessionExists,
    TooLarge,
    TurnlogError,
    UnknownSession,
)
from turnlog.events.event import Draft
from turnlog.events.head import Head
from turnlog.events.header import Header, check_session_id
from turnlog.events.jsontext import is_object
from turnlog.events.vocabulary import Registry
from turnlog.kernel.restore import Restored

from .binding import Binding, Budget
from .clock import clock_ms
from .failpoints import reach
from .forks import ForkRequest, plan_child
from .live_sessions import LiveSessions
from .observers import Observers
from .ports import LogStore, LogWriter
from .process_fork import tell_after_fork
from .resume import plan_resume
from .session import Session
from .store_side import StoreSide, store_side
from .window import WriteBehind

__all__ = ["Prepared", "StoreCore", "undo"]

_log = logging.getLogger(__name__)

WINDOW_S = 0.2
"""Seconds that an event waits to be written in the background: semantics.md section 11."""

MAX_PENDING_BYTES = 256 * 1024 * 1024
"""Bytes of all sessions that may wait to become durable.

Half of the memory that a process with 5,000 sessions may take (bench/: sessions-mib, 512 MiB).
"""

_CLOSE_S = 60.0
"""Seconds that a closing store waits for others: a detach flushes for 30, then may release."""


class Prepared(NamedTuple):
    """A validated new session that is registered nowhere yet."""

    session: Session


class StoreCore:
    """What happens to a session between its making and its detach; no reading, no twins."""

    def __init__(
        self,
        logs: LogStore,
        *,
        registry: Registry | None = None,
        window_s: float = WINDOW_S,
        max_pending_bytes: int = MAX_PENDING_BYTES,
        clock: Callable[[], int] = clock_ms,
    ) -> None:
        self._logs = logs
        self._registry = registry or Registry()
        self._clock = clock
        self._window = WriteBehind(window_s)
        self._budget = Budget(max_pending_bytes)
        self._live = LiveSessions()
        self._on_created = Observers[Session]()
        tell_after_fork(self)

    # --- new sessions ----------------------------------------------------------------------------

    def create(
        self,
        id: str | None = None,
        *,
        header: Any = None,
        seed: Iterable[Any] | None = None,
        strict: bool = False,
    ) -> Session:
        """Make a new session, hold it for writing, and tell the created-observers.

        Without an id the header's is taken, or one is minted. `header` is a Header or its JSON,
        `seed` the events (JSON) that the session inherits. `prepare`, `enter` and `announce` in
        one: nothing stays registered where one of them raises.

        Raises BadSessionId, RestoreRefused, SessionExists, Closed, what an observer vetoes with,
        and with a seed as `Session.flush`.
        """
        prepared = self.prepare(id, header=header, seed=seed, strict=strict)
        self.enter(prepared)
        try:
            return self.announce(prepared)
        except BaseException:
            undo(prepared.session)
            raise

    def prepare(
        self,
        id: str | None = None,
        *,
        header: Any = None,
        seed: Iterable[Any] | None = None,
        strict: bool = False,
    ) -> Prepared:
        """Build a new session, registered nowhere. Raises BadSessionId, RestoreRefused, Closed."""
        self._live.check_open()
        if id is None:
            named = _named(header)
            id = self._logs.new_id() if named is None else named
        session = Session.create(
            id, seed, header, registry=self._registry, strict=strict, clock=self._clock
        )
        return Prepared(session)

    def enter(self, prepared: Prepared) -> Callable[[], None]:
        """Hold the new session's log and register the session; gives the session's detach.

        A seed is then durable. Where it can't be made so, the session is detached again.

        Raises SessionExists where the id was taken since `prepare`, Closed, and with a seed as
        `Session.flush`.
        """
        session = prepared.session
        with self._live.making(session.id):
            writer = self._logs.create(session.header, None)
            with _given_up_on_failure(writer):
                self._register(session, writer)
        if session.next_seq:
            with _undone_on_failure(session):
                session.flush()
        return session.detach

    def announce(self, prepared: Prepared) -> Session:
        """Tell the created-observers in order; one that raises vetoes, and the caller detaches."""
        self._on_created.ask(prepared.session)
        return prepared.session

    def observe_created(self, callback: Callable[[Session], object]) -> Callable[[], None]:
        """Hear of each created session; raising vetoes it. The result takes the observer off."""
        return self._on_created.add(callback)

    # --- stored sessions -------------------------------------------------------------------------

    def open(
        self,
        id: str,
        *,
        take_over: bool = False,
        repair: bool = True,
        preset: str | None = None,
        strict: bool = False,
    ) -> Session:
        """Resume a stored session: hold it, restore, repair its open turn, end its seed, flush.

        `preset` names the agent preset to resume under, which must be the recorded one; None takes
        the recorded one. Nothing is appended to a log that is refused, and it is released again.
        The events that repair it and end its seed heed neither `strict` nor the buffer's limit.

        Raises BadSessionId, NotDurable, UnknownSession, OwnedElsewhere, Conflict, RestoreRefused,
        UnknownRequiredType, MissingField, PresetMismatch, Closed, and as `Session.flush`.
        """
        self._live.check_open()
        check_session_id(id)
        if not self._logs.durable:
            raise NotDurable(id)
        try:
            with self._live.making(id):
                stored, writer = self._logs.claim(id, take_over=take_over)
                with _given_up_on_failure(writer):
                    restored, closers = plan_resume(
                        id, stored, self._registry, repair=repair, preset=preset
                    )
                    session = self._session(restored, strict=strict)
                    self._register(session, writer)
        except SessionExists:
            live = self._live.get(id)
            last_ms = None if live is None else store_side(live).last_time_ms()
            raise OwnedElsewhere(
                self._logs.writer, socket.gethostname(), last_ms, here=True
            ) from None
        with _undone_on_failure(session):
            _append_together(store_side(session), closers)
            reach("store.between-repair-and-end-seed")
            store_side(session).end_seed()
            session.flush()
        return session

    def fork(
        self,
        source: str | Session,
        *,
        boundary: int | str | None = None,
        child_id: str | None = None,
        origin: str | None = None,
        agent_preset: str | None = None,
        delegation_depth: int | None = None,
        strict: bool = False,
    ) -> Session:
        """Make a child that inherits the events up to and including `boundary` (default: the last).

        The parent is untouched; it may be live here, live elsewhere or closed: then it is named by
        its id. A repeated fork of the same parent and boundary under the same `child_id` goes on
        where a crash stopped it. `boundary="last-closed-turn"` trims to the last closed turn. The
        child's header names the last inherited seq as `seedLength` - 1.

        Raises UnknownSession (also for a Session of another store object), InvalidBoundary,
        OpenTurn, SessionExists, BadSessionId, UnknownRequiredType, DataError, Reentrant, Closed,
        and as `Session.flush`.
        """
        with self._live.working():
            if isinstance(source, Session) and not self._live.owns(source):
                raise UnknownSession(source.id)
            source_id = source.id if isinstance(source, Session) else check_session_id(source)
            live = self._live.get(source_id)
            if live is not None:
                with suppress(Closed):  # detached meanwhile: what it flushed is read
                    live.flush()
            if child_id is None:
                child_id = self._logs.new_id()
            asked = ForkRequest(boundary, child_id, origin, agent_preset, delegation_depth)
            stored = self._logs.read(source_id)
            child = plan_child(stored, asked, self._registry, self._clock())
            header = child.restored.header
            with self._live.making(header.id):
                writer = self._logs.create(header, child.origin)
                try:
                    session = self._session(child.restored, strict=strict)
                    binding = self._register(session, writer)
                except BaseException:
                    writer.abandon()
                    raise
            try:
                store_side(session).end_seed()
                session.flush()
                binding.born()
            except BaseException:
                binding.abandon()  # unborn: the same fork goes on with it
                raise
            return session

    def live(self) -> list[Session]:
        """The sessions that are open here."""
        return self._live.all()

    # --- durability and end ----------------------------------------------------------------------

    def flush(self, session: Session, *, timeout_s: float = 30.0) -> Head:
        """The barrier: return when all that was appended to the session before is durable.

        Raises UnknownSession for a session of another store object; else as Session.flush.
        """
        if not self._live.owns(session):
            raise UnknownSession(session.id)
        return session.flush(timeout_s=timeout_s)

    def close(self) -> None:
        """Detach every live session and stop; once. Raises the first failure, at the end.

        Waits for what other threads are about: their detaches, and sessions on their way, which
        they don't get. Raises Reentrant, and does nothing, inside an observer of a session.
        """
        for session in self._live.all():
            store_side(session).check_outside("close the store of")
        if not self._live.close():
            return
        failures: list[Exception] = []
        for session in self._live.all():
            _collect(failures, session.detach)
        self._live.wait_until_gone(_CLOSE_S)
        _collect(failures, self._window.close)
        _collect(failures, self._logs.close)
        if failures:
            raise failures[0]

    def forked(self) -> None:
        """Hear, in a forked child, that the store is the parent's: it is closed here."""
        for part in (self._live, self._budget, self._window):
            part.forked()

    def _session(self, restored: Restored, *, strict: bool) -> Session:
        return Session(restored, registry=self._registry, strict=strict, clock=self._clock)

    def _register(self, session: Session, writer: LogWriter) -> Binding:
        """Bind a session to its writer and count it as live. Raises Closed."""
        side = store_side(session)
        binding = Binding(
            side, writer, self._window, self._budget, lambda: self._live.remove(session)
        )
        side.attach(binding)
        self._live.add(session)
        return binding


def _named(header: Any) -> str | None:
    """The id that a header names, as far as it can be told before it is checked."""
    if isinstance(header, Header):
        return header.id
    id = header.get("id") if is_object(header) else None
    return id if isinstance(id, str) else None


def _append_together(session: StoreSide, drafts: Sequence[Draft]) -> None:
    """Append closing events as one commit, or one by one where one can't hold them."""
    if not drafts:
        return
    try:
        session.append(drafts)
    except TooLarge:
        for draft in drafts:
            session.append([draft])


def _collect(failures: list[Exception], act: Callable[[], object]) -> None:
    try:
        act()
    except Exception as error:  # noqa: BLE001 - one failure must not keep the others from ending
        failures.append(error)


def undo(session: Session) -> None:
    """Detach a session that nobody gets; what that raises is logged, for another error is out."""
    try:
        session.detach()
    except TurnlogError as error:
        _log.warning("session %r was given up: %s", session.id, error)


@contextmanager
def _undone_on_failure(session: Session) -> Iterator[None]:
    try:
        yield
    except BaseException:
        undo(session)
        raise


@contextmanager
def _given_up_on_failure(writer: LogWriter) -> Iterator[None]:
    """Release what a writer holds, where no session comes of it."""
    try:
        yield
    except BaseException:
        try:
            writer.release()
        except TurnlogError as error:
            _log.warning("a session that could not be opened stays held: %s", error)
        raise
