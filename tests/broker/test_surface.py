"""The package's public names."""

import turnlog.broker


def test_the_public_names_are_these_and_all_there() -> None:
    assert sorted(turnlog.broker.__all__) == [
        "BadNamespace",
        "DEFAULT_NAMESPACE",
        "DEFAULT_PARTITIONS",
        "Difference",
        "EmbeddedBroker",
        "Ensured",
        "HomeUnusable",
        "JarMismatch",
        "JarUnavailable",
        "JavaUnavailable",
        "Running",
        "ServerMismatch",
        "StartFailed",
        "Topic",
        "TopicGone",
        "TopicMismatch",
        "all_topics",
        "bootstrap",
        "ensure_topics",
        "events_topic",
        "heads_topic",
        "meta_topic",
    ]
    assert all(hasattr(turnlog.broker, name) for name in turnlog.broker.__all__)
