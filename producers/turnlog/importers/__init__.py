"""Sessions in files, and back: plain and Zstandard JSONL, strict and recovering."""

from .errors import ExportIncomplete, FileRefused, FileUnreadable
from .exporting import export_log, export_name, tree_of
from .file_sessions import FileSessions, session_files
from .importing import Outcome, OutcomeKind, Summary, import_file, import_files
from .recovering import Candidate, Double, Gap, Recovered, records, recover

__all__ = [
    "Candidate",
    "Double",
    "ExportIncomplete",
    "FileRefused",
    "FileSessions",
    "FileUnreadable",
    "Gap",
    "Outcome",
    "OutcomeKind",
    "Recovered",
    "Summary",
    "export_log",
    "export_name",
    "import_file",
    "import_files",
    "records",
    "recover",
    "session_files",
    "tree_of",
]
