"""Contract tests of this chapter: offline, in seconds."""
