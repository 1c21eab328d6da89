/** Prints once, at the end, which tests this machine skips, and what it lacks for them. */
import { existsSync } from "node:fs";
import { CpythonDriver } from "../../packages/engines/src/cpython/cpython.ts";

interface Need {
  readonly tests: string;
  /** Returns undefined when the requirement is met. */
  readonly lacks: string | undefined;
}

export async function setup(): Promise<() => void> {
  await using cpython = new CpythonDriver({ warm: 0 });
  const skipped = [
    ...[isLinux, asRoot, asUser].map((need) => need()),
    { tests: "scripts in CPython", lacks: await cpython.unavailable() },
    ...programs.map(([path, tests]) => ({ tests, lacks: existsSync(path) ? undefined : `${path} is not installed` })),
  ].filter(({ lacks }) => lacks !== undefined);
  return () => {
    for (const { tests, lacks } of skipped) console.warn(`SKIPPED: ${tests}: ${lacks}`);
  };
}

const programs = [
  ["/usr/bin/python3", "what compares with Python outside a sandbox"],
  ["/usr/bin/setpriv", "what needs fewer privileges than it has"],
  ["/usr/bin/chrt", "the class in which the kernel schedules a sandbox"],
  ["/usr/sbin/nats-server", "workers over NATS"],
  ["/usr/bin/patch", "a diff that `patch` applies"],
] as const;

function isLinux(): Need {
  return { tests: "limits of processes", lacks: process.platform === "linux" ? undefined : "they need Linux" };
}

function asRoot(): Need {
  return {
    tests: "how root gives its rights away, and small disks that are mounted",
    lacks: process.getuid?.() === 0 ? undefined : "they need root",
  };
}

function asUser(): Need {
  const lacks = process.getuid?.() === 0 ? "nothing is forbidden to root" : undefined;
  return { tests: "files that may not be read", lacks };
}
