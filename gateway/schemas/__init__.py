"""Shapes of the HTTP API, by version."""
