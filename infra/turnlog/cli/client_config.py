"""A file of settings of Kafka's client: `name=value` a line, librdkafka's names."""

from __future__ import annotations

from pathlib import Path

from turnlog.events import CallerError

__all__ = ["BadClientConfig", "read_client_config"]


class BadClientConfig(CallerError):
    """A file of client settings that can't be read; `line` counts from 1, None for the whole."""

    def __init__(self, path: Path, line: int | None, reason: str) -> None:
        self.path = path
        self.line = line
        self.reason = reason
        place = str(path) if line is None else f"{path}, line {line}"
        super().__init__(f"{place}: {reason}")


def read_client_config(path: Path) -> dict[str, str]:
    """Read the settings; blank lines and those that begin with `#` say nothing.

    Raises BadClientConfig.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "expected text in UTF-8"
        raise BadClientConfig(path, None, reason or str(error)) from None
    settings = {}
    for number, line in enumerate(text.split("\n"), 1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not line.strip() or name.startswith("#"):
            continue
        if not equals or not name:
            # The line itself is not said: it may be a password.
            raise BadClientConfig(path, number, "expected name=value")
        settings[name] = value
    return settings
