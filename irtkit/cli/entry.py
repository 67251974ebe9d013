"""The command from its first moment: an interruption while irtkit loads ends it as any other does.

Loading takes half a second, and begins with the package itself: what takes care of interruptions
must be installed beside it, as ``irtkit_command``, and import next to nothing. What happens before
Python gets here is Python's.
"""

import os
import signal

_ENDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
ENDS = {getattr(signal, name): word for name, word in _ENDS.items() if hasattr(signal, name)}
"""What ends the command, and the word for it; Windows hangs up on nobody."""


def main() -> None:
    """Load irtkit and run its command line, which says what its exit codes mean."""
    for number in ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as of what a shell began with &
            signal.signal(number, _end)
    from irtkit.cli import main as run

    run()


def _end(number: int, _frame: object) -> None:
    """End at once: nothing has been begun, or all is done."""
    try:
        os.write(2, f"irtkit: {ENDS[signal.Signals(number)]}\n".encode())
    finally:
        os._exit(128 + number)
