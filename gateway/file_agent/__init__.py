"""The file-agent: reads files as their owner, for the gateway."""
