/** A script gets its earlier results again, because its later effects depend on them. */
import { describe, expect, it } from "vitest";
import type { SandboxDriver, ScriptStep } from "../../packages/core/src/sandbox/sandbox.ts";
import { FakeClock, settled } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import type { RuntimeOptions } from "../../packages/postern/src/index.ts";
import { openSqliteStore } from "../../packages/postern/src/store/sqlite/sqlite-store.ts";
import { approval, EffectTools, runAndLeave } from "../fakes/effect-tools.ts";
import { fakeDriver } from "../fakes/fake-sandbox.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { resultOf } from "../fakes/script-fixture.ts";
import { sqliteFiles } from "../fakes/sqlite-files.ts";

const files = sqliteFiles();
const denied: RuntimeOptions = { policy: { rules: [{ effect: "deny", tool: "set" }] } };

/** Tools with a `set` that has an effect and fails as often as the test says. */
class Room {
  readonly effects = new EffectTools();
  readonly set: string[] = [];
  failures = 0;

  open(
    options: RuntimeOptions = {},
    driver: SandboxDriver = fakeDriver({ durability: "replay" }),
  ): Promise<RuntimeFixture> {
    const tool: Parameters<typeof runtimeFixture>[1] = [
      {
        ...{ name: "set", description: "Has an effect.", risk: "safe", effects: "write", idempotent: true },
        input: { type: "object", properties: { to: { type: "string" } } },
        execute: (given) => {
          if (this.failures-- > 0) throw Object.assign(new Error("not now"), { retryable: true });
          this.set.push((given as { readonly to: string }).to); // the schema says so
        },
      },
    ];
    const chains = { drivers: [driver], engines: [driver.name] };
    return runtimeFixture({ chains, ...options }, [...this.effects.tools, ...tool]);
  }
}

/** Returns a script that reports how the first call ended, after it made another call instead. */
function fallbackScript(first: string, then: string): string {
  return `let told = "done"; try { ${first} } catch (error) { told = error.code; }
    await call("work", { to: "instead" }); ${then} return told;`;
}

describe("a script that is run again", () => {
  const script = { code: fallbackScript('await call("set", { to: "a" });', 'await call("mail", { to: "m" });') };
  const held = { code: fallbackScript('await call("set", { to: "a" });', 'await call("hold", {});') };

  it("gets the refusal it got before the wait, even if the policy now allows the call", async () => {
    const fixture = new Room();
    const store = `sqlite:${files.at("loosened.db")}`;
    {
      await using h = await fixture.open({ ...denied, store });
      const { approvalId = "" } = await h.runtime.runChain(script, asker);
      await h.runtime.approvals.decide(approvalId, approval);
    }
    await using h = await fixture.open({ store });
    const done = resultOf(await h.runtime.runChain(script, asker));
    expect(done).toMatchObject({ status: "ok", output_text: "permission_denied" });
    expect([fixture.set, fixture.effects.did, h.ran]).toEqual([[], ["instead"], [{ to: "m" }]]);
  });

  it("does not run a call that left nothing in the ledger, once a later call is done", async () => {
    const fixture = new Room();
    const store = `sqlite:${files.at("nothing.db")}`;
    {
      await using h = await fixture.open({ ...denied, store });
      await runAndLeave(h, fixture.effects, held);
    }
    fixture.effects.isHeld = false;
    await using h = await fixture.open({ store });
    const done = resultOf(await h.runtime.runChain(held, asker));
    expect(done).toMatchObject({ status: "ok", output_text: "cancelled" });
    expect([fixture.set, fixture.effects.did]).toEqual([[], ["instead"]]);
  });

  it("does not retry a failed call, once a later call is done", async () => {
    const fixture = new Room();
    fixture.failures = 1;
    await using h = await fixture.open();
    await runAndLeave(h, fixture.effects, held);
    fixture.effects.isHeld = false;
    const done = resultOf(await h.runtime.runChain(held, asker));
    expect(done).toMatchObject({ status: "ok", output_text: "tool_failed" });
    expect([fixture.set, fixture.effects.did]).toEqual([[], ["instead"]]);
  });

  it("does not repeat an unknown call, idempotent or not, once a later call is done", async () => {
    const fixture = new Room();
    const clock = new FakeClock();
    const location = files.at("unknown.db");
    const open = () => openSqliteStore({ location, clock, serialize: serializeWith((text) => text) });
    {
      const store = open();
      const commit = store.commit.bind(store);
      let isFull = true;
      let refused = 0;
      Object.assign(store, {
        commit: (...[write, durability]: Parameters<typeof commit>) =>
          isFull && write.write === "settle" && fixture.set.length === 1 && fixture.effects.did.length === 0
            ? Promise.reject(new Error(`no room on the disk, for the ${++refused}. time`))
            : commit(write, durability),
      });
      await using h = await fixture.open({ store, clock });
      const leaving = runAndLeave(h, fixture.effects, held);
      // The write is retried for a while. Only that needs fake time; the other writes take real time.
      for (let seen = 0, steps = 0; fixture.effects.did.length === 0; steps -= 1) {
        await settled(20);
        if (refused > seen) steps = 20;
        seen = refused;
        if (steps > 0) await clock.advance(600);
      }
      await leaving;
      isFull = false;
    }
    fixture.effects.isHeld = false;
    await using h = await fixture.open({ store: open(), clock });
    const done = resultOf(await h.runtime.runChain(held, asker));
    expect(done).toMatchObject({ status: "ok", output_text: "outcome_unknown" });
    expect([fixture.set, fixture.effects.did]).toEqual([["a"], ["instead"]]);
  });

  it("does not use a late approval of a request that it continued without", async () => {
    const fixture = new Room();
    await using h = await fixture.open({ approvals: { patience: "wait" } });
    const code = fallbackScript('await call("mail", { to: "m" });', 'await call("hold", {});');
    const leaving = runAndLeave(h, fixture.effects, { code });
    await settled(100);
    await h.clock.advance(56_000);
    await leaving;
    const [asked] = await h.runtime.approvals.list();
    await h.runtime.approvals.decide(asked?.id ?? "", approval);
    fixture.effects.isHeld = false;
    const done = resultOf(await h.runtime.runChain({ code }, asker));
    expect(done).toMatchObject({ status: "ok", output_text: "approval_timed_out" });
    expect([h.ran, fixture.effects.did]).toEqual([[], ["instead"]]);
    expect(await h.runtime.approvals.list()).toMatchObject([{ state: "withdrawn" }]);
  });

  it("ends before any of it runs if it calls another action of the tool", async () => {
    const fixture = new Room();
    let action = "send";
    const step = (yielded: ScriptStep): ScriptStep =>
      yielded.step === "calls"
        ? { ...yielded, calls: yielded.calls.map((asked) => (asked.tool === "nope" ? { ...asked, action } : asked)) }
        : yielded;
    await using h = await fixture.open({}, fakeDriver({ durability: "replay", step }));
    const code = 'try { await call("nope", { to: "x" }); } catch {} await call("mail", { to: "m" }); return "sent";';
    const { approvalId = "" } = await h.runtime.runChain({ code }, asker);
    await h.runtime.approvals.decide(approvalId, approval);
    action = "remove";
    expect(resultOf(await h.runtime.runChain({ code }, asker))).toMatchObject({ error_kind: "diverged" });
    expect(h.ran).toEqual([]);
  });
});
