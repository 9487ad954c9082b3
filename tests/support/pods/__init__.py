"""A cluster of the mind for tests of the pod door: what API server and controllers make of manifests."""
