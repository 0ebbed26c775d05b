"""The command lines of Kafka's two programs that a start needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from turnlog.broker.home import Home

#: Measured for Kafka 4.4.0 on two cores: ready in 1.6 to 2.3 s, 300 MB resident. The second
#: compiler and a parallel collector would cost start-up time and threads, for a load of hours.
JVM_OPTIONS = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_LOGGER = "org.slf4j.simpleLogger"


@dataclass(frozen=True)
class Tools:
    """What a start runs with: a Java program and the verified jars, in class path order."""

    java: Path
    jars: tuple[Path, ...]


def format_command(tools: Tools, home: Home, cluster_id: str) -> list[str]:
    """Make the data folder a node's; one that is formatted already is left as it is."""
    return [
        *_java(tools, home),
        "kafka.tools.StorageTool",
        "format",
        "--ignore-formatted",
        "--cluster-id",
        cluster_id,
        "--config",
        str(home.settings),
    ]


def broker_command(tools: Tools, home: Home) -> list[str]:
    """Run the node until it is told to end; it logs to standard error."""
    return [*_java(tools, home), "kafka.Kafka", str(home.settings)]


def _java(tools: Tools, home: Home) -> list[str]:
    return [
        str(tools.java),
        *JVM_OPTIONS,
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        "-Djava.awt.headless=true",
        "-Djava.net.preferIPv4Stack=true",
        f"-Djava.io.tmpdir={home.scratch}",
        f"-D{_LOGGER}.defaultLogLevel=warn",
        f"-D{_LOGGER}.showDateTime=true",
        f"-D{_LOGGER}.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
        "-cp",
        os.pathsep.join(map(str, tools.jars)),
    ]
