import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { buildStamp } from "./build-stamp.ts";

const folder = mkdtempSync(join(tmpdir(), "postern-stamp-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("changes when engine, code or texts change", async () => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const engine = file("engine.wasm", "engine");
  const program = file("inside.ts", "inside");
  file("glue.ts", "glue");
  const stamp = (): Promise<string> => buildStamp(program, [engine], ["prelude"]);
  const first = await stamp();
  expect(first).toMatch(/^[0-9a-f]{16}$/);
  file("glue.test.ts", "a test");
  expect(await stamp()).toBe(first);
  expect(await buildStamp(program, [engine], ["another"])).not.toBe(first);
  file("glue.ts", "other glue");
  const second = await stamp();
  file("engine.wasm", "other engine");
  expect(new Set([first, second, await stamp()]).size).toBe(3);
  const built = file("inside.js", "inside");
  const whole = await buildStamp(built, [engine]);
  file("glue.ts", "glue once more"); // what is built holds all it needs
  expect(await buildStamp(built, [engine])).toBe(whole);
});
