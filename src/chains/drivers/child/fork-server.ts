/**
 * One small process that starts sandboxes for this one, and ends them when this one was ended by what cannot be caught.
 *
 * Why it starts them: whoever starts a process is copied first, and a server's memory is large: milliseconds in which it
 * answers nobody, and as long again by and by, for each page that it writes to afterwards. A shell's copy delays nobody.
 * Why it ends them: an engine in an endless loop does not see that its input is over, its process may start no thread that
 * would, and the kernel forgets a death signal when a process becomes nobody.
 * Invariant: what it was told to keep is ended at the latest when its own input is over.
 * Next: started.ts (how it is done where there is no such shell), child-process.ts (what is said to what was started).
 */
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { SystemClock } from "../../../calls/clock.ts";
import { passingFolder } from "../../../system/passing-folder.ts";
import { PipedStart } from "./piped-process.ts";
import { sandboxNiceness, standBack } from "./priority.ts";
import { holdStream, type Started, startHere, type ToStart } from "./started.ts";

/** What it needs besides the shell; every Debian, Fedora and Alpine has all of it. */
const tools = ["sh", "env", "mkfifo", "nice", "setsid", "chrt"];
const starts = process.platform === "linux" && tools.every(isThere);

/**
 * It reads commands, and says by lines what has become of them; what starts says so itself, when all its pipes are open. A
 * caught signal is the default again in what is started, an ignored one would stay ignored; a terminal's Ctrl-C and a polite
 * end are the host's to hear.
 */
const script = `begin='{ echo "$2" >/proc/self/autogroup; } 2>/dev/null; echo "$1 started $$" >&3; shift 2; exec env -i "$@" 3>&-'
trap : HUP INT TERM PIPE; trap at_end EXIT; set -f; kept=" "
at_end() { for group in $kept; do kill -s KILL -- "-$group"; done; kill -s KILL 0; }
keep() { kept="$kept$1 "; }
let_go() {
  case "$kept" in *" $1 "*) kept="\${kept%%" $1 "*} \${kept#*" $1 "}" ;; esac
  jobs >/dev/null
}
start() {
  id=$1 pipe=$2 folder=$3 nice=$4; shift 4
  if mkfifo -m 600 "$pipe.in" "$pipe.out" "$pipe.err"; then echo "$id made"; stay "$@" & else echo "$id failed"; fi
}
stay() {
  cd "$folder"
  setsid nice -n "$((nice - ${sandboxNiceness}))" sh -c "$begin" sh "$id" "$nice" "$@" 3>&1 <"$pipe.in" >"$pipe.out" 2>"$pipe.err" &
  wait "$!"; echo "$id ended $?"
}
run() { id=$1; shift; tell "$@" & }
tell() { said=$("$@" 2>&1); code=$?; set -- $said; printf '%s ran %s %.500s\\n' "$id" "$code" "$*"; }
chrt -b -p 0 $$ >/dev/null
`;

const longestRunMs = 5_000;
const clock = new SystemClock(); // processes start in real time
const execute = promisify(execFile);

const kept = new Set<number>();
let server: ForkServer | undefined;
let asks = 0;

/** By the fork server, where this host can have one. @throws Error when it does not start */
export function start(asked: ToStart): Promise<Started> {
  return starts ? byServer((own) => own.start(asked)) : startHere(asked);
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** A small program that is done in a moment, and may be run twice. @throws Error with what it said, when it failed */
export async function run(command: string, args: readonly string[], user?: User): Promise<void> {
  const asUser = user && ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"];
  const here = (): Promise<unknown> => execute(command, [...args], { env: {}, timeout: longestRunMs, ...user });
  if (!starts) await here();
  else await byServer((own) => own.run([...(asUser ?? []), command, ...args])).catch(here); // small images have a `setpriv` that knows no users
}

/** By the next one, where the shell was ended meanwhile. */
async function byServer<T>(act: (own: ForkServer) => Promise<T>): Promise<T> {
  const own = serverHere();
  try {
    return await act(own);
  } catch (error) {
    if (own === server) throw error;
    return act(serverHere());
  }
}

/** From here on the group ends with us. Where there is no shell it ends at its limit of processor time. */
export function keepWithUs(group: number): void {
  kept.add(group);
  if (server === undefined)
    serverHere(); // the new one is told of all
  else server.tell("keep", `${group}`);
}

/** It has ended: its number may be another's by and by. */
export function letGo(group: number): void {
  if (kept.delete(group)) server?.tell("let_go", `${group}`);
}

function serverHere(): ForkServer {
  server ??= new ForkServer();
  return server;
}

/** What has become of something that was asked for: a word, and what belongs to it. */
type Hear = (word: string, rest: string) => void;

class ForkServer {
  readonly #shell = spawn("/bin/sh", [], {
    ...{ cwd: "/", env: { PATH: "/usr/bin:/bin" }, detached: true, windowsHide: true },
    stdio: ["pipe", "pipe", "ignore"],
  });
  readonly #asked = new Map<string, Hear>();
  #holds = 0;
  #unread = "";

  constructor() {
    const { pid, stdin, stdout } = this.#shell;
    const lose = (): void => {
      if (server === this) server = undefined; // the next one is told of all
      for (const hear of this.#asked.values()) hear("lost", "");
    };
    this.#shell.on("error", lose).on("exit", lose);
    stdin.on("error", lose);
    stdout.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    if (pid !== undefined) standBack(pid, sandboxNiceness); // what it starts begins there
    stdin.write(script);
    for (const group of kept) this.tell("keep", `${group}`);
    this.#keepHost(false);
  }

  async start({ command, args, environment, folder, niceness }: ToStart): Promise<Started> {
    if (command.includes("/") && !existsSync(command)) throw new Error(`There is no program at ${command}.`);
    const id = `${++asks}`;
    const pipe = join(pipeFolder(), id);
    const own = new PipedStart(pipe, (isHeld) => this.#hold(isHeld));
    const hear: Hear = (word, rest) => {
      if (word === "made") own.made();
      else if (word === "started") own.runs(Number(rest));
      else if (word === "ended") own.ended(Number(rest));
      else own.failed(`A process could not be started: ${word}.`);
      if (word === "ended" || word === "failed") this.#asked.delete(id);
    };
    this.#asked.set(id, hear);
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    return this.#whileHeld(() => {
      this.tell("start", id, pipe, folder, `${niceness}`, ...variables, command, ...args);
      return own.started;
    });
  }

  run(words: readonly string[]): Promise<void> {
    const id = `${++asks}`;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const hear: Hear = (word, rest) => {
      this.#asked.delete(id);
      inTime();
      if (word === "ran" && rest.startsWith("0 ")) resolve();
      else reject(new Error(`${words.join(" ")} failed: ${word} ${rest}`));
    };
    const inTime = clock.in(longestRunMs, () => hear("late", `by ${longestRunMs} ms`));
    this.#asked.set(id, hear);
    return this.#whileHeld(() => {
      this.tell("run", id, ...words);
      return promise;
    });
  }

  tell(...words: readonly string[]): void {
    this.#shell.stdin.write(`${words.map(quoted).join(" ")}\n`);
  }

  #read(text: string): void {
    const lines = (this.#unread + text).split("\n");
    this.#unread = lines.pop() ?? "";
    for (const line of lines) {
      const [id = "", word = "", ...rest] = line.split(" ");
      this.#asked.get(id)?.(word, rest.join(" "));
    }
  }

  async #whileHeld<T>(act: () => Promise<T>): Promise<T> {
    this.#hold(true);
    try {
      return await act();
    } finally {
      this.#hold(false);
    }
  }

  /** Whether our process stays for what it says. */
  #hold(isHeld: boolean): void {
    this.#holds += isHeld ? 1 : -1;
    this.#keepHost(this.#holds > 0);
  }

  #keepHost(does: boolean): void {
    const { stdin, stdout } = this.#shell;
    for (const part of [this.#shell, stdin, stdout]) holdStream(part, does);
  }
}

let folder: string | undefined;

/** Made anew when somebody has tidied up the temporary ones. */
function pipeFolder(): string {
  if (folder === undefined || !existsSync(folder)) folder = passingFolder("pipes");
  return folder;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function isThere(name: string): boolean {
  return ["/usr/bin", "/bin"].some((path) => existsSync(join(path, name)));
}
