/** A tool that provably did not run says `notExecuted: true`: nobody is asked again, and nothing runs twice. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../packages/core/src/testing/clock.ts";
import { createRuntime, type Runtime } from "../../packages/postern/src/index.ts";
import { type Failing, FaultyStore } from "../fakes/faulty-store.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { posting } from "../fakes/probe.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { newStore, storeKinds } from "../fakes/story-store.ts";

const post = { tool: "post", arguments: { body: "hello" } };
const keyed = { ...asker, idempotencyKey: "k" };
const folder = ownFolder();

/** `post` does not run the first `times` it is tried. */
function reluctant(times: number, more: object = {}) {
  const ran: unknown[] = [];
  let tries = 0;
  const execute = async (given: unknown): Promise<string> => {
    tries += 1;
    if (tries <= times) throw Object.assign(new Error("the session is over"), { notExecuted: true, ...more });
    ran.push(given);
    return "posted";
  };
  return { ran, tools: posting([], { execute }) };
}

async function approved(runtime: Runtime, context: object = asker): Promise<string> {
  const { approvalId = "" } = await runtime.invoke(post, context);
  await runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  return approvalId;
}

const state = async ({ runtime }: Pick<RuntimeFixture, "runtime">, id: string) =>
  (await runtime.approvals.get(id))?.state;

describe.each(storeKinds)("a call whose tool did not run, in %s", (kind) => {
  it.each([["a key", keyed] as const, ["no key", asker] as const])(
    "with %s uses its approval next time",
    async (_, who) => {
      const { ran, tools } = reluctant(2);
      await using h = await runtimeFixture({ store: newStore(kind) }, tools);
      const id = await approved(h.runtime, who);
      for (let n = 0; n < 2; n += 1) {
        const failed = await h.runtime.invoke(post, who);
        expect(failed).toMatchObject({ status: "error", refusal: { code: "tool_failed", retry: "later" } });
        expect(failed.text).toContain(`was not run: Error: the session is over. Its approval \`${id}\` is not used up`);
        expect(await state(h, id)).toBe("approved");
      }
      expect(await h.runtime.invoke(post, who)).toMatchObject({ status: "ok", text: "posted" });
      expect(await state(h, id)).toBe("used");
      expect(await h.runtime.invoke(post, who)).toMatchObject({ status: "ok", replayed: true });
      expect(ran).toHaveLength(1);
      expect(await h.runtime.approvals.list({})).toHaveLength(1); // nobody was asked again
    },
  );

  it("runs once, however many resume it at once", async () => {
    const { ran, tools } = reluctant(1);
    await using h = await runtimeFixture({ store: newStore(kind) }, tools);
    const id = await approved(h.runtime);
    expect((await h.runtime.resume(id))?.refusal?.retry).toBe("later");
    await Promise.all(Array.from({ length: 20 }, () => h.runtime.resume(id)));
    expect(ran).toHaveLength(1);
    expect(await h.runtime.resume(id)).toMatchObject({ status: "ok", replayed: true });
  });

  it("has an approval that can be revoked, and that ends in time", async () => {
    const { ran, tools } = reluctant(9);
    await using h = await runtimeFixture({ store: newStore(kind) }, tools);
    const first = await approved(h.runtime);
    await h.runtime.resume(first);
    expect(await h.runtime.approvals.revoke(first, boss)).toMatchObject({ decided: true });
    const second = await approved(h.runtime);
    await h.runtime.resume(second);
    await h.clock.advance(3_600_001);
    expect(await state(h, second)).toBe("expired");
    const third = await h.runtime.invoke(post, asker);
    expect(third).toMatchObject({ status: "pending" });
    expect([first, second]).not.toContain(third.approvalId);
    expect(ran).toHaveLength(0);
  });

  it("stands in the log as a failure that ran nothing", async () => {
    const { tools } = reluctant(1);
    await using h = await runtimeFixture({ store: newStore(kind) }, tools);
    const id = await approved(h.runtime);
    await h.runtime.resume(id);
    const events = await h.runtime.audit.query({ type: "tool_call.failed" });
    expect(events).toMatchObject([
      { reason: "the tool did not run; its approval can be used again", refs: { approval: id } },
    ]);
    expect(await h.runtime.audit.verify()).toMatchObject({ intact: true });
  });

  it("is not unknown, even if the tool says that as well, and runs again without an approval", async () => {
    const { ran, tools } = reluctant(1, { unknown: true });
    await using h = await runtimeFixture({ store: newStore(kind), autonomy: "A4" }, tools);
    expect((await h.runtime.invoke(post, keyed)).refusal).toMatchObject({ code: "tool_failed", retry: "later" });
    expect((await h.runtime.invoke(post, keyed)).status).toBe("ok");
    expect(ran).toHaveLength(1);
  });
});

it("a call whose tool did not run is approved still after a restart", async () => {
  const { ran, tools } = reluctant(1);
  const options = { tools, store: `sqlite:${join(folder, "restart.db")}`, approvals: { patience: "suspend" } } as const;
  let id = "";
  {
    await using runtime = await createRuntime(options);
    id = await approved(runtime);
    expect((await runtime.resume(id))?.refusal?.retry).toBe("later");
  }
  await using runtime = await createRuntime(options);
  expect((await runtime.approvals.get(id))?.state).toBe("approved");
  expect((await runtime.resume(id))?.status).toBe("ok");
  expect((await runtime.resume(id))?.replayed).toBe(true);
  expect(ran).toHaveLength(1);
});

it("a call whose tool did not run keeps a used approval when that cannot be written", async () => {
  const { ran, tools } = reluctant(1);
  const failing: Failing = new Map();
  const clock = new FakeClock();
  await using runtime = await createRuntime({
    ...{ tools, clock, store: new FaultyStore(clock, failing) },
    approvals: { patience: "suspend" },
  });
  const id = await approved(runtime);
  failing.set("settle", 99);
  const resumed = runtime.resume(id);
  await clock.advance(1000);
  expect((await resumed)?.refusal?.code).toBe("outcome_unknown");
  expect((await runtime.approvals.get(id))?.state).toBe("used");
  expect((await runtime.resume(id))?.refusal?.code).toBe("in_progress");
  expect(ran).toHaveLength(0);
});
