"""TEMPORARY"""
from typing import Any
def session_class() -> Any:
    from turnlog.session.session import Session
    return Session
