/**
 * The last wall of a full Python, put up by itself before it has a script: from then on the kernel lets it start no process.
 *
 * Why: its limits of processor time and address space are limits of one process, and a script of twelve processes would have
 * twelve times as much. For the same reason what is memory and in no address space cannot be had. Threads stay: they share.
 * What Python has no `ctypes`, or a kernel that takes no filter, is not used: it ends before it says that it is ready.
 */
export const wallsSource: string = `def stay_alone():
    """A filter of the kernel's that nothing takes away again."""
    import ctypes, platform, struct
    # fork, vfork, shmget, semget, msgget, ptrace, unshare, setns, memfd_create, userfaultfd, io_uring_setup, memfd_secret
    machines = {
        "x86_64": (0xC000003E, 56, (57, 58, 29, 64, 68, 101, 272, 308, 319, 323, 425, 447)),
        "aarch64": (0xC00000B7, 220, (190, 194, 186, 117, 97, 268, 279, 282, 425, 447)),
    }
    if platform.machine() not in machines:
        raise OSError("no filter is known for a processor of the kind %s" % platform.machine())
    audit, clone, refused = machines[platform.machine()]
    allow, kill, not_permitted, not_there = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
    load, equal, at_least, any_bit, end = 0x20, 0x15, 0x35, 0x45, 0x06
    steps = [(load, 0, 0, 4), (equal, 1, 0, audit), (end, 0, 0, kill)]
    steps += [(load, 0, 0, 0), (at_least, 0, 1, 0x40000000), (end, 0, 0, not_permitted)]
    for number in refused:
        steps += [(equal, 0, 1, number), (end, 0, 0, not_permitted)]
    # clone3 hides its flags in memory: what hears that there is none uses clone, and that is let through for threads
    steps += [(equal, 0, 1, 435), (end, 0, 0, not_there)]
    steps += [(equal, 0, 3, clone), (load, 0, 0, 16), (any_bit, 1, 0, 0x10000), (end, 0, 0, not_permitted), (end, 0, 0, allow)]
    body = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    filter = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(steps), ctypes.addressof(body)))
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.prctl(38, 1, 0, 0, 0) != 0 or kernel.prctl(22, 2, filter, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the kernel takes no filter")
`;

/** Ends with 0 when they stand, else with 3. Goes before what a driver looks for besides. */
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
