# The pipe of CPython: frames on standard input and output, limits by the kernel. Python 3.11 and newer.
import gc, resource, signal, struct


def read_exactly(size):
    data = b""
    while len(data) < size:
        part = os.read(IN, min(size - len(data), 1 << 20))
        if not part:
            os._exit(0)
        data += part
    return data


def receive():
    (size,) = struct.unpack(">I", read_exactly(4))
    return from_json(read_exactly(size).decode("utf-8"))


def send(frame, token):
    data = to_json({**frame, "token": token}).encode("ascii")
    data = struct.pack(">I", len(data)) + data
    while data:
        data = data[os.write(OUT, data):]


def listen(token):
    def over(signal_number, frame):
        send(failed("cpu", "The script used more processor time than it may and was stopped."), token)
        os._exit(0)

    signal.signal(signal.SIGXCPU, over)
    signal.signal(signal.SIGPROF, over)


def stop_at(milliseconds):
    """Sets the budget of processor time: a signal first, and the kernel's hard limit a second later."""
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    seconds = max(1, int(used + milliseconds / 1000 + 0.999))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard != resource.RLIM_INFINITY:
        seconds = max(1, min(seconds, hard - 1))
    signal.setitimer(signal.ITIMER_PROF, max(0.001, milliseconds / 1000))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def serve():
    order = receive()
    send({"ready": True}, order["token"])
    start = receive()
    token = start["token"]
    send({"started": True}, token)

    def exchange(frame):
        send(frame, token)
        return turn()

    def turn():
        order = receive()
        stop_at(order["cpuMs"])
        return {"results": from_json(order["results"]), "passedMs": order["passedMs"]}

    listen(token)
    turn()
    size = start["memoryBytes"] + start["overheadBytes"]
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    resource.setrlimit(resource.RLIMIT_FSIZE, (start["fileBytes"], start["fileBytes"]))
    try:
        last = run(start, exchange, True)
        signal.setitimer(signal.ITIMER_PROF, 0)
        send(last, token)
    except MemoryError:
        os._exit(134)  # no memory is left to report it: end as Python would
    os._exit(0)


os.environ.clear()
IN, OUT = os.dup(0), os.dup(1)
quiet = os.open("/dev/null", os.O_RDWR)
os.dup2(quiet, 0), os.dup2(quiet, 1)
stay_alone()
serve()
