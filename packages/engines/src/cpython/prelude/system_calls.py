# The filter of system calls that CPython installs before it has a script. A filter cannot be removed. Python 3.11 and newer.
#
# It is an allow list, so that calls of later kernels are refused too. It allows one process: limits of processor time and
# address space are limits of one process, and twelve processes would have twelve times as much. Threads share them.
# A Python without `ctypes`, or a kernel that takes no filter, ends before it reports that it is ready.
# Name, number on x86-64, number on arm64 (`-`: the call does not exist). Not in the list, so refused: processes (fork,
# execve, kill), sockets, pipes and other memory that no limit counts, namespaces and mounts, tracing, kernel modules.
SYSTEM_CALLS = """
# files that are open, and memory
read 0 63, write 1 64, close 3 57, fstat 5 80, newfstatat 262 79, statx 332 291, lstat 6 -, stat 4 -, lseek 8 62, pread64 17 67, pwrite64 18 68
readv 19 65, writev 20 66, preadv 295 69, pwritev 296 70, mmap 9 222, munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, msync 26 227
mincore 27 232, brk 12 214
# threads
futex 202 98, set_robust_list 273 99, get_robust_list 274 100, rseq 334 293, set_tid_address 218 96, gettid 186 178, tgkill 234 131
sched_yield 24 124, sched_getaffinity 204 123, membarrier 324 283
# signals
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigsuspend 130 133, rt_sigtimedwait 128 137
sigaltstack 131 132, restart_syscall 219 128, pause 34 -, alarm 37 -, setitimer 38 103, getitimer 36 102
# time and limits
clock_gettime 228 113, clock_getres 229 114, clock_nanosleep 230 115, nanosleep 35 101, gettimeofday 96 169, time 201 -, times 100 153
getrusage 98 165, prlimit64 302 261, getrlimit 97 163, setrlimit 160 164
# waiting
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72
# files and folders by name
openat 257 56, open 2 -, creat 85 -, access 21 -, faccessat 269 48, faccessat2 439 439, getdents 78 -, getdents64 217 61, getcwd 79 17, chdir 80 49
fchdir 81 50, readlink 89 -, readlinkat 267 78, dup 32 23, dup2 33 -, dup3 292 24, fcntl 72 25, flock 73 32, fsync 74 82, fdatasync 75 83
truncate 76 45, ftruncate 77 46, fallocate 285 47, fadvise64 221 223
# changes of files: the mounts decide where they take effect
mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37
symlink 88 -, symlinkat 266 36, chmod 90 -, fchmod 91 52, fchmodat 268 53, umask 95 166, utime 132 -, utimes 235 -, futimesat 261 -, utimensat 280 88
statfs 137 43, fstatfs 138 44, sendfile 40 71, copy_file_range 326 285, close_range 436 436
# facts of the process
getpid 39 172, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177, getgroups 115 158, getresuid 118 148
getresgid 120 150, uname 63 160, sysinfo 99 179, exit 60 93, exit_group 231 94
"""


def allowed(column):
    rows = [line.split(", ") for line in SYSTEM_CALLS.split("\n") if line and not line.startswith("#")]
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
    # clone3 hides its flags in memory: without it callers use clone, which may start threads only
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
