/**
 * The filter of system calls that CPython installs before it has a script. Nothing takes it away again.
 *
 * Why an allow list: what a later kernel adds is refused too. Why one process: limits of processor time and address space
 * are limits of one process, and twelve processes would have twelve times as much. Threads stay: they share.
 * A Python without `ctypes`, or a kernel that takes no filter, ends before it reports that it is ready.
 */
import { systemCalls } from "./system-calls.ts";

export const wallsSource: string = `SYSTEM_CALLS = """${systemCalls}"""


def allowed(column):
    rows = [line.split(", ") for line in SYSTEM_CALLS.split("\\n") if line and not line.startswith("#")]
    numbers = [each.split()[column] for row in rows for each in row]
    return [int(number) for number in numbers if number != "-"]


def stay_alone():
    import ctypes, platform, struct
    # audit number of the processor, column of the list, then the numbers of clone, clone3, ioctl and getrandom
    machines = {"x86_64": (0xC000003E, 1, 56, 435, 16, 318), "aarch64": (0xC00000B7, 2, 220, 435, 29, 278)}
    if platform.machine() not in machines:
        raise OSError("no filter is known for a processor of the kind %s" % platform.machine())
    audit, column, clone, clone3, ioctl, getrandom = machines[platform.machine()]
    allow, kill = (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x80000000)
    not_permitted, no_terminal, not_there = ((0x06, 0, 0, 0x00050000 + error) for error in (1, 25, 38))
    load, equal, at_least, any_bit = 0x20, 0x15, 0x35, 0x45
    steps = [(load, 0, 0, 4), (equal, 1, 0, audit), kill]
    steps += [(load, 0, 0, 0), (at_least, 0, 1, 0x40000000), not_permitted]  # numbers of the x32 kind
    for number in allowed(column):
        steps += [(equal, 0, 1, number), allow]
    # clone3 hides its flags in memory: a caller that is told it does not exist uses clone, which may start threads only
    steps += [(equal, 0, 1, clone3), not_there]
    steps += [(equal, 0, 4, clone), (load, 0, 0, 16), (any_bit, 0, 1, 0x10000), allow, not_permitted]
    # of ioctl, whether a file stays open in another program; Python asks every file whether it is a terminal
    steps += [(equal, 0, 5, ioctl), (load, 0, 0, 24), (equal, 1, 0, 0x5450), (equal, 0, 1, 0x5451), allow, no_terminal]
    # numbers that a replay would not find again
    steps += [(equal, 0, 1, getrandom), not_there, not_permitted]
    body = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    filter = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(body)))
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.prctl(38, 1, 0, 0, 0) != 0 or kernel.prctl(22, 2, filter, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")
`;

/** Ends with 0 when the filter holds, else with 3. */
export const wallsProbe: string = `${wallsSource}
import os, sys

stay_alone()
try:
    os.fork()
except PermissionError:
    pass
else:
    os._exit(3)
`;
