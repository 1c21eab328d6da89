import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ownFolder } from "../../../../../test/fakes/own-folder.ts";
import { createRuntime, type Runtime, type ServerConfig } from "../../index.ts";

interface Scene {
  readonly server: ServerConfig;
  /** The process that the server leaves behind: it heeds neither the end of its input nor SIGTERM. */
  readonly child: () => number;
  readonly starts: () => readonly number[];
}

/** A server that starts a process of its own, as npx and uvx do. */
function scene(form: "bare" | "shell"): Scene {
  const folder = ownFolder();
  const [child, starts] = [join(folder, "child"), join(folder, "starts")];
  const options = JSON.stringify({ child, starts });
  const args = ["test/fakes/raw-server.ts", options];
  const server =
    form === "bare"
      ? { command: process.execPath, args }
      : { command: "/bin/sh", args: ["-c", `"$0" "$@"; true`, process.execPath, ...args] };
  const numbers = (file: string): number[] => readFileSync(file, "utf8").trim().split("\n").map(Number);
  return { server, child: () => numbers(child)[0] ?? 0, starts: () => numbers(starts) };
}

async function open(server: ServerConfig): Promise<Runtime> {
  const runtime = await createRuntime({ servers: { one: { ...server, risk: "safe" } } });
  onTestFinished(() => runtime.close(0));
  return runtime;
}

/** Whether it runs; a process that has ended and was not collected yet does not. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

async function gone(pid: number): Promise<void> {
  for (let waited = 0; isAlive(pid) && waited < 8_000; waited += 20)
    await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isAlive(pid)).toBe(false);
}

it.skipIf(process.platform !== "linux").each(["bare", "shell"] as const)(
  "all that a server started ends with it: %s (needs /proc)",
  async (form) => {
    const { server, child, starts } = scene(form);
    const runtime = await open(server);
    expect(isAlive(child())).toBe(true);
    await runtime.close(0);
    await gone(child());
    await gone(starts()[0] ?? 0);
  },
);

it.skipIf(process.platform !== "linux")(
  "what a server that crashed left behind ends before the next one starts",
  async () => {
    const { server, child, starts } = scene("shell");
    const runtime = await open(server);
    const left = child();
    const connected = Promise.withResolvers<boolean>();
    runtime.watch((event) => {
      if (event.moment === "noted" && event.type === "mcp.connected") connected.resolve(isAlive(left));
    });
    process.kill(starts()[0] ?? 0, "SIGKILL");
    expect(await connected.promise).toBe(false);
    expect(starts()).toHaveLength(2);
  },
);

it.skipIf(process.platform !== "linux").each(["SIGKILL", "SIGTERM"] as const)(
  "the servers of a Postern that is ended by %s end with it",
  async (signal) => {
    const { server, child, starts } = scene("shell");
    const program = ["test/fakes/serving-process.ts", JSON.stringify({ one: server })];
    const postern = spawn(process.execPath, program, { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void postern.kill("SIGKILL"));
    const [said] = (await once(postern.stdout, "data")) as [Buffer];
    expect(said.toString()).toBe("ready connected\n");
    postern.kill(signal);
    await gone(child());
    await gone(starts()[0] ?? 0);
  },
);
