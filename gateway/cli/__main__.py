"""``python -m gateway.cli``, what the launcher runs: Ctrl-C never shows a traceback, not even early."""

import signal
import sys

signal.signal(signal.SIGINT, signal.SIG_DFL)

from gateway.cli.dropin import run  # noqa: E402 - loading takes a while

if len(sys.argv) > 1 and sys.argv[1] in run.NAMES:  # programs call these often: nothing else is loaded
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(run.main(sys.argv[1], sys.argv[2:]))

from gateway.cli.main import main  # noqa: E402

signal.signal(signal.SIGINT, signal.default_int_handler)
main()
