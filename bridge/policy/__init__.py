"""Pure rules of tenants: the document, the classes, the decision on a request and its Lua twin."""
