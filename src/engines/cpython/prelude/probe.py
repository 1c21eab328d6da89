# Appended to system_calls.py: tries the isolation once, before an engine is used. Ends with 0 if it holds.
import os


def forks():
    try:
        return os.fork() >= 0
    except PermissionError:
        return False


def holds_in_bubblewrap():
    return not os.path.exists("/proc/self") and not os.environ.get("HOME")


def holds_in_gvisor():
    import socket

    networks = [name for _, name in socket.if_nameindex() if name != "lo"]
    return not os.path.exists("/etc/passwd") and len(os.listdir("/proc")) > 0 and not networks


def probe(holds):
    stay_alone()
    os._exit(0 if not forks() and os.getuid() == 65534 and holds() else 3)
