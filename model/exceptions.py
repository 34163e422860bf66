"""Everything that toolwitness raises on purpose.

ToolwitnessError
├── SettingsError          a setting has a value that cannot be used
├── StoreHeldError         another process has the database file open for writing
├── StoreMissingError      there is no database file where one was looked for
├── StoreVersionError      the database file was written by another schema version
├── QueueFullError         the collector's queue cannot take a request now
├── UnknownQueryError      no named query of that name, or its parameters do not fit
├── UnknownFormatError     a file is in no format that the importers know
├── BrokenFileError        a file is in a known format but cannot be read to its end
├── RedactedArgumentError  a tool was given a redaction placeholder in place of a value
├── IdempotencyKeyError    a call has no idempotency key that no other payment could have
├── IdempotencyConflictError  a node or idempotency key was used with other arguments before
├── RunNotFoundError       no run of that id is stored
├── CallNotFoundError      no call of that id is stored
├── SettlementError        a finding about a call cannot be taken or was not stored
├── PurgeError             a purge could not be done; the file is as it was
├── ExportError            an export could not be written
├── CollectorAnswerError   a collector answered something that is not its protocol
└── MissingExtraError      the needed extra is not installed
"""

from __future__ import annotations


class ToolwitnessError(Exception):
    """Base of every error that toolwitness raises on purpose; its text says what to do next."""


class SettingsError(ToolwitnessError, ValueError):
    """A setting has a value that cannot be used."""


class StoreHeldError(ToolwitnessError):
    """Another process has the database file open for writing."""


class StoreMissingError(ToolwitnessError):
    """There is no database file where one was looked for."""


class StoreVersionError(ToolwitnessError):
    """The database file was written by another schema version."""


class QueueFullError(ToolwitnessError):
    """The collector's queue cannot take a request now."""


class UnknownQueryError(ToolwitnessError, KeyError):
    """No named query of that name, or its parameters do not fit."""

    def __str__(self) -> str:
        """Return the text as given, where KeyError would show its repr."""
        return str(self.args[0]) if self.args else ""


class UnknownFormatError(ToolwitnessError):
    """A file is in no format that the importers know."""


class BrokenFileError(ToolwitnessError):
    """A file is in a known format but cannot be read to its end."""


class RedactedArgumentError(ToolwitnessError, ValueError):
    """A tool was given a redaction placeholder in place of a value: a copy made for telemetry has flowed back."""


class IdempotencyKeyError(ToolwitnessError):
    """A call has no idempotency key of which it is certain that no other payment has it, and that a restart finds it again."""


class IdempotencyConflictError(ToolwitnessError):
    """A node, or an idempotency key of the application's own, was used with other arguments before."""


class RunNotFoundError(ToolwitnessError):
    """No run of that id is stored."""


class CallNotFoundError(ToolwitnessError):
    """No call of that id is stored."""


class SettlementError(ToolwitnessError):
    """A finding about a call cannot be taken, or was not stored; nothing has changed."""


class PurgeError(ToolwitnessError):
    """A purge could not be done; the file is as it was."""


class ExportError(ToolwitnessError):
    """An export could not be written."""


class CollectorAnswerError(ToolwitnessError):
    """A collector answered something that is not its protocol."""


class MissingExtraError(ToolwitnessError, ImportError):
    """The needed extra is not installed."""
