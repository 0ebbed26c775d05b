"""What a message of Kafka's consumer says: a record, how far a partition was read, or a fault."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from turnlog.events.errors import BrokerError, LogStartCut, TurnlogError

from .translate import translate, translated

__all__ = ["Found", "Record", "fault_of", "poll_messages", "read_message"]

_BATCH = 2_000
_ASK_S = 10.0


class Record(NamedTuple):
    """One Kafka record as it was found; `time_ms` is Kafka's time of it, epoch milliseconds."""

    offset: int
    key: bytes | None
    value: bytes | None
    time_ms: int = 0


class Found(NamedTuple):
    """What one message adds: maybe a record, the next offset to read, maybe a fault."""

    record: Record | None
    position: int
    fault: KafkaError | None = None


def poll_messages(consumer: Consumer, resource: str, timeout_s: float) -> list[Message]:
    """Give the messages that are there, or the first to come within the time; maybe none.

    Those of no partition are left out, such as that the group, which we don't use, is refused.
    Raises BrokerError.
    """
    with translated(resource):
        # consume() waits out its time-out when fewer are there, so it may only take what is.
        messages = consumer.consume(_BATCH, 0)
        if not messages:
            first = consumer.poll(timeout_s)
            messages = [] if first is None else [first]
    return [message for message in messages if message.topic() is not None]


def read_message(message: Message, position: int) -> Found:
    """Read a message of a partition that was read up to `position` (exclusive)."""
    offset, error = message.offset(), message.error()
    if error is None:
        if offset is None or offset < position:
            return Found(None, position)
        record = Record(offset, message.key(), message.value(), message.timestamp()[1])
        return Found(record, offset + 1)
    if error.code() == KafkaError._PARTITION_EOF:
        # The consumer's end passes transaction markers, which no record is.
        return Found(None, position if offset is None else max(position, offset))
    if error.code() == KafkaError._AUTO_OFFSET_RESET or error.fatal() or not error.retriable():
        return Found(None, position, error)
    return Found(None, position)


def fault_of(
    consumer: Consumer, topic: str, partition: int, position: int, fault: KafkaError
) -> TurnlogError:
    """Give the error that says why a partition is not read on; LogStartCut names what is lost."""
    if fault.code() != KafkaError._AUTO_OFFSET_RESET:
        return translate(fault, f"{topic}/{partition}")
    try:
        with translated(topic):
            ends = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=_ASK_S)
    except BrokerError as error:
        return error
    return LogStartCut(position, position + 1 if ends is None else ends[0])
