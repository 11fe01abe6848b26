"""What `synchroscope monitor --check` looks at before a test: one file a subject, each with functions that find."""
