"""What usage costs: price books, the bill of a period, estimates of a script."""
