"""Sessions in files, and back: plain and Zstandard JSONL, strict and recovering."""

from .errors import ExportIncomplete, FileRefused, FileUnreadable
from .exporting import (
    Exported,
    check_parents,
    export_log,
    export_name,
    export_sessions,
    tree_of,
)
from .file_sessions import FileFault, FileSessions, session_files
from .importing import DryRun, Importer, Outcome, OutcomeKind, Summary, import_file, import_files
from .recovering import Candidate, DamagedRange, Double, Gap, Recovered, prefix, records, recover
from .strict import frame_text, place_text

__all__ = [
    "Candidate",
    "DamagedRange",
    "Double",
    "DryRun",
    "ExportIncomplete",
    "Exported",
    "FileFault",
    "FileRefused",
    "FileSessions",
    "FileUnreadable",
    "Gap",
    "Importer",
    "Outcome",
    "OutcomeKind",
    "Recovered",
    "Summary",
    "check_parents",
    "export_log",
    "export_name",
    "export_sessions",
    "frame_text",
    "import_file",
    "import_files",
    "place_text",
    "prefix",
    "records",
    "recover",
    "session_files",
    "tree_of",
]
