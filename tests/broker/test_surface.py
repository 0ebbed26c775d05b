"""The package's public names."""

import turnlog.broker


def test_the_public_names_are_these_and_all_there() -> None:
    assert sorted(turnlog.broker.__all__) == [
        "BadNamespace",
        "DEFAULT_NAMESPACE",
        "DEFAULT_PARTITIONS",
        "Difference",
        "EmbeddedBroker",
        "HomeUnusable",
        "JarMismatch",
        "JarUnavailable",
        "JavaUnavailable",
        "MAX_RECORD_BYTES",
        "Running",
        "StartFailed",
        "Topic",
        "TopicMismatch",
        "all_topics",
        "bootstrap",
        "ensure_topics",
        "events_topic",
    ]
    assert all(hasattr(turnlog.broker, name) for name in turnlog.broker.__all__)
