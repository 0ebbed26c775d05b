"""The producer of a store: hands commits over, and is made anew after a fatal error."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from turnlog.events.errors import BrokerError

from .clients import producer_client
from .faults import ClientFaults
from .settings import KafkaSettings
from .translate import translate, translated

__all__ = ["Sender", "Told"]

_log = logging.getLogger(__name__)

_HEAR_S = 0.002

Told = Callable[[BrokerError | None], None]
"""Told from `serve` what is reported of a record: an error, which proves nothing, or None."""


class Sender:
    """An idempotent producer; thread-safe. One thread calls `serve` again and again.

    `renewed` is called from `serve` after a fatal error, when a new producer has taken the place of
    the old one: what was handed over before may or may not be in the log. Deliveries are told of
    only where `tells_all`.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        renewed: Callable[[BrokerError], None],
        *,
        tells_all: bool = False,
    ) -> None:
        self._settings = settings
        self._renewed = renewed
        self._tells_all = tells_all
        self._faults = ClientFaults(settings.bootstrap)
        self._reports: deque[tuple[Told, BrokerError | None]] = deque()
        self._fatal: BrokerError | None = None
        self._cause: BrokerError | None = None
        self._producer = self._new_producer()

    @property
    def error(self) -> BrokerError | None:
        """The last fault of the connections."""
        return self._faults.error

    def warm_up(self, timeout_s: float) -> None:
        """Connect now. Raises BrokerError.

        The first record waits for the producer's id, which the client asks for as soon as it is
        connected, or else half a second later.
        """
        with translated("cluster"):
            self._producer.list_topics(timeout=timeout_s)

    def produce(
        self, topic: str, partition: int, key: bytes, value: bytes, told: Told | None = None
    ) -> bool:
        """Hand a record over; False where the queue has no room now. Never waits.

        Order is kept within a partition. Raises BrokerError where the client refuses the record.
        """
        on_delivery = None if told is None else self._watch(told, topic)
        try:
            self._producer.produce(
                topic, key=key, value=value, partition=partition, on_delivery=on_delivery
            )
        except BufferError:
            return False
        except KafkaException as exception:
            error: KafkaError = exception.args[0]
            if not error.fatal():
                raise translate(error, topic) from exception
            # Not handed over, and nothing will be: the next `serve` makes a new producer.
            self._fatal = self._fatal_error(exception)
            if told is not None:
                self._reports.append((told, self._fatal))
        return True

    def serve(self) -> None:
        """Tell what is reported; after a fatal error make a new producer."""
        try:
            self._producer.poll(0)
        except (KafkaException, SystemError) as exception:
            self._fatal = self._fatal_error(exception)
        while self._reports:
            told, error = self._reports.popleft()
            told(error)
        if self._fatal is not None:
            self._renew(self._fatal)

    def deliver(self, topic: str, partition: int, key: bytes, value: bytes) -> None:
        """Hand one record over and wait for its delivery report. Raises BrokerError."""
        done = threading.Event()
        errors: list[KafkaError] = []

        def report(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                errors.append(error)
            done.set()

        try:
            self._producer.produce(
                topic, key=key, value=value, partition=partition, on_delivery=report
            )
            # Another thread's poll may be the one that hears of it: none may wait inside its own.
            while not done.wait(_HEAR_S):
                self._producer.poll(0)
        except (KafkaException, SystemError) as exception:
            raise self._fatal_error(exception) from exception
        if errors:
            raise translate(errors[0], topic)

    def close(self, timeout_s: float) -> None:
        """Wait until what was handed over is out, at most so long."""
        try:
            self._producer.flush(timeout_s)
        except (KafkaException, SystemError) as exception:
            _log.warning("the producer ends with a fault: %s", exception)

    def _new_producer(self) -> Producer:
        return producer_client(self._settings, self._faults)

    def _watch(self, told: Told, topic: str) -> Callable[[KafkaError | None, Message], None]:
        def report(error: KafkaError | None, message: Message) -> None:
            # In a callback only take note: it must not raise.
            if error is not None:
                self._reports.append((told, translate(error, topic)))
            elif self._tells_all:
                self._reports.append((told, None))

        return report

    def _fatal_error(self, exception: Exception) -> BrokerError:
        """What a fatal error of the client is to our users.

        The cause is told once, by `poll`; later calls say only that there is one. The client raises
        SystemError where delivery reports queue behind it.
        """
        if isinstance(exception, KafkaException):
            error: KafkaError = exception.args[0]
            # Who may write to no topic at all is refused as soon as the producer asks for its id.
            if error.code() != KafkaError._FATAL:
                self._cause = translate(error, self._settings.events_topic)
        return self._cause or BrokerError(f"producer: {exception}")

    def _renew(self, error: BrokerError) -> None:
        _log.warning("the producer failed for good, a new one takes over: %s", error)
        self._fatal = self._cause = None
        self._producer = self._new_producer()
        self._renewed(error)
