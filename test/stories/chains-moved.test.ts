/** On real engines, a script that moves to the next engine or to another build does nothing twice. */
import { afterAll, describe, expect, it } from "vitest";
import { SystemClock } from "../../packages/core/src/clock.ts";
import type { SandboxDriver } from "../../packages/core/src/sandbox/sandbox.ts";
import { knownEngines } from "../../packages/engines/src/known-engines.ts";
import type { defineTool } from "../../packages/postern/src/index.ts";
import { recordedDriver } from "../fakes/engine-fixture.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";

const closing = new AsyncDisposableStack();
afterAll(() => closing.disposeAsync());

async function engine(name: string): Promise<{ readonly driver: SandboxDriver; readonly missing: string | undefined }> {
  const driver = await knownEngines.get(name)?.(new SystemClock());
  if (driver === undefined) throw new Error(`There is no engine \`${name}\`.`);
  closing.use(driver);
  const missing = await driver.unavailable();
  if (missing !== undefined) console.warn(`SKIPPED: ${name}: ${missing}`);
  return { driver: recordedDriver(driver, { seen: { programs: [], limits: [], sessions: [], settled: [] } }), missing };
}

const cpython = await engine("cpython");
const quickjs = await engine("quickjs");

interface Room extends RuntimeFixture {
  readonly did: string[];
}

async function open(drivers: readonly SandboxDriver[]): Promise<Room> {
  const did: string[] = [];
  const note: Parameters<typeof defineTool>[0] = {
    ...{ name: "note", description: "Has an effect.", risk: "safe", effects: "write", idempotent: false },
    input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    execute: (given) => {
      const { text } = given as { readonly text: string }; // the schema says so
      did.push(text);
      return "[1]";
    },
  };
  const chains = { drivers, engines: drivers.map(({ name }) => name) };
  return Object.assign(await runtimeFixture({ chains }, [note]), { did });
}

/** Changes the build at each start of a script; `LIFE` in its source is the number of earlier starts. */
function rebuilt(driver: SandboxDriver): SandboxDriver {
  let lives = 0;
  return {
    ...{ name: driver.name, capabilities: driver.capabilities },
    get engine() {
      return `build ${lives}`;
    },
    unavailable: () => driver.unavailable(),
    start: (program, limits) => {
      const source = program.source.replaceAll("LIFE", `${lives}`);
      lives += 1;
      return driver.start({ ...program, source }, limits);
    },
    restore: () => Promise.reject(new Error("another build")),
  };
}

const scripts = {
  python: (before: string) => `${before}\ntools.note(text='a')\ntools.mail(to='m')\n'sent'`,
  javascript: (before: string) =>
    `${before}\nawait tools.note({ text: "a" }); await tools.mail({ to: "m" }); return "sent";`,
};
const pieces = 'artifacts.put("x" * 100)';

describe.each([
  ["cpython", cpython, "python", `if LIFE == 0:\n    progress('begun')\n    help()\n    ${pieces}`],
  ["quickjs", quickjs, "javascript", 'if (LIFE === 0) { await progress("begun"); await help(); }'],
] as const)(
  "a script that waits for a person in another build of %s",
  (_name, { driver, missing }, language, chatter) => {
    it.skipIf(missing !== undefined)(
      "asks the host for less when it continues, and does nothing twice",
      async () => {
        await using h = await open([rebuilt(driver)]);
        const script = { code: scripts[language](chatter), language };
        const pending = await h.runtime.runChain(script, asker);
        await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
        const result = resultOf(await h.runtime.runChain(script, asker));
        expect(result).toMatchObject({ status: "ok", output_text: "sent", tool_calls: 2 });
        expect(h.did).toEqual(["a"]);
        expect(h.ran).toEqual([{ to: "m" }]);
      },
      120_000,
    );

    it.skipIf(missing !== undefined)(
      "ends as diverged if it raises an error before its earlier calls",
      async () => {
        await using h = await open([rebuilt(driver)]);
        const raises = {
          python: "if LIFE > 0:\n    raise ValueError('another path')",
          javascript: "if (LIFE > 0) throw new Error('another path');",
        };
        const script = { code: scripts[language](raises[language]), language };
        const pending = await h.runtime.runChain(script, asker);
        await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
        const result = resultOf(await h.runtime.runChain(script, asker));
        expect(result).toMatchObject({ status: "error", error_kind: "diverged" });
        expect(result["error"]).toMatch(/another path/);
        expect([h.did, h.ran]).toEqual([["a"], []]);
      },
      120_000,
    );

    it.skipIf(missing !== undefined)(
      "ends before it does anything if it leaves out a refused call",
      async () => {
        await using h = await open([rebuilt(driver)]);
        const refused = {
          python: "if LIFE == 0:\n    try:\n        tools.note(text=5)\n    except Exception:\n        pass",
          javascript: "if (LIFE === 0) { try { await tools.note({ text: 5 }); } catch {} }",
        };
        const script = { code: scripts[language](refused[language]), language };
        const pending = await h.runtime.runChain(script, asker);
        await h.runtime.approvals.decide(pending.approvalId ?? "", { decision: "approved", by: boss });
        const result = resultOf(await h.runtime.runChain(script, asker));
        expect(result).toMatchObject({ status: "error", error_kind: "diverged" });
        expect(JSON.stringify(result["call_trace"])).toContain("idempotency_conflict");
        expect(h.did).toEqual(["a"]);
        expect(h.ran).toEqual([]);
      },
      120_000,
    );
  },
);
