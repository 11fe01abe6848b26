"""Synchroscope: how late and how large each actuator of a hybrid simulation is, live.

The names in `__init__.pyi` are what a control engineer embeds; each is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
