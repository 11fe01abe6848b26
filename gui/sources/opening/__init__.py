"""Opening a source: start page, dialogs, choice of columns."""
