/** A script that is run again is compared with its earlier calls; its results and its used budget stay. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import type { defineTool, RuntimeOptions } from "../../packages/postern/src/index.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";

const yes = { decision: "approved", by: boss } as const;
const no = { decision: "denied", by: boss } as const;
const durabilities = ["snapshot", "replay"] as const;

interface Room extends RuntimeFixture {
  readonly did: string[];
}

/** A runtime with `work`, which has an effect and runs unasked, `shaky`, which fails at first, and `slow`. */
async function open(durability: "snapshot" | "replay" = "replay", options: RuntimeOptions = {}): Promise<Room> {
  const driver = fakeDriver({ durability });
  const did: string[] = [];
  const toOf = (given: unknown): string => (given as { readonly to: string }).to; // the schema says so
  const input = { type: "object", properties: { to: { type: "string" } }, required: ["to"] } as const;
  const tool = { description: "Has an effect.", risk: "safe", effects: "write", idempotent: false, input } as const;
  const work: Parameters<typeof defineTool>[0] = {
    ...tool,
    name: "work",
    execute: (given) => void did.push(toOf(given)),
  };
  const failed = new Set<string>();
  const shaky: typeof work = {
    ...tool,
    name: "shaky",
    execute: (given) => {
      const to = toOf(given);
      if (failed.has(to)) did.push(to);
      else if (failed.add(to)) throw Object.assign(new Error("not now"), { retryable: true });
    },
  };
  const slow: typeof work = {
    ...{ name: "slow", description: "Takes six seconds.", risk: "safe", effects: "read", idempotent: true },
    execute: () => made.clock.advance(6_000),
  };
  const chains = { drivers: [driver], engines: [driver.name], ...options.chains };
  const made = await runtimeFixture({ ...options, chains }, [work, shaky, slow]);
  return Object.assign(made, { did });
}

/** Sends a script, decides its first request, and sends it again. */
async function resumed(
  { runtime }: RuntimeFixture,
  code: string,
  said: typeof yes | typeof no = yes,
): Promise<ReturnType<typeof resultOf>> {
  const pending = await runtime.runChain({ code }, asker);
  await runtime.approvals.decide(pending.approvalId ?? "", said);
  return resultOf(await runtime.runChain({ code }, asker));
}

let names = 0;
/** Returns a script that differs between its first run and later ones, as no script should. */
function changingScript(first: string, then: string, later = ""): string {
  names += 1;
  const lives = `globalThis.lives${names}`;
  return `${lives} = (${lives} ?? 0) + 1; if (${lives} === 1) { ${first} } else { ${later} } ${then}`;
}

const rest = 'await call("work", { to: "a" }); await call("mail", { to: "m" }); return "sent";';
const refusedCall = 'try { await call("nope", { to: "x" }); } catch {}';

describe("a script that is replayed", () => {
  it("may ask the host for less than before if its calls are the same", async () => {
    await using h = await open();
    const result = await resumed(h, changingScript('await host("progress", { text: "on" });', rest));
    expect(result).toMatchObject({ status: "ok", output_text: "sent", tool_calls: 2 });
    expect(h.did).toEqual(["a"]);
  });

  it.each([
    ["leaves out a call that left nothing in the ledger", refusedCall, ""],
    ["makes another call where one was refused", refusedCall, 'await call("work", { to: "b" });'],
    ["makes one more call", "", 'await call("work", { to: "b" });'],
  ])("ends before any of it runs if it %s", async (_what, first, later) => {
    await using h = await open();
    const result = await resumed(h, changingScript(first, rest, later));
    expect(result).toMatchObject({ status: "error", error_kind: "diverged" });
    expect(h.did).toEqual(["a"]);
    expect(h.ran).toEqual([]);
    expect(JSON.stringify(result["call_trace"])).toContain("idempotency_conflict");
  });

  it("that diverges gets the trace of all it has done, and opens no request", async () => {
    await using h = await open();
    const both = 'await Promise.allSettled([call("mail", { to: "new" }), call("work", { to: "b" })]);';
    const result = await resumed(h, changingScript("", rest, both));
    expect(result["call_trace"]).toMatchObject([
      { tool: "mail", code: "idempotency_conflict" },
      { tool: "work", status: "ok" },
    ]);
    expect(result["error"]).toMatch(/its call 1 \(line \d+\), `mail`, is not the one it made before/);
    const requests = await h.runtime.approvals.list();
    expect(requests.map(({ arguments: { to } }) => to)).toEqual(["m"]);
  });

  it("ends if it returns before it has repeated its earlier calls", async () => {
    await using h = await open();
    const result = await resumed(h, changingScript("", rest, "return 1;"));
    expect(result).toMatchObject({
      status: "error",
      error_kind: "diverged",
      call_trace: [{ tool: "work", status: "ok" }],
    });
    expect(h.did).toEqual(["a"]);
  });

  it.each(["denied", "expired"])("gets the same refusal for an %s request, and asks no person again", async (how) => {
    await using h = await open();
    const code = `const told = [];
      for (const to of ["1", "2"]) try { await call("mail", { to }); told.push(to); } catch (error) { told.push(error.code); }
      return told.join();`;
    const first = await h.runtime.runChain({ code }, asker);
    if (how === "denied") await h.runtime.approvals.decide(first.approvalId ?? "", no);
    await h.clock.advance(3_700_000);
    expect(await resumed(h, code)).toMatchObject({ status: "ok", output_text: `approval_${how},2` });
    expect(h.ran).toEqual([{ to: "2" }]);
    expect(await h.runtime.approvals.list()).toHaveLength(2);
  });

  it("does not repeat a call that failed first and was then made again", async () => {
    await using h = await open();
    const code = `let codes = "";
      try { await call("shaky", { to: "a" }); } catch (error) { codes += error.code; await call("shaky", { to: "a" }); }
      await call("mail", { to: "m" }); return codes;`;
    expect(await resumed(h, code)).toMatchObject({ status: "ok", output_text: "tool_failed", tool_calls: 3 });
    expect(h.did).toEqual(["a"]);
  });
});

describe.each(durabilities)("a script keeps over a wait (%s)", (durability) => {
  it("its count of calls and host requests", async () => {
    await using h = await open(durability);
    const flood = 'try { for (;;) { await host("progress", { text: "x" }); n++; } } catch { told.push(n); }';
    const code = `const told = []; let n = 0; ${flood} await call("mail", { to: "m" }); ${flood} return told.join();`;
    expect(await resumed(h, code)).toMatchObject({ status: "ok", output_text: "1000,1000" });
  });

  it("the limit of a narrower session, whichever caller resumes it", async () => {
    await using h = await open(durability);
    await using session = h.runtime.openSession({ maxToolCalls: 3 }, asker);
    const code = `await call("mail", { to: "m" });
      try { for (let n = 0; ; n++) await call("work", { to: String(n) }); } catch (error) { return error.code; }`;
    const pending = await session.invoke({ tool: "tool_chain", arguments: { code, language: "javascript" } });
    await h.runtime.approvals.decide(pending.approvalId ?? "", yes);
    const done = resultOf(await h.runtime.resume(pending.approvalId ?? ""));
    expect(done).toMatchObject({ status: "ok", output_text: "budget_exhausted" });
    expect(h.did).toEqual(["0", "1"]);
  });

  it("its used time, without the waiting time", async () => {
    await using h = await open(durability);
    const code = `for (const to of ["1", "2"]) { await call("mail", { to }); await call("slow", {}); } return "sent";`;
    const script = { code, timeout: 10 };
    for (let turn = 0; turn < 2; turn += 1) {
      const pending = await h.runtime.runChain(script, asker);
      await h.clock.advance(60_000);
      await h.runtime.approvals.decide(pending.approvalId ?? "", yes);
    }
    const done = resultOf(await h.runtime.runChain(script, asker));
    expect(done).toMatchObject({ status: "timeout", duration_ms: 10_000 });
  });

  it("a grant for its session, in its later turns", async () => {
    await using h = await open(durability);
    const code = 'for (const to of ["1", "2", "3"]) await call("mail", { to }); return "sent";';
    const pending = await h.runtime.runChain({ code }, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", {
      ...yes,
      remember: { for: "session", reason: "all of them" },
    });
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ status: "ok", tool_calls: 3 });
    expect(h.ran).toHaveLength(3);
  });
});

it.each(durabilities)(
  "a script's calls are found by one store read, however many it may make (%s)",
  async (durability) => {
    const clock = new FakeClock();
    const store = new MemoryStore({ clock, serialize: serializeWith((text) => text) });
    const call = store.call.bind(store);
    let looks = 0;
    Object.assign(store, {
      call: (by: Parameters<typeof call>[0]) => {
        looks += 1;
        return call(by);
      },
    });
    await using h = await open(durability, { store, clock, chains: { limits: { maxToolCalls: 1_000 } } });
    const pending = await h.runtime.runChain({ code: rest }, asker);
    await h.runtime.approvals.decide(pending.approvalId ?? "", yes);
    looks = 0;
    expect(resultOf(await h.runtime.runChain({ code: rest }, asker))).toMatchObject({ output_text: "sent" });
    expect(looks).toBeLessThan(50);
    expect(h.did).toEqual(["a"]);
  },
);

describe("the record of a script", () => {
  it("keeps the guessed language: no other language is tried", async () => {
    const names = ["python", "javascript"] as const;
    const drivers = names.map((language) => fakeDriver({ name: language, language }));
    const source =
      "/*\ndef f(a):\nimport os\n*/ const None = 1; print('True'); await call('mail', { to: 'm' }); return 'sent';";
    const store = `sqlite:${join(ownFolder(), "postern.db")}`;
    const at = (engines: readonly string[]): Promise<RuntimeFixture> =>
      runtimeFixture({ store, chains: { drivers, engines } });
    let id = "";
    {
      await using h = await at(names);
      const pending = await h.runtime.runChain({ code: source }, asker);
      id = pending.callId;
      expect(await h.runtime.chains?.list()).toMatchObject([{ language: "python" }]);
      await h.runtime.approvals.decide(pending.approvalId ?? "", yes);
    }
    {
      await using h = await at(["javascript"]);
      expect(await h.runtime.chains?.resume(id)).toMatchObject({ status: "error" });
      expect(h.ran).toEqual([]);
    }
    await using h = await at(names);
    expect(resultOf(await h.runtime.runChain({ code: source }, asker))).toMatchObject({
      status: "ok",
      output_text: "sent",
    });
  });

  it("says why its engine could not freeze it", async () => {
    const messages: string[] = [];
    const driver = fakeDriver();
    const stiff: typeof driver = {
      ...driver,
      start: async (...given) =>
        Object.assign(await driver.start(...given), { freeze: () => Promise.reject(new Error("too stiff")) }),
    };
    const log = (problem: string): void => void messages.push(problem);
    await using h = await runtimeFixture({ chains: { drivers: [stiff], engines: ["fake"] }, log });
    expect(await resumed(h, rest.replace("work", "echo"))).toMatchObject({ status: "ok", output_text: "sent" });
    expect(messages.join()).toContain("too stiff");
  });
});
