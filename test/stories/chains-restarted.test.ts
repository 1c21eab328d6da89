/** A script that waits for a restart or for a free sandbox loses nothing. */
import { expect, it } from "vitest";
import { SystemClock } from "../../packages/core/src/clock.ts";
import { CpythonDriver } from "../../packages/engines/src/cpython/cpython.ts";
import { quickJsDriver } from "../../packages/engines/src/quickjs/driver.ts";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { approval, EffectTools, openRuntime } from "../fakes/effect-tools.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";

const files = sqliteFiles();
const missing = await new CpythonDriver().unavailable();
if (missing !== undefined) console.warn(`SKIPPED: cpython: ${missing}`);

it.skipIf(missing !== undefined)(
  "a Python script is replayed after a restart, also if a tool it names is gone",
  async () => {
    const store = `sqlite:${files.at("gone.db")}`;
    const effects = new EffectTools();
    const [work] = effects.tools;
    if (work === undefined) throw new Error("The bench has no tools.");
    const open = (driver: CpythonDriver, tools: Parameters<typeof runtimeFixture>[1]): Promise<RuntimeFixture> => {
      const options: RuntimeOptions = { store, chains: { drivers: [driver], engines: ["cpython"] } };
      return runtimeFixture(options, tools);
    };
    const code = `tools.work(to="a")
said = []
try:
    said.append(tools.mail(to="m").text)
    said.append(tools.gone(to="b").text)
except Exception as error:
    said.append(str(error))
said`;
    const script = { code, language: "python" } as const;
    {
      await using driver = new CpythonDriver({ warm: 0 });
      await using h = await open(driver, [work, { ...work, name: "gone" }]);
      const { approvalId = "" } = await h.runtime.runChain(script, asker);
      await h.runtime.approvals.decide(approvalId, approval);
      expect(h.ran).toEqual([]);
    }
    await using driver = new CpythonDriver({ warm: 0 });
    await using h = await open(driver, [work]);
    expect(await h.runtime.chains?.list()).toMatchObject([{ state: "waiting", engine: "cpython" }]);
    const done = resultOf(await h.runtime.runChain(script, asker));
    expect(done).toMatchObject({ status: "ok", engine: "cpython", tool_calls: 2 });
    expect(done["output_text"]).toMatch(/no tool/);
    expect([effects.did, h.ran]).toEqual([["a"], [{ to: "m" }]]);
  },
);

it("waiting for a sandbox uses none of a script's processor time", async () => {
  const clock = new SystemClock(); // processor time is real
  await using driver = await quickJsDriver({ clock, warm: 1, most: 1 });
  const chains = { drivers: [driver], engines: ["quickjs"], cpuMs: 1_000 };
  await using h = await openRuntime(new EffectTools(), driver, { clock, chains });
  const ended: string[] = [];
  const run = async (name: string, code: string): Promise<unknown> => {
    const { status } = resultOf(await h.runtime.runChain({ code, language: "javascript" }, asker));
    ended.push(name);
    return status;
  };
  const first = run("first", "await sleep(2500); return 1;");
  await expect.poll(async () => (await h.runtime.chains?.list())?.length).toBe(1);
  const second = run("second", "let sum = 0; for (let n = 0; n < 1e5; n++) sum += n; return sum;");
  expect(await Promise.all([first, second])).toEqual(["ok", "ok"]);
  expect(ended).toEqual(["first", "second"]);
});
