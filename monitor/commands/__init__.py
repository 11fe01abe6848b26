"""The subcommands of `synchroscope`, one file each."""
