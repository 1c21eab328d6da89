import { afterEach, describe, expect, it } from "vitest";
import { posting } from "../../../../../test/fakes/probe.ts";
import { asker, type RuntimeFixture, runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import { scriptFixture } from "../../../../../test/fakes/script-fixture.ts";
import { newStore, storeKinds } from "../../../../../test/fakes/story-store.ts";
import { settled } from "../../../../core/src/testing/clock.ts";
import type { RuntimeOptions } from "../../index.ts";

const ann = { by: "ann", via: "session:ann" };
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** `post` needs no person, and is cut off. */
async function cutOff(
  store: NonNullable<RuntimeOptions["store"]> = "memory",
): Promise<RuntimeFixture & { readonly post: (n: number, runId?: string) => Promise<string> }> {
  const execute = () => Promise.reject(Object.assign(new Error("cut off"), { unknown: true }));
  const h = await runtimeFixture({ store, autonomy: "A4" }, posting([], { execute, risk: "medium" }));
  cleanups.push(() => h.runtime.close());
  const post = async (n: number, runId = "r1"): Promise<string> => {
    const { callId, refusal } = await h.runtime.invoke(
      { tool: "post", arguments: { body: String(n) } },
      { ...asker, runId, autonomy: "A4" },
    );
    expect(refusal?.code).toBe("outcome_unknown");
    await settled(20);
    return callId;
  };
  return { ...h, post };
}

const alarms = ({ runtime }: RuntimeFixture) =>
  runtime.alarms.list().map(({ kind, state, count, data }) => [kind, state, count, data["run"]]);

describe.each(storeKinds)("calls of unknown outcome, in %s", (kind) => {
  it("share an alarm of their tool and run, until each is settled", async () => {
    const h = await cutOff(newStore(kind));
    const ids = [await h.post(1), await h.post(2)];
    const other = await h.post(3, "r2");
    expect(alarms(h)).toEqual(
      expect.arrayContaining([
        ["outcome_unknown", "open", 2, "r1"],
        ["outcome_unknown", "open", 1, "r2"],
      ]),
    );
    expect(h.runtime.alarms.list().find(({ data }) => data["run"] === "r1")?.data).toEqual({
      ...{ tool: "post", run: "r1", agent: "a", call: ids[0] },
    });
    const settle = async (id: string | undefined, as: "succeeded" | "retry") => {
      expect(await h.runtime.ledger.settle(id ?? "", as, "seen", ann)).toMatchObject({ settled: true });
      await settled(20);
      return alarms(h).filter(([, state]) => state === "open");
    };
    expect(await settle(ids[0], "succeeded")).toHaveLength(2);
    expect(await settle(ids[1], "retry")).toEqual([["outcome_unknown", "open", 1, "r2"]]);
    expect(await settle(other, "succeeded")).toEqual([]);
    await h.post(4);
    expect(alarms(h)[0]).toEqual(["outcome_unknown", "open", 1, "r1"]);
  });
});

it("a script that is cut off is raised too, until it ran to its end", async () => {
  const h = await scriptFixture();
  cleanups.push(() => h.runtime.close());
  const leaving = new AbortController();
  const code = `return (await call("echo", { to: "x", slow: true })).text;`;
  const left = h.runtime.runChain({ code }, { ...asker, signal: leaving.signal });
  await expect.poll(() => h.runtime.calls.list({ tool: "echo", state: "attempted" })).toHaveLength(1);
  leaving.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  await expect.poll(() => alarms(h)).toMatchObject([["outcome_unknown", "open", 1, expect.any(String)]]);
  expect(await h.runtime.runChain({ code: `return "other";` }, asker)).toMatchObject({ status: "ok" });
  await h.clock.advance(1_000);
  expect(alarms(h)).toMatchObject([["outcome_unknown", "open", 1, expect.any(String)]]);
  const again = h.runtime.runChain({ code }, asker);
  await expect.poll(() => h.runtime.calls.list({ tool: "echo", state: "attempted" })).toHaveLength(1);
  await h.clock.advance(60_000); // the call times out, and the script ends
  await again;
  await h.clock.advance(1_000);
  await expect.poll(() => alarms(h)).toMatchObject([["outcome_unknown", "resolved", 1, expect.any(String)]]);
});

describe("calls of unknown outcome, after a restart", () => {
  it("are raised if they were not, stay raised, and stay over if a person said so", async () => {
    const store = newStore("sqlite");
    const first = await cutOff(store);
    const id = await first.post(1);
    await first.post(2, "r2");
    const byRun = (h: RuntimeFixture, run: string) => h.runtime.alarms.list().find(({ data }) => data["run"] === run);
    await first.runtime.alarms.resolve(byRun(first, "r2")?.id ?? "", ann);
    await first.runtime.close();

    const second = await cutOff(store);
    await settled(20);
    expect([byRun(second, "r1"), byRun(second, "r2")]).toMatchObject([
      { state: "open", count: 1 },
      { state: "resolved" },
    ]);
    await second.runtime.ledger.settle(id, "failed", "seen", ann);
    await settled(20);
    expect(byRun(second, "r1")).toMatchObject({ state: "resolved", resolved: { reason: expect.any(String) } });
  });
});
