"""From which coherence on a transfer function is taken at its word."""

from __future__ import annotations

COHERENT = 0.7
"""Below it, at a frequency, noise or another motion has too large a part in the measured signal."""
