import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { FakeClock, settled } from "../../packages/core/src/testing/clock.ts";
import { serializeWith } from "../../packages/postern/src/audit/entry.ts";
import { RuntimeFault, suspend, type ToolOutcome } from "../../packages/postern/src/index.ts";
import { MemoryStore } from "../../packages/postern/src/store/memory-store.ts";
import type { Store } from "../../packages/postern/src/store/store.ts";
import { PointStore } from "../crash/points.ts";
import { actor } from "../fakes/actors.ts";
import { type Failing, FaultyStore } from "../fakes/faulty-store.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { type ProbeTool, probe } from "../fakes/probe.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { decision, policy } from "./completeness/fault.ts";

const mail = { tool: "mail", arguments: { to: "x" } } as const;
const folder = ownFolder();
const call = { tool: "probe" } as const;
const keyed = { ...asker, idempotencyKey: "k1" } as const;

/** A probe that asks a person and counts its executions. */
function risky(ran: unknown[], more: Partial<ProbeTool> = {}): readonly [ProbeTool] {
  const execute = (): string => {
    ran.push("ran");
    return "done";
  };
  return probe({ risk: "high", effects: "write", idempotent: false, execute, ...more });
}

async function decide(
  h: RuntimeFixture,
  { approvalId = "" }: ToolOutcome,
  decision: "approved" | "denied",
): Promise<string> {
  await h.runtime.approvals.decide(approvalId, { decision, by: boss });
  return approvalId;
}

/** Returns the store with some functions replaced. */
function storeThat(clock: FakeClock, bend: (store: Store) => Partial<Store>): Store {
  const store = new MemoryStore({ clock, serialize: serializeWith((text) => text) });
  return Object.assign(new PointStore(store, () => {}), bend(store));
}

describe("arguments", () => {
  const later = (validate: (value: unknown) => unknown): Partial<ProbeTool> => ({
    input: {
      "~standard": { version: 1, vendor: "test", validate: async (value: unknown) => validate(value) },
    } as never,
    inputSchema: { type: "object" },
  });

  it("with a reference are checked by an asynchronous schema as well", async () => {
    await using h = await runtimeFixture({}, probe(later((value) => ({ value }))));
    const { digest } = await h.runtime.artifacts.put(Buffer.from("x"), "text/plain", asker.principal);
    const outcome = await h.runtime.invoke({ ...call, arguments: { file: { $artifact: digest } } }, asker);
    expect(outcome).toMatchObject({ status: "ok", text: "done" });
  });

  it("are refused if the schema answers nothing, at once or later", async () => {
    await using h = await runtimeFixture({}, probe(later(() => undefined)));
    const outcome = await h.runtime.invoke({ ...call, arguments: {} }, asker);
    expect(outcome.refusal).toMatchObject({
      code: "arguments_invalid",
      message: expect.stringContaining("cannot be checked"),
    });
  });
});

describe("a verdict", () => {
  it("names the rule that refused, and its place in the policy", async () => {
    const rules = [{ effect: "deny", tool: "probe", id: "no probes", where: "postern.yaml:7" }] as const;
    await using h = await runtimeFixture({ policy: { rules } }, probe());
    expect((await h.runtime.invoke(call, asker)).refusal?.message).toContain("postern.yaml:7");
  });

  it("that an adjuster blocks for a time is named so, and no approval lifts it", async () => {
    const reasons = [{ rule: "storm", effect: "BLOCK", where: "postern.yaml:9" }];
    const blocked = decision({ verdict: "BLOCK", blockedBy: "storm", reasons });
    await using h = await runtimeFixture({ policy: policy(() => blocked) }, probe());
    expect((await h.runtime.invoke(call, asker)).refusal).toMatchObject({
      code: "storm_blocked",
      message: expect.stringContaining("storm (postern.yaml:9)"),
    });
  });

  it("uses the declared risk if the tool's own check returns nothing", async () => {
    await using h = await runtimeFixture({}, probe({ classifyRisk: (() => undefined) as never }));
    expect((await h.runtime.invoke(call, asker)).status).toBe("ok");
  });
});

describe("the once gate", () => {
  it("works with a store that answers later as with one that answers at once", async () => {
    const clock = new FakeClock();
    const store = storeThat(clock, (own) => ({ call: async (by) => own.call(by) }));
    await using h = await runtimeFixture({ clock, store, autonomy: "A4" });
    expect(await h.runtime.invoke(mail, keyed)).toMatchObject({ status: "ok", text: "to x" });
    expect(await h.runtime.invoke(mail, keyed)).toMatchObject({ text: "to x", replayed: true });
    expect(h.ran).toHaveLength(1);
  });

  it("returns `result_unavailable` for a finished call whose outcome was removed from the file", async () => {
    const file = `${folder}/emptied.db`;
    const options = { store: `sqlite:${file}`, autonomy: "A4" } as const;
    {
      await using before = await runtimeFixture(options);
      await before.runtime.invoke(mail, keyed);
    }
    const database = new DatabaseSync(file);
    database.exec("update call set outcome = null");
    database.close();
    await using h = await runtimeFixture(options);
    expect((await h.runtime.invoke(mail, keyed)).refusal?.code).toBe("result_unavailable");
    expect(h.ran).toEqual([]);
  });
});

describe("an approval request", () => {
  it("is refused if it cannot be stored: no person is asked, and the next attempt works", async () => {
    const clock = new FakeClock();
    const failing: Failing = new Map([["hold", 1]]);
    await using h = await runtimeFixture({ clock, store: new FaultyStore(clock, failing) });
    expect((await h.runtime.invoke(mail, asker)).refusal?.code).toBe("audit_unavailable");
    expect(await h.runtime.approvals.list()).toEqual([]);
    expect((await h.runtime.invoke(mail, asker)).status).toBe("pending");
  });

  it("is made once if two callers send the same call at the same time", async () => {
    const gate = Promise.withResolvers<void>();
    await using h = await runtimeFixture({}, risky([], { preview: () => gate.promise.then(() => "shown") }));
    const both = Promise.all([h.runtime.invoke(call, asker), h.runtime.invoke(call, asker)]);
    await settled();
    gate.resolve();
    const [one, other] = await both;
    expect(one.status).toBe("pending");
    expect(other.approvalId).toBe(one.approvalId);
    expect(await h.runtime.approvals.list()).toHaveLength(1);
  });

  it.each([
    ["has run meanwhile its outcome", true, { status: "ok", text: "done", replayed: true }],
    ["may run and has not that it is in progress", false, { status: "error", refusal: { code: "in_progress" } }],
  ])("gives the later caller of a call that %s", async (_, resumes, told) => {
    const gates = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    let previews = 0;
    const ran: unknown[] = [];
    await using h = await runtimeFixture({}, risky(ran, { preview: () => gates[previews++]?.promise ?? "shown" }));
    const both = [h.runtime.invoke(call, asker), h.runtime.invoke(call, asker)] as const;
    await settled();
    gates[0]?.resolve("shown");
    const first = await Promise.race(both);
    const id = await decide(h, first, "approved");
    if (resumes) await h.runtime.resume(id);
    gates[1]?.resolve("shown");
    const late = (await Promise.all(both)).find((outcome) => outcome !== first);
    expect(late).toMatchObject(told);
    expect(ran).toHaveLength(resumes ? 1 : 0);
  });

  it("is made again for a keyed call when its denied or expired request is over", async () => {
    await using h = await runtimeFixture();
    const first = await h.runtime.invoke(mail, keyed);
    await decide(h, first, "denied");
    expect((await h.runtime.invoke(mail, keyed)).refusal?.code).toBe("approval_denied");
    await h.clock.advance(3_600_000);
    const second = await h.runtime.invoke(mail, keyed);
    expect(second.status).toBe("pending");
    expect(second.approvalId).not.toBe(first.approvalId);
    await h.clock.advance(3_600_000);
    expect((await h.runtime.invoke(mail, keyed)).approvalId).not.toBe(second.approvalId);
  });

  it("is not made for a retry that the policy allows now", async () => {
    const answers = [{ content: [], text: "later", isError: true, retryable: true }, "done"];
    await using h = await runtimeFixture({ autonomy: "A2" }, risky([], { execute: () => answers.shift() as never }));
    const id = await decide(h, await h.runtime.invoke(call, keyed), "approved");
    expect((await h.runtime.resume(id))?.refusal?.retry).toBe("later");
    await h.runtime.controls.setAutonomy("A4", actor("boss"));
    expect(await h.runtime.invoke(call, keyed)).toMatchObject({ status: "ok", text: "done" });
    expect(await h.runtime.approvals.list()).toHaveLength(1);
  });

  it("is not lifted by a level that was set later, with or without a level before", async () => {
    for (const first of [undefined, "A2"] as const) {
      await using h = await runtimeFixture(first === undefined ? {} : { autonomy: first });
      const { approvalId = "" } = await h.runtime.invoke(mail, asker);
      await h.runtime.controls.setAutonomy("A4", actor("operator"));
      expect((await h.runtime.resume(approvalId))?.status, first).toBe("pending");
      expect(h.ran).toEqual([]);
      await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
      expect((await h.runtime.resume(approvalId))?.status).toBe("ok");
    }
  });

  it("falls with a level that was set later, also if there was none", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke(mail, asker);
    await h.runtime.controls.setAutonomy("A0", actor("operator"));
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.runtime.resume(approvalId);
    expect(h.ran).toEqual([]);
  });

  it("runs nothing if it cannot be found again while a caller waits for it", async () => {
    const clock = new FakeClock();
    const store = storeThat(clock, () => ({ approval: async () => undefined }));
    await using h = await runtimeFixture({ clock, store, approvals: { patience: "wait" } });
    expect((await h.runtime.invoke(mail, asker)).refusal?.code).toBe("in_progress");
    expect(h.ran).toEqual([]);
  });
});

describe("a run", () => {
  it("whose owner cannot be recorded takes no call; the next attempt works", async () => {
    const clock = new FakeClock();
    const failing: Failing = new Map();
    await using h = await runtimeFixture({ clock, store: new FaultyStore(clock, failing), autonomy: "A4" });
    failing.set("document", 1);
    const nightly = { ...asker, runId: "nightly" };
    expect((await h.runtime.invoke(mail, nightly)).refusal?.code).toBe("audit_unavailable");
    expect(h.ran).toEqual([]);
    expect((await h.runtime.invoke(mail, nightly)).status).toBe("ok");
  });
});

describe("a tool that suspended", () => {
  it("continues from its image when the call is sent again, and no person is asked for that", async () => {
    const seen: unknown[] = [];
    await using h = await runtimeFixture(
      { autonomy: "A4" },
      risky([], {
        suspends: true,
        execute: (_, context) => {
          seen.push(context.frozen);
          return context.frozen === undefined ? suspend("frozen", "apr_of_a_child") : "thawed";
        },
      }),
    );
    expect(await h.runtime.invoke(call, asker)).toMatchObject({ status: "pending", approvalId: "apr_of_a_child" });
    await h.runtime.controls.setAutonomy("A2", actor("boss"));
    expect(await h.runtime.invoke(call, asker)).toMatchObject({ status: "ok", text: "thawed" });
    expect(seen).toEqual([undefined, "frozen"]);
    expect(await h.runtime.approvals.list()).toEqual([]);
  });
});

describe("the claim", () => {
  it("is refused as overloaded when the store takes no more writes", async () => {
    const clock = new FakeClock();
    const store = storeThat(clock, (own) => ({
      commit: (write, durability) =>
        write.write === "claim"
          ? Promise.reject(new RuntimeFault("overloaded", "too many"))
          : own.commit(write, durability),
    }));
    await using h = await runtimeFixture({ clock, store, autonomy: "A4" });
    expect((await h.runtime.invoke(mail, asker)).refusal?.code).toBe("overloaded");
    expect(h.ran).toEqual([]);
  });

  it("does not use an approval that another caller used for a failed try", async () => {
    const ran: unknown[] = [];
    const slow = Promise.withResolvers<string>();
    let previews = 0;
    const preview = (): string | Promise<string> => {
      previews += 1;
      return previews === 2 ? slow.promise : "shown"; // the first shows it, the second is the racer's second look
    };
    const execute = () => {
      ran.push("ran");
      return { content: [], text: "later", isError: true, retryable: true } as never;
    };
    await using h = await runtimeFixture({}, risky(ran, { preview, execute }));
    const id = await decide(h, await h.runtime.invoke(call, asker), "approved");
    const late = h.runtime.resume(id);
    await settled();
    expect((await h.runtime.resume(id))?.refusal?.code).toBe("tool_failed");
    slow.resolve("shown");
    expect((await late)?.refusal?.code).toBe("in_progress");
    expect(ran).toHaveLength(1);
  });
});
