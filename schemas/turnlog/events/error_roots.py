"""The root of all errors, and its five branches: who must act."""

from __future__ import annotations

from .error_text import shortened

__all__ = [
    "BrokerError",
    "CallerError",
    "DataError",
    "OwnershipError",
    "SinkError",
    "TurnlogError",
]


class TurnlogError(Exception):
    """The root of all errors that turnlog raises; its text is short, whatever it tells of."""

    def __init__(self, text: str = "") -> None:
        super().__init__(shortened(text))


class CallerError(TurnlogError):
    """The call is wrong as it stands; nothing was changed."""


class DataError(TurnlogError):
    """Stored data is not what it should be; nothing was dropped or changed."""


class OwnershipError(TurnlogError):
    """Another writer holds or moved the session."""


class BrokerError(TurnlogError):
    """The broker is out of reach, refuses, or did not answer."""


class SinkError(TurnlogError):
    """A consumer group's database failed."""
