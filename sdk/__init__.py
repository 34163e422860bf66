"""What runs inside the agent: scopes that take notes in microseconds, and one worker thread that does the rest."""

from toolwitness.sdk.clock import ManualClock, RandomIds, SeededIds
from toolwitness.sdk.recorder import Recorder
from toolwitness.sdk.settings import Settings

__all__ = ["ManualClock", "RandomIds", "Recorder", "SeededIds", "Settings"]
