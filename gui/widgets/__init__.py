"""Widgets and colours that any panel may use."""
