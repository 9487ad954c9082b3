"""The file-agent: reads files of shared file systems as the user who owns the job, never as root."""
