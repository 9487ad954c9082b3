"""Tenant documents become accounts, associations, QOS, partitions and users: desired -> diff -> actions."""
