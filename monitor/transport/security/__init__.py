"""CURVE keys: files, folders, the list of clients, ZAP."""
