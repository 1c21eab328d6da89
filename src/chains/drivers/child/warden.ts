/**
 * Ends the sandboxes of a host that was ended itself, by what cannot be caught.
 *
 * Why: an engine in an endless loop does not see that its input is over, its process may start no thread that would, and the
 * kernel forgets a death signal when a process becomes nobody. So one small process keeps the list and acts when its own
 * input is over.
 */
import { type ChildProcess, spawn } from "node:child_process";

/** A line is `+` or `-` and a process group. A terminal's Ctrl-C and a polite end are the host's to hear: only its end counts. */
const script = `trap '' HUP INT TERM
kept=" "
while read -r sign group; do
  case "$sign" in
    +) kept="$kept$group " ;;
    -) case "$kept" in *" $group "*) kept="\${kept%%" $group "*} \${kept#*" $group "}" ;; esac ;;
  esac
done
for group in $kept; do kill -s KILL -- "-$group"; done`;

const kept = new Set<number>();
let warden: ChildProcess | undefined;

/** From here on the group ends with us. Where there is no shell it ends at its limit of processor time. */
export function keepWithUs(group: number): void {
  kept.add(group);
  if (warden === undefined) start();
  else tell(`+ ${group}`);
}

/** It has ended: its number may be another's by and by. */
export function letGo(group: number): void {
  if (kept.delete(group)) tell(`- ${group}`);
}

function start(): void {
  const own = spawn("/bin/sh", ["-c", script], {
    cwd: "/",
    env: {},
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const forget = (): void => {
    if (warden === own) warden = undefined; // the next one is told of all
  };
  own.on("error", forget).on("exit", forget).unref();
  own.stdin.on("error", forget);
  if ("unref" in own.stdin && typeof own.stdin.unref === "function") own.stdin.unref();
  warden = own;
  for (const group of kept) tell(`+ ${group}`);
}

function tell(line: string): void {
  warden?.stdin?.write(`${line}\n`);
}
