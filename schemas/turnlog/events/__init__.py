"""Vocabulary and formats of the session event log: events, rows, JSONL, and the commit record.

Pure: knows no Kafka, clock, file system or random source.
"""
