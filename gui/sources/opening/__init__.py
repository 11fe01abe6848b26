"""Opening something: the first page, dialogs, and the choice of columns."""
