"""Sessions in files, and back: plain and Zstandard JSONL."""

from .file_sessions import FileSessions

__all__ = ["FileSessions"]
