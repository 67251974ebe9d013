"""The command from its first moment: an interruption while irtkit loads ends it as any other does.

Loading takes half a second, and begins with the package itself: what takes care of interruptions
must be installed beside it, as ``irtkit_command``, and import next to nothing. What happens before
Python gets here is Python's.
"""

import os
import signal

_CODES = {signal.SIGINT: ("interrupted", 130), signal.SIGTERM: ("terminated", 143)}


def main() -> None:
    """Load irtkit and run its command line, which says what its exit codes mean."""
    for number in _CODES:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as of what a shell began with &
            signal.signal(number, _end)
    from irtkit.cli import main as run

    run()


def _end(number: int, _frame: object) -> None:
    """End at once: nothing has been begun, or all is done."""
    word, code = _CODES[signal.Signals(number)]
    os.write(2, f"irtkit: {word}\n".encode())
    os._exit(code)
