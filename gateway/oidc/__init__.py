"""Tokens of OIDC issuers: a signed token becomes claims, claims become a user with roles."""
