/** The large form of results-streams.test.ts: a whole gigabyte, in its own process. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ended } from "../fakes/postern-process.ts";

it("a gigabyte passes from tool to tool in at most 64 MiB of memory", { timeout: 300_000 }, async () => {
  const script = join(import.meta.dirname, "../fakes/gigabyte-child.ts");
  const { code, out } = await ended(
    spawn(process.execPath, ["--expose-gc", script], { stdio: ["ignore", "pipe", "pipe"] }),
  );
  expect(code).toBe(0);
  const { bytes, same, grownMebibytes } = JSON.parse(out);
  expect({ bytes, same }).toEqual({ bytes: 2 ** 30, same: true });
  expect(grownMebibytes).toBeLessThanOrEqual(64);
});
