"""The ledger: accounting rows become entries, entries become balances and reports."""
