"""Every error that turnlog raises, split by who must act.

    TurnlogError
    ├── CallerError          the caller changes the call
    │   ├── NotLossless  BadShape  SurfaceRefused  UnregisteredType  TooLarge
    │   ├── Backpressure  Reentrant  Closed  NotDurable
    │   ├── BadSessionId  UnknownSession  SessionExists
    │   ├── InvalidBoundary  OpenTurn  EmptyReplacement  PresetMismatch
    │   └── RequestMismatch  InvariantBreach  ViewBreach
    ├── DataError            the stored data is not what it should be
    │   ├── BadRow  MissingField  RestoreRefused  UnknownRequiredType  BadSplice
    │   ├── BrokenLog ── DamagedFile
    │   ├── NewerThanReader  LogStartCut  LogEndPassed
    │   └── LineageCycle  ImportConflict  BadCheckpoint
    ├── OwnershipError       another writer moved the session
    │   └── OwnedElsewhere  Conflict  Superseded
    ├── BrokerError          the broker must be there, or must allow it
    │   ├── BrokerUnavailable  NotAuthorized  LayoutMismatch
    │   └── OutcomeUnknown  StoreFailed  NotAcknowledged
    └── SinkError            a group's database failed

An error carries its facts as attributes; its text says what was expected, what was found and, where
there is one, what to do.
"""

from __future__ import annotations

from .caller_errors import (
    Backpressure,
    BadSessionId,
    BadShape,
    Closed,
    EmptyReplacement,
    InvalidBoundary,
    InvariantBreach,
    NotDurable,
    NotLossless,
    OpenTurn,
    PresetMismatch,
    Reentrant,
    RequestMismatch,
    SessionExists,
    SurfaceRefused,
    TooLarge,
    UnknownSession,
    UnregisteredType,
    ViewBreach,
)
from .data_errors import (
    BadCheckpoint,
    BadRow,
    BadSplice,
    BrokenLog,
    DamagedFile,
    ImportConflict,
    LineageCycle,
    LogEndPassed,
    LogStartCut,
    MissingField,
    NewerThanReader,
    RestoreRefused,
    UnknownRequiredType,
)
from .error_roots import (
    BrokerError,
    CallerError,
    DataError,
    OwnershipError,
    SinkError,
    TurnlogError,
)
from .outside_errors import (
    BrokerUnavailable,
    Conflict,
    LayoutMismatch,
    NotAcknowledged,
    NotAuthorized,
    OutcomeUnknown,
    OwnedElsewhere,
    StoreFailed,
    Superseded,
)

__all__ = [
    "Backpressure",
    "BadCheckpoint",
    "BadRow",
    "BadSessionId",
    "BadShape",
    "BadSplice",
    "BrokenLog",
    "BrokerError",
    "BrokerUnavailable",
    "CallerError",
    "Closed",
    "Conflict",
    "DamagedFile",
    "DataError",
    "EmptyReplacement",
    "ImportConflict",
    "InvalidBoundary",
    "InvariantBreach",
    "LayoutMismatch",
    "LineageCycle",
    "LogEndPassed",
    "LogStartCut",
    "MissingField",
    "NewerThanReader",
    "NotAcknowledged",
    "NotAuthorized",
    "NotDurable",
    "NotLossless",
    "OpenTurn",
    "OutcomeUnknown",
    "OwnedElsewhere",
    "OwnershipError",
    "PresetMismatch",
    "Reentrant",
    "RequestMismatch",
    "RestoreRefused",
    "SessionExists",
    "SinkError",
    "StoreFailed",
    "Superseded",
    "SurfaceRefused",
    "TooLarge",
    "TurnlogError",
    "UnknownRequiredType",
    "UnknownSession",
    "UnregisteredType",
    "ViewBreach",
]
