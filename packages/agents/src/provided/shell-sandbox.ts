/**
 * Runs one command at a time, each in its own bubblewrap sandbox: the command can write the workspace and read the system's
 * programs, and nothing else. It has no network unless that is allowed.
 *
 * Invariant: every process of a command ends with it. The sandbox is a process namespace: when its first process ends, the
 * kernel ends all others, also those that left its group or session.
 * Invariant: a command runs as it is written. Each begins in a new shell, and what an earlier command leaves for it is data
 * (shell-state.ts), which the shell never evaluates.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import type { Readable } from "node:stream";
import { SystemClock } from "@postern/core";
import { Bubblewrap, ownNamespaces } from "@postern/core/system";
import type { GitEntry } from "./git-entries.ts";
import { mostStateBytes, stateFrom } from "./shell-state.ts";

export interface ShellLimits {
  readonly timeoutMs: number;
  /** Limit of each of the two streams. */
  readonly maxOutputBytes: number;
  readonly memoryBytes: number;
  readonly processes: number;
}

export interface SandboxOptions extends ShellLimits {
  readonly network: boolean;
  /** Further folders that commands may read, absolute. */
  readonly readable: readonly string[];
}

export interface ShellRun {
  /** The writable folder, absolute, and its path in the sandbox. */
  readonly folder: string;
  readonly at: string;
  /** `DEVICE:INODE` of the folder. */
  readonly identity: string;
  /** What in the folder stays read-only. */
  readonly git: readonly GitEntry[];
  readonly command: string;
  /** What an earlier command leaves, as `stateFrom` gives it. Undefined if no state is used. */
  readonly state?: Buffer | undefined;
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal;
}

export interface ShellEnd {
  readonly stdout: string;
  readonly stderr: string;
  readonly outcome: { readonly type: "exit"; readonly exit_code: number } | { readonly type: "timeout" };
  /** Why it was ended, if the outcome does not say so. */
  readonly note?: string;
  /** What the command leaves for the next. Missing if that stays as before. */
  readonly state?: Buffer;
}

const clock = new SystemClock(); // processes live in real time
/** A command that writes more is ended. */
const floodBytes = 64 * 1024 * 1024;
const temporaryBytes = 256 * 1024 * 1024;

/**
 * Reads the command and the state (a folder, then `NAME=VALUE`) from its input. While the command runs, descriptor 3 is
 * closed for every program. At the end the folder and the exported variables are written to it. bash restores it before the
 * trap, or keeps it as 10 if the command ends within a function. A command without a state writes none.
 */
const script = `mapfile -t -d '' __given; exec </dev/null
set -- "\${__given[@]}"; unset __given
if [ $# -gt 1 ]; then
  cd -- "$2" 2>/dev/null
  [ $# -eq 2 ] || export -- "\${@:3}" 2>/dev/null
  trap '{ /usr/bin/env -0 >&3 || /usr/bin/env -0 >&10; } 2>/dev/null' EXIT
fi
set -- "$1"
eval "$1" 3>&-`;

const bash = ["/bin/bash", "--noprofile", "--norc", "-c"];
/**
 * Checks that the folder and its read-only entries are the expected ones, because bubblewrap finds them by their paths: up
 * to `--`, paths with their `DEVICE:INODE`. Then it waits for bash. bubblewrap ends after it, and the kernel lets it end
 * after all other processes.
 */
const firstProcess = `while [ "$1" != -- ]; do
  [ "$(stat -c %d:%i -- "$1" 2>/dev/null)" = "$2" ] || { echo "$1 is not the one it was. Try again." >&2; exit 125; }
  shift 2
done
shift; "$@"; exit $?`;

/** It is tried before it is offered, as an engine is. */
export class ShellSandbox {
  readonly #bubblewrap: Bubblewrap;
  readonly #options: SandboxOptions;

  private constructor(bubblewrap: Bubblewrap, options: SandboxOptions) {
    this.#bubblewrap = bubblewrap;
    this.#options = options;
  }

  /** @returns a sandbox that was tested here, or why there is none */
  static async open(options: SandboxOptions): Promise<ShellSandbox | { readonly missing: string }> {
    const bubblewrap = Bubblewrap.find({ name: "postern-shell", mostProcesses: options.processes });
    if ("missing" in bubblewrap) return bubblewrap;
    const alone = options.network ? "true" : '[ "$(grep -c : /proc/net/dev)" = 1 ]';
    const probe = `[ "$(id -u)" = 65534 ] && [ ! -e /etc/passwd ] && [ ! -w /proc/sys/kernel/core_pattern ] && [ ! -w /usr ] && ${alone}`;
    const missing = await bubblewrap.problem([...sandboxArguments(options), ...bash, probe]);
    return missing === undefined ? new ShellSandbox(bubblewrap, options) : { missing };
  }

  async run(run: ShellRun): Promise<ShellEnd> {
    const expected = [
      run.at,
      run.identity,
      ...run.git.flatMap(({ path, identity }) => [`${run.at}/${path}`, identity]),
    ];
    const { command, args } = this.#bubblewrap.around(
      [
        ...sandboxArguments(this.#options, run),
        "/bin/sh",
        "-c",
        firstProcess,
        "sh",
        ...expected,
        "--",
        ...bash,
        script,
        "bash",
      ],
      this.#options,
    );
    const stdio = ["pipe", "pipe", "pipe", "pipe"] as const;
    const child = spawn(command, [...args], { cwd: "/", env: {}, stdio: [...stdio], detached: true });
    child.stdin?.on("error", ignored); // the command may end before it reads
    child.stdin?.end(Buffer.concat([Buffer.from(`${run.command}\0`), run.state ?? Buffer.of()]));
    try {
      return await this.#ended(child, run);
    } finally {
      this.#bubblewrap.groups?.remove(child.pid ?? 0);
    }
  }

  async #ended(child: ChildProcess, { timeoutMs, maxOutputBytes, signal }: ShellRun): Promise<ShellEnd> {
    let ended: "time" | "output" | undefined;
    const end = (why: typeof ended): void => {
      ended ??= why;
      killAll(child);
    };
    const cancelled = (): void => end("time");
    signal.addEventListener("abort", cancelled, { once: true });
    if (signal.aborted) cancelled();
    const disarm = clock.in(timeoutMs, () => end("time"));
    let total = 0;
    const [stdout, stderr, state] = [1, 2, 3].map((descriptor) => {
      const excerpt = new Excerpt(descriptor === 3 ? 2 * mostStateBytes : maxOutputBytes);
      const stream = child.stdio[descriptor] as Readable; // all three are pipes
      stream.on("error", ignored); // "close" reports its end
      stream.on("data", (chunk: Buffer) => {
        total += chunk.length;
        excerpt.take(chunk);
        if (total > floodBytes) end("output");
      });
      return excerpt;
    });
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 137));
    try {
      const exit_code = await promise;
      const texts = { stdout: stdout?.text ?? "", stderr: stderr?.text ?? "" };
      if (ended === "time") return { ...texts, outcome: { type: "timeout" } };
      return { ...texts, outcome: { type: "exit", exit_code }, ...this.#more(child, ended, state) };
    } finally {
      disarm();
      signal.removeEventListener("abort", cancelled);
    }
  }

  #more(
    child: ChildProcess,
    ended: "output" | undefined,
    state: Excerpt | undefined,
  ): Pick<ShellEnd, "note" | "state"> {
    if (ended === "output") return { note: `It was ended: it wrote more than ${floodBytes} bytes.` };
    if (this.#bubblewrap.groups?.ranOutOfMemory(child.pid ?? 0) === true)
      return { note: `It was short of memory: all of it may have ${this.#options.memoryBytes} bytes.` };
    if (state === undefined || state.bytes === 0) return {};
    if (state.bytes <= mostStateBytes) return { state: stateFrom(state.content) };
    return { note: `Its exported variables have more than ${mostStateBytes} bytes; the earlier ones stay.` };
  }
}

function sandboxArguments(
  { network, readable }: SandboxOptions,
  run?: Pick<ShellRun, "folder" | "at" | "git">,
): readonly string[] {
  const settings = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/tmp", LANG: "C.UTF-8", TERM: "dumb" };
  const forNetwork = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl/certs"];
  const files = ["/etc/alternatives", "/etc/ld.so.cache", ...(network ? forNetwork : []), ...readable];
  return [
    ...ownNamespaces,
    ...(network ? ["--share-net"] : []),
    ...Object.entries(settings).flatMap((pair) => ["--setenv", ...pair]),
    ...["--ro-bind", "/usr", "/usr", ...["/bin", "/sbin", "/lib", "/lib32", "/lib64"].flatMap(systemFolder)],
    ...files.flatMap((path) => ["--ro-bind-try", path, path]),
    // Root may write root's files in `/proc/sys` without any capability, so `/proc` is made read-only.
    ...["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--size", `${temporaryBytes}`, "--tmpfs", "/tmp"],
    ...(run === undefined ? ["--chdir", "/tmp"] : ["--bind", run.folder, run.at, ...readOnly(run), "--chdir", run.at]),
    ...["--remount-ro", "/", "--as-pid-1", "--"],
  ];
}

/** If an entry is removed meanwhile, the first process notices it. */
function readOnly({ folder, at, git }: Pick<ShellRun, "folder" | "at" | "git">): readonly string[] {
  return git.flatMap(({ path }) => ["--ro-bind-try", `${folder}/${path}`, `${at}/${path}`]);
}

/** On most systems it is a link into `/usr`. */
function systemFolder(path: string): readonly string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
}

/** When the first process of the namespace ends, all others end, and then bubblewrap. Before it exists, bubblewrap is killed. */
function killAll({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ");
    process.kill(first === undefined || first === "" ? -pid : Number(first), "SIGKILL");
  } catch {
    // it has ended already
  }
}

/** The beginning and the end of an output, with a note of what is left out between. */
class Excerpt {
  readonly #half: number;
  #head = Buffer.alloc(0);
  #tail = Buffer.alloc(0);
  bytes = 0;

  constructor(mostBytes: number) {
    this.#half = Math.ceil(mostBytes / 2);
  }

  take(chunk: Buffer): void {
    this.bytes += chunk.length;
    const room = this.#half - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    if (chunk.length > room)
      this.#tail = Buffer.concat([this.#tail, chunk.subarray(Math.max(0, room))]).subarray(-this.#half);
  }

  /** Without a note: whole if it has at most the given number of bytes. */
  get content(): Buffer {
    return Buffer.concat([this.#head, this.#tail]);
  }

  get text(): string {
    const left = this.bytes - this.#head.length - this.#tail.length;
    if (left === 0) return this.content.toString("utf8");
    return `${this.#head.toString("utf8")}\n[${left} bytes are left out here]\n${this.#tail.toString("utf8")}`;
  }
}

function ignored(): void {}
