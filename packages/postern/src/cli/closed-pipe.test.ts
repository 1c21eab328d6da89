import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { CommandLine } from "../../../../test/fakes/command-line.ts";

const cli = new CommandLine();
const data = join(cli.folder, "data");
afterAll(() => cli[Symbol.dispose]());

it("a Postern whose log has no reader goes on, and lets calls in flight end when it is stopped", async () => {
  const { child } = await cli.start(data);
  child.stdout?.destroy();
  child.stderr?.destroy(); // as in `postern start 2>&1 | tee log` when Ctrl-C ends both
  const call = cli.run("call", "slow", "seconds=1", "--data", data);
  await expect.poll(() => cli.runs).toContain("slow");
  child.kill("SIGTERM");
  expect(await call).toMatchObject({ code: 0, out: "done\n" });
  if (child.exitCode === null) await once(child, "exit");
  expect(child.exitCode).toBe(0);
});

it("a command whose answer has no reader fails", async () => {
  const { child } = cli.open(["audit", "export", "--data", data]);
  child.stdout?.destroy();
  await once(child, "exit");
  expect(child.exitCode).toBe(1);
});

it.skipIf(!existsSync("/dev/full"))("a command whose answer does not fit on the disk says so in a sentence", () => {
  const full = openSync("/dev/full", "w");
  const words = [join(import.meta.dirname, "../../bin/postern.js"), "tools", "--data", data];
  const { status, stderr } = spawnSync(process.execPath, words, { cwd: cli.folder, stdio: ["ignore", full, "pipe"] });
  closeSync(full);
  expect(status).toBe(1);
  expect(stderr.toString()).toMatch(
    /postern: The answer cannot be written: ENOSPC: no space left on device, write\.\n$/,
  );
});
