import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { isAlive } from "../../../system/alive.ts";

const warden = new URL("./warden.ts", import.meta.url).href;

/** A host with two children that never end by themselves; it has told of both, and lets the second go again. */
const host = `import { spawn } from "node:child_process";
import { keepWithUs, letGo } from "${warden}";
const [one, other] = [1, 2].map(() => spawn("sleep", ["600"], { detached: true, stdio: "ignore" }));
for (const { pid } of [one, other]) keepWithUs(pid);
letGo(other.pid);
console.log(one.pid, other.pid);
setInterval(() => undefined, 1000);`;

it.skipIf(process.platform === "win32")(
  "what is kept ends with a host that was killed, and nothing else does",
  async () => {
    const living = spawn(process.execPath, ["--input-type=module", "-e", host], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said]: unknown[] = await once(living.stdout, "data");
    const [kept = 0, free = 0] = String(said).trim().split(" ").map(Number);
    try {
      expect([kept, free].map(isAlive)).toEqual([true, true]);
      living.kill("SIGKILL");
      await expect.poll(() => isAlive(kept)).toBe(false);
      expect(isAlive(free)).toBe(true);
    } finally {
      process.kill(free, "SIGKILL");
    }
  },
);

it.skipIf(process.platform === "win32")("it keeps no host alive", async () => {
  const short = `import { keepWithUs } from "${warden}"; keepWithUs(2 ** 30);`;
  const living = spawn(process.execPath, ["--input-type=module", "-e", short], { stdio: "ignore" });
  expect(await once(living, "exit")).toEqual([0, null]);
});
