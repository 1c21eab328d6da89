import { type ChildProcess, spawn } from "node:child_process";

/** How long a server may take to end after its input was closed, and after SIGTERM. */
const politeMs = 2_000;
const lookEveryMs = 20;

/**
 * A server's process and everything it starts, ended together: npx, uvx and shells start the real server as a child. A shell
 * that waits for the end of its input ends the group when Postern is killed, as far as the system allows it.
 */
export class ProcessGroup {
  readonly #child: ChildProcess;
  readonly #group: number;
  readonly #exited: Promise<void>;
  #ending: Promise<void> | undefined;

  /** @param child the leader of a group of its own (`detached`), which has started */
  constructor(child: ChildProcess) {
    this.#child = child;
    this.#group = child.pid ?? 0;
    guard.add(this.#group);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#exited = promise;
    child.once("exit", () => {
      resolve();
      void this.#endRest();
    });
  }

  /** Closes the server's input, then sends signals. Resolves when the whole group has ended or was killed. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    await atMost(politeMs, this.#exited);
    await this.#endRest();
  }

  #endRest(): Promise<void> {
    this.#ending ??= this.#kill().finally(() => guard.drop(this.#group));
    return this.#ending;
  }

  async #kill(): Promise<void> {
    if (!signal(this.#group, "SIGTERM")) return;
    for (let waitedMs = 0; waitedMs < politeMs; waitedMs += lookEveryMs) {
      await atMost(lookEveryMs);
      if (!signal(this.#group, 0)) return;
    }
    if (signal(this.#group, "SIGKILL")) await atMost(politeMs, this.#exited);
  }
}

/** Returns false when no process is left in the group. */
function signal(group: number, name: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-group, name);
    return true;
  } catch {
    return false; // ESRCH, or EPERM of another user's program, which we must not end
  }
}

/** Uses real time, because processes do. */
async function atMost(ms: number, what: Promise<void> = new Promise(() => {})): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([what, promise]);
  clearTimeout(timer);
}

/** Reads `add GROUP` and `drop GROUP`. Its input ends when Postern ends; it then ends the groups that are left. */
const guardScript = `
trap '' INT TERM HUP
groups=
while read -r what group; do
  case $what in
    add) groups="$groups $group" ;;
    drop) kept=; for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done; groups=$kept ;;
  esac
done
[ -n "$groups" ] || exit 0
for one in $groups; do kill -s TERM -- "-$one"; done 2>/dev/null
sleep 2
for one in $groups; do kill -s KILL -- "-$one"; done 2>/dev/null
`;

class Guard {
  readonly #groups = new Set<number>();
  #shell: ChildProcess | undefined;

  add(group: number): void {
    this.#groups.add(group);
    this.#shell ??= this.#start();
    this.#write(`add ${group}`);
  }

  drop(group: number): void {
    this.#groups.delete(group);
    this.#write(`drop ${group}`);
    if (this.#groups.size > 0) return;
    this.#shell?.stdin?.end();
    this.#shell = undefined;
  }

  #start(): ChildProcess {
    const shell = spawn("/bin/sh", ["-c", guardScript], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
    shell.on("error", ignored);
    shell.stdin?.on("error", ignored);
    shell.unref();
    return shell;
  }

  #write(line: string): void {
    this.#shell?.stdin?.write(`${line}\n`);
  }
}

const guard = new Guard();

/** Without the shell, the servers still see the end of their input. */
function ignored(): void {}
