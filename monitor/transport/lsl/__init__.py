"""Lab Streaming Layer (LSL): signals of a stream as a source, results and events as streams of its own."""
