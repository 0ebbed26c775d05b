"""Read an events topic and judge it, by docs/format.md alone: nothing here is turnlog's.

    python outside.py BOOTSTRAP NAMESPACE PARTITIONS

Of third parties it takes Kafka's client and zstandard; verdicts come from the verifier of the
standard library. Prints one JSON object: `sessions` holds the events of each as [seq, type, data],
all that was accepted, in order, `released` those that were given up, and `verdicts` counts.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

sys.path.insert(0, str(Path(__file__).parents[1] / "verifier"))
verifier: Any = import_module("standard_verifier")

_SILENCE_S = 60.0
_PACKED = {"text-chunks": "text-delta", "reasoning-chunks": "reasoning-delta"}


def records(
    bootstrap: str, topic: str, partitions: int
) -> Iterator[tuple[int, bytes | None, bytes | None]]:
    """Each partition, key and value, a partition's in offset order."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "outside",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "isolation.level": "read_uncommitted",
        "enable.partition.eof": True,
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, each, 0) for each in range(partitions)])
    ended = set[int | None]()
    while len(ended) < partitions:
        message = consumer.poll(_SILENCE_S)
        if message is None:
            sys.exit(f"{topic}: nothing for {_SILENCE_S} s")
        error = message.error()
        if error is None:
            yield message.partition() or 0, message.key(), message.value()
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(message.partition())
        else:
            raise KafkaException(error)
    consumer.close()


def events(commit: dict[str, Any]) -> list[list[Any]]:
    """The events of a commit as [seq, type, data]; each must be where the envelope says."""
    body = commit["body"]
    if commit["content_encoding"] == b"zstd":
        import zstandard

        body = zstandard.ZstdDecompressor().decompress(body)
    found: list[list[Any]] = []
    for row in json.loads(body):
        if "seq" in row:
            found.append([row["seq"], row["type"], row["data"]])
            continue
        data, kind = row["data"], _PACKED[row["type"]]
        for index, text in enumerate(data["texts"]):
            chunk = {"type": kind, "index": data["index"], "text": text}
            packed = {"turn": data["turn"], "step": data["step"], "chunk": chunk}
            found.append([row["seq0"] + index, "assistant/chunk", packed])
    first, count = commit["first_seq"], commit["event_count"]
    if [seq for seq, _, _ in found] != list(range(first, first + count)):
        sys.exit(f"{commit['session_id']!r}: the body at {first} is not what its envelope says")
    return found


def main(bootstrap: str, namespace: str, partitions: int) -> None:
    heads, stopped = dict[str, Any](), set[str]()
    sessions, verdicts = dict[str, list[list[Any]]](), Counter[str]()
    for _, key, value in records(bootstrap, f"{namespace}.events.0", partitions):
        verdict, session = verifier.judge(namespace, heads, stopped, key, value)
        verdicts[verdict] += 1
        if verdict == "accepted" and session is not None and value is not None:
            commit = verifier.decode(value)
            log = sessions.setdefault(session, [])
            if commit["kind"] == b"events":
                log += events(commit)
    released = sorted(session for session, head in heads.items() if head["released"])
    print(json.dumps({"sessions": sessions, "released": released, "verdicts": verdicts}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
