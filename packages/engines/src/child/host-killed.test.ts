import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { isAlive } from "@postern/core/system";
import { expect, it } from "vitest";

const url = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);

it.runIf(existsSync("/usr/bin/setpriv"))("ends a sandbox in an endless loop with its killed host", async () => {
  const host = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `const { SandboxProcess } = await import(${url("./child-process.ts")});
      const { lyingChild } = await import(${url("../../../../test/fakes/lying-child.ts")});
      const child = await SandboxProcess.start(lyingChild("for (;;);"));
      child.send({ do: "next" });
      console.log(child.pid);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const [pid] = (await once(host.stdout, "data")).map(Number);
  expect(isAlive(pid ?? 0)).toBe(true);
  host.kill("SIGKILL");
  await expect.poll(() => isAlive(pid ?? 0)).toBe(false);
});
