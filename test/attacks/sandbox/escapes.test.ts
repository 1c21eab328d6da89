import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { ScriptStep } from "../../../packages/core/src/sandbox/sandbox.ts";
import { quickJsDriver, type WarmDriver } from "../../../packages/engines/src/quickjs/driver.ts";
import { corpus } from "../../fakes/corpus.ts";
import { driveScript, someTools } from "../../fakes/scripts.ts";

interface Escape {
  readonly src: string;
  readonly code: string;
}

const rows = corpus<Escape>("sandbox-escape/vm2_js.dev.json");
const limits = { cpuMs: 400, memoryBytes: 32 << 20, outputBytes: 20_000, wallMs: 3_000 };
const folder = mkdtempSync(join(tmpdir(), "postern-canary-"));
const canary = `canary-${process.pid}-${"x".repeat(8)}`;
/** What an earlier script of the same owner left in the process. */
const kept = `former-${process.pid}-${"y".repeat(8)}`;
const leaving = `globalThis.kept = ${JSON.stringify(kept)}; files.write("/workspace/kept", kept); kept.length`;
/** What a successful escape leaves: files it writes, and output about the host. */
const leftBehind = ["/tmp/pwned", "/tmp/pwn", "/tmp/escaped", "/tmp/poc", "/tmp/test", "pwned", "flag"];
const ownBefore = [Object.prototype, Function.prototype, Array.prototype, Promise.prototype, Error.prototype].map(
  (it) => Reflect.ownKeys(it).map(String).join(),
);

let driver: WarmDriver;
beforeAll(async () => {
  writeFileSync(join(folder, "canary"), canary);
  process.env["POSTERN_CANARY"] = canary;
  driver = await quickJsDriver({ warm: 3, startsAtOnce: 2, most: 8 });
});
afterAll(async () => {
  delete process.env["POSTERN_CANARY"];
  rmSync(folder, { recursive: true });
  await driver[Symbol.asyncDispose]();
});

/** All output of the script: its value, its prints, its calls' arguments, its error. */
async function allOutputOf(source: string): Promise<{ readonly end: ScriptStep; readonly output: string }> {
  const about = { language: "javascript", tools: someTools, chainId: "c", owner: "one" } as const;
  await using former = await driver.start({ ...about, source: leaving }, limits);
  expect((await driveScript(former)).end.step).toBe("done");
  await using session = await driver.start({ ...about, source }, limits); // in the same process, where that one is at rest
  const { end, calls, out } = await driveScript(session);
  return { end, output: JSON.stringify([end, calls, out]) };
}

const greedy = [
  "process.env.POSTERN_CANARY",
  `require("fs").readFileSync(${JSON.stringify(join(folder, "canary"))}, "utf8")`,
  `(await import("node:fs")).readFileSync(${JSON.stringify(join(folder, "canary"))}, "utf8")`,
  "this.constructor.constructor('return process')().env.POSTERN_CANARY",
  "tools.echo.constructor.constructor('return process')().env.POSTERN_CANARY",
  "(async () => {}).constructor('return process.env')()",
  "console.log.constructor('return globalThis.process.env.POSTERN_CANARY')()",
  "try { await tools.echo(5) } catch (error) { error.constructor.constructor('return process')().env.POSTERN_CANARY }",
  "Object.getPrototypeOf(tools); Reflect.ownKeys(globalThis).map((name) => String(globalThis[name])).join()",
  "(await tools.echo({})).constructor.constructor('return process')().mainModule",
  "Error.prepareStackTrace = (_, frames) => frames.map((frame) => String(frame.getThis?.() ?? frame)); new Error().stack",
];

it.skipIf(rows.length === 0).each(rows.map((row, i) => [`${i} ${row.src}`, row.code] as const))(
  "contains %s",
  async (_, code) => {
    const { end, output } = await allOutputOf(code);
    expect(end.step).not.toBe("calls");
    expect(end.step === "failed" && (end.why === "crash" || end.why === "protocol") ? end : "contained").toBe(
      "contained",
    );
    expect(output).not.toContain(canary);
    expect(output).not.toContain(kept);
    expect(output).not.toMatch(/ESCAPED|uid=\d|root:x:/);
  },
);

it.each(greedy)("reads no canary by %s", async (code) => {
  const { output } = await allOutputOf(code);
  expect(output).not.toContain(canary);
  expect(output).not.toContain(kept);
  expect(output).not.toContain("/work/");
});

it("leaves every prototype of the host and every place outside unchanged", () => {
  const now = [Object.prototype, Function.prototype, Array.prototype, Promise.prototype, Error.prototype].map((it) =>
    Reflect.ownKeys(it).map(String).join(),
  );
  expect(now).toEqual(ownBefore);
  expect(readFileSync(join(folder, "canary"), "utf8")).toBe(canary);
  expect(leftBehind.filter((path) => path.startsWith("/tmp/p") && existsSync(path))).toEqual([]);
});
