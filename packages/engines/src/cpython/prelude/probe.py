# Appended to system_calls.py: tries the isolation once, before an engine is used. Ends with 0 if it holds.
import os


def forks():
    try:
        return os.fork() >= 0
    except PermissionError:
        return False


def is_isolated():
    return not os.path.exists("/proc/self") and not os.environ.get("HOME")


stay_alone()
os._exit(0 if not forks() and os.getuid() == 65534 and is_isolated() else 3)
