"""Alarms after ISA-18.2: limits on published values, evaluated in stream time, with states and acknowledgement."""
