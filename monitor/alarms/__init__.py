"""Alarms: limits on published values, judged in stream time, each with a life of its own."""
