"""Stands for `bridge.agent.native_child` in tests of the pool: no Slurm, any behaviour."""

from __future__ import annotations

import os
import socket
import sys
import time

from bridge.wire import receive_frame, send_frame


def main() -> None:
    if "NATIVE_DOUBLE_FAILS" in os.environ.get("LANG", ""):
        print("slurm.conf is missing", file=sys.stderr)
        sys.exit(1)
    with socket.socket(fileno=os.dup(0)) as parent:
        send_frame(parent, {"pyslurm": "double", "said": []})
        while (request := receive_frame(parent)) is not None:
            op, args = request["op"], request["args"]
            if op == "die":
                print("assertion failed", file=sys.stderr)
                os.abort()
            if op == "sleep":
                time.sleep(args["seconds"])
            if op == "refuse":
                failed = {"errno": args["errno"], "words": "Slurm's words"}
                send_frame(parent, {"failed": failed, "said": args["said"]})
                continue
            send_frame(parent, {"done": os.getpid(), "said": ["beside it"]})


if __name__ == "__main__":
    main()
