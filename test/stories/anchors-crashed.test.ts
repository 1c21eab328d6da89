import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { createRuntime, type Runtime } from "../../packages/postern/src/index.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { compileCache } from "../setup/compile-cache.ts";

const child = fileURLToPath(new URL("../crash/child.ts", import.meta.url));

/** A first process on a new folder, killed at the point of its first checkpoint. */
async function killedAt(point: string): Promise<string> {
  const folder = ownFolder();
  const running = spawn(process.execPath, [child, folder, "0", point, "1"], {
    env: { ...process.env, ...compileCache },
    stdio: "ignore",
  });
  const [, signal] = await once(running, "exit");
  expect(signal).toBe("SIGKILL");
  return folder;
}

async function verified(folder: string): Promise<Awaited<ReturnType<Runtime["audit"]["verify"]>>> {
  await using runtime = await createRuntime({ store: `sqlite:${join(folder, "postern.db")}`, folder });
  return await runtime.audit.verify();
}

const sizesIn = (folder: string): number[] =>
  readFileSync(join(folder, "audit.anchors"), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => Number(JSON.parse(line).split("\n")[1]));

it.each(["checkpoint.before", "checkpoint.after", "anchored.before", "anchored.after"])(
  "a first process killed at %s raises no alarm, and a removed anchor file does",
  async (point) => {
    const folder = await killedAt(point);
    expect(existsSync(join(folder, "audit.anchors"))).toBe(point.startsWith("anchored"));
    for (let start = 0; start < 3; start += 1)
      expect(await verified(folder)).toMatchObject({ intact: true, outcome: "ok" });
    expect(new Set(sizesIn(folder)).size).toBe(sizesIn(folder).length); // no checkpoint is written twice
    rmSync(join(folder, "audit.anchors"));
    expect(await verified(folder)).toMatchObject({ integrity: "intact", outcome: "failed" });
  },
  30_000,
);
