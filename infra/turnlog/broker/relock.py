"""Write the lock anew: ``python -m turnlog.broker.relock VERSION`` (maintainers only).

Maven Central's answer of that day is trusted here, once, by the person who reviews the change;
everyone after them compares with it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from turnlog.broker.jars import maven, sha256_of
from turnlog.broker.lock import Jar, lock_text


def resolve(kafka: str, cache: Path) -> list[Jar]:
    """Resolve Kafka's server and the log binding of the slf4j-api that it wants, and hash them."""
    context = maven(cache)
    server = context.create_dependency(f"org.apache.kafka:kafka_2.13:{kafka}")
    inputs, transitive = context.resolver.resolve([server])
    artifacts = [each.artifact for each in (*inputs, *transitive) if each.scope != "test"]
    slf4j = next(each.version for each in artifacts if each.artifactId == "slf4j-api")
    artifacts.append(context.create_dependency(f"org.slf4j:slf4j-simple:{slf4j}").artifact)
    return [
        Jar(f"{each.groupId}:{each.artifactId}:{each.version}", sha256_of(each.resolve()))
        for each in artifacts
    ]


def main(arguments: Sequence[str]) -> int:
    """Resolve the version named and write ``kafka.lock.toml`` beside this file."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m turnlog.broker.relock VERSION\n")
        return 2
    with tempfile.TemporaryDirectory() as cache:
        jars = resolve(arguments[0], Path(cache))
    Path(__file__).with_name("kafka.lock.toml").write_text(lock_text(arguments[0], jars), "utf-8")
    sys.stdout.write(f"{len(jars)} jars locked\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
