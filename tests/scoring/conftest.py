"""Wall-clock time is no property of these functions: a busy machine must not fail a test."""

from hypothesis import settings

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
