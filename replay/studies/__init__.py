"""The examples of papers: run, and laid beside what the papers print."""
