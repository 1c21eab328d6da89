/** A script that cannot continue is over, and its open requests and documents are closed. */
import { describe, expect, it } from "vitest";
import type { SandboxDriver } from "../../packages/core/src/sandbox/sandbox.ts";
import { FakeClock, settled } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import { openSqliteStore } from "../../packages/postern/src/store/sqlite/sqlite-store.ts";
import { approval, EffectTools, openRuntime } from "../fakes/effect-tools.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf, scriptFixture } from "../fakes/script-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";

const files = sqliteFiles();
let names = 0;

/** Returns a script that makes a call in its first run only, as no script should. */
function inFirstRun(first: string): string {
  names += 1;
  const lives = `globalThis.over${names}`;
  return `${lives} = (${lives} ?? 0) + 1; if (${lives} === 1) { ${first} } return "end";`;
}

async function statesOf({ runtime }: RuntimeFixture): Promise<readonly string[]> {
  return (await runtime.approvals.list()).map(({ state }) => state);
}

describe("a thawed script that has less time left than thawing takes", () => {
  it("is over: its answer suggests no re-send, and its approval is withdrawn", async () => {
    const driver = fakeDriver();
    const late: SandboxDriver = {
      ...driver,
      restore: async (...given) => {
        await h.clock.advance(60);
        return driver.restore(...given);
      },
    };
    const slow: Parameters<typeof runtimeFixture>[1] = [
      {
        ...{ name: "slow", description: "Takes nearly all.", risk: "safe", effects: "read", idempotent: true },
        execute: () => h.clock.advance(9_990),
      },
    ];
    await using h: RuntimeFixture = await runtimeFixture({ chains: { drivers: [late], engines: [late.name] } }, slow);
    const script = { code: 'await call("slow", {}); await call("mail", { to: "m" }); return "sent";', timeout: 10 };
    const { approvalId = "" } = await h.runtime.runChain(script, asker);
    await h.runtime.approvals.decide(approvalId, approval);
    const ended = await h.runtime.runChain(script, asker);
    expect(resultOf(ended)).toMatchObject({ status: "timeout", error_kind: "timeout", tool_calls: 1 });
    expect(ended.text).not.toContain("send the same call again");
    expect(await statesOf(h)).toEqual(["withdrawn"]);
    expect(await h.runtime.chains?.list()).toEqual([]);
    expect(await h.runtime.calls.list({ tool: "tool_chain" })).toMatchObject([{ state: "failed", retryable: false }]);
  });
});

it("a thawed script with more time left keeps waiting when one thaw is slow, and continues by the next", async () => {
  const driver = fakeDriver();
  let isBusy = true;
  const late: SandboxDriver = {
    ...driver,
    restore: async (...given) => {
      if (isBusy) await h.clock.advance(6_500);
      return driver.restore(...given);
    },
  };
  await using h: RuntimeFixture = await runtimeFixture({ chains: { drivers: [late], engines: [late.name] } });
  const script = { code: 'await call("mail", { to: "m" }); return "sent";', timeout: 6 };
  const { approvalId = "", callId } = await h.runtime.runChain(script, asker);
  await h.runtime.approvals.decide(approvalId, approval);
  for (let tries = 0; tries < 2; tries++) {
    const ended = await h.runtime.runChain(script, asker);
    expect(resultOf(ended)).toMatchObject({ status: "timeout", error_kind: "timeout", tool_calls: 0 });
    expect(ended.text).toContain("send the same call again");
    expect(await statesOf(h)).toEqual(["approved"]);
    expect(await h.runtime.chains?.list()).toMatchObject([{ callId, state: "waiting" }]);
  }
  isBusy = false;
  expect(resultOf(await h.runtime.runChain(script, asker))).toMatchObject({ status: "ok", output_text: "sent" });
  expect(h.ran).toEqual([{ to: "m" }]);
});

describe("a script's request is withdrawn", () => {
  it("if the caller left during the wait and the script, sent again, did not make that call", async () => {
    const driver = fakeDriver({ durability: "replay" });
    await using h = await scriptFixture({ approvals: { patience: "wait" } }, driver);
    const code = inFirstRun('await call("mail", { to: "m" });');
    const controller = new AbortController();
    const running = h.runtime.runChain({ code }, { ...asker, signal: controller.signal });
    await settled(100);
    controller.abort();
    await expect(running).rejects.toThrow(/abort/);
    expect(await statesOf(h)).toEqual(["pending"]);
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ error_kind: "diverged" });
    expect(await statesOf(h)).toEqual(["withdrawn"]);
  });

  it("if the script waited for several and, run again, did not make those calls", async () => {
    await using h = await scriptFixture({}, fakeDriver({ durability: "replay" }));
    const code = inFirstRun('await Promise.all([call("mail", { to: "m" }), call("drop", { to: "d" })]);');
    await h.runtime.runChain({ code }, asker);
    expect(await statesOf(h)).toEqual(["pending", "pending"]);
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ error_kind: "diverged" });
    expect(await statesOf(h)).toEqual(["withdrawn", "withdrawn"]);
  });

  it("if no engine accepts the script any more", async () => {
    const store = `sqlite:${files.at("unfit.db")}`;
    const code = 'await Promise.all([call("mail", { to: "m" }), call("drop", { to: "d" })]); return "sent";';
    {
      await using h = await openRuntime(new EffectTools(), fakeDriver(), { store });
      const { approvalId = "" } = await h.runtime.runChain({ code }, asker);
      await h.runtime.approvals.decide(approvalId, approval);
    }
    const other = fakeDriver({ engine: "fake 2", check: async () => ({ unsupported: "no promises" }) });
    await using h = await openRuntime(new EffectTools(), other, { store });
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ error_kind: "unsupported" });
    expect(await statesOf(h)).toEqual(["withdrawn", "withdrawn"]);
    expect(h.ran).toEqual([]);
  });
});

it("a script continues after a restart with an own store and no key folder", async () => {
  const effects = new EffectTools();
  const clock = new FakeClock();
  const location = files.at("own.db");
  const open = () => openSqliteStore({ location, clock, serialize: serializeWith((text) => text) });
  const code = 'await call("work", { to: "a" }); await call("mail", { to: "m" }); return "sent";';
  {
    await using h = await openRuntime(effects, fakeDriver(), { store: open(), clock });
    const { approvalId = "" } = await h.runtime.runChain({ code }, asker);
    await h.runtime.approvals.decide(approvalId, approval);
  }
  await using h = await openRuntime(effects, fakeDriver(), { store: open(), clock });
  expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ output_text: "sent", tool_calls: 2 });
  expect([effects.did, h.ran]).toEqual([["a"], [{ to: "m" }]]);
});

it("the cleanup does not read scripts that have ended", async () => {
  const clock = new FakeClock();
  const store = new MemoryStore({ clock, serialize: serializeWith((text) => text) });
  await using h = await openRuntime(new EffectTools(), fakeDriver(), { store, clock });
  const listed = async () =>
    Promise.all(["frozen-script", "frozen-header"].map((kind) => store.documents.list(kind, "")));
  for (const to of ["1", "2", "3"]) {
    const code = `await call("mail", { to: "${to}" }); return "sent";`;
    const { approvalId = "" } = await h.runtime.runChain({ code }, asker);
    expect((await listed()).map(({ length }) => length)).toEqual([1, 1]);
    await h.runtime.approvals.decide(approvalId, approval);
    await h.runtime.runChain({ code }, asker);
  }
  expect(await listed()).toEqual([[], []]);
});
