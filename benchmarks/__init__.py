"""Side by side with what a user would run instead."""

import os

# one core against one core: numpy's linear algebra would else keep a second one spinning
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
