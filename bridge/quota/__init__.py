"""Shares of the pool, and limits that move between two books without ever adding up to more than it has.

Pure: `decay` (use that fades), `divide` (targets of tenants), `split` (targets of planes and namespaces),
`exposure` (which writes are safe now). What carries the writes out is not here.
"""
