"""``python -m gateway.cli``, what the launcher runs: Ctrl-C never shows a traceback, not even early."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)

from gateway.cli.main import main  # noqa: E402 - loading the commands takes half a second

signal.signal(signal.SIGINT, signal.default_int_handler)
main()
