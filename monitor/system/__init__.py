"""The operating system: worker processes, files that are what they seem, user names."""
