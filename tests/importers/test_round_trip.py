"""Recorded sessions through Kafka and back: nothing is lost in any form."""

from __future__ import annotations

from pathlib import Path

from tests.support.shared import shared_path
from turnlog.broker import ensure_topics
from turnlog.importers import (
    FileSessions,
    OutcomeKind,
    export_sessions,
    import_files,
    recover,
    session_files,
)
from turnlog.kernel import Log
from turnlog.log import KafkaReader, KafkaSettings, KafkaStore

GOOD = 72
FORMS = [(compressed, packed) for compressed in (False, True) for packed in (False, True)]


def good_files() -> list[Path]:
    files = session_files(shared_path() / "recorded")
    return [path for path in files if path.name != "expect.jsonl" and recover(path).stop is None]


def values(log: Log) -> list[object]:
    return [event.to_json() for event in log]


def test_every_recorded_session_comes_back_event_for_event(
    shared_dir: Path, kafka: str, namespace: str, tmp_path: Path
) -> None:
    files = good_files()
    assert len(files) == GOOD
    originals: dict[str, Log] = {}
    for path in files:
        (info,) = FileSessions(path).sessions()
        originals[info.id] = FileSessions(path).read(info.id)
    assert len(originals) == GOOD

    ensure_topics(kafka, namespace)
    settings = KafkaSettings(bootstrap=kafka, namespace=namespace)
    with KafkaStore(settings) as store:
        outcomes = list(import_files(store, files))
        assert {each.kind for each in outcomes} == {OutcomeKind.IMPORTED}
        with KafkaReader(settings) as reader:
            assert {info.id for info in reader.sessions()} == originals.keys()
            for id, original in originals.items():
                stored = reader.read(id)
                assert values(stored) == values(original)
                assert [row.text for row in stored.rows] == [row.text for row in original.rows]
            for number, (compressed, packed) in enumerate(FORMS):
                exported = export_sessions(
                    reader,
                    list(originals),
                    tmp_path / f"{number}",
                    compressed=compressed,
                    packed=packed,
                )
                assert len(list(exported)) == GOOD

        for number in range(len(FORMS)):
            folder = tmp_path / f"{number}"
            back = FileSessions(folder)
            for id, original in originals.items():
                assert values(back.read(id)) == values(original)
            # One's own export adds nothing, whatever its form.
            again = list(import_files(store, session_files(folder)))
            assert len(again) == GOOD
            assert {each.kind for each in again} == {OutcomeKind.PRESENT}
