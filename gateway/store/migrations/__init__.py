"""Schema changes, one file each, applied by `gateway.store.schema.migrate`."""
