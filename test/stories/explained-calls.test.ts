import { describe, expect, it } from "vitest";
import { canonical } from "../../packages/core/src/json.ts";
import { sha256 } from "../../packages/core/src/system/digest.ts";
import type { AnyTool, RuntimeOptions } from "../../packages/postern/src/index.ts";
import { ann, approve, ask, mail, operatorToken, shownDigestOf } from "../fakes/deciders.ts";
import { bodyOf, httpFixture } from "../fakes/http-fixture.ts";
import { asker, runtimeFixture } from "../fakes/runtime-fixture.ts";

const suspended: RuntimeOptions = { approvals: { patience: "suspend" } };
/** A tool whose risk grows with the amount. */
const pay = {
  ...{ name: "pay", description: "Pays.", risk: "high", effects: "write", idempotent: false },
  input: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  classifyRisk: ({ n }: { readonly n: number }) => ({ risk: n > 1000 ? "critical" : "high" }),
  execute: async () => "paid",
} as unknown as AnyTool;
const forSession = { remember: { for: "session", reason: "all to the team" } };

describe("the explanation of a recorded call", () => {
  it("names the session grant that answered instead of a person, today and when it ran", async () => {
    await using h = await runtimeFixture(suspended);
    await using session = h.runtime.openSession({}, asker);
    const first = await session.invoke(mail("a"));
    const decided = await approve(h, first.approvalId ?? "", ann, forSession);
    const grant = decided.decided ? decided.grant?.id : undefined;
    const ran = await session.invoke(mail("b"));
    expect(ran.status).toBe("ok");
    const rule = expect.stringContaining(`grant ${grant} of ann`);
    const reasons = expect.arrayContaining([{ rule, effect: "ALLOW" }]);
    expect(await h.runtime.policy.explainCall(ran.callId)).toMatchObject({
      decision: { verdict: "CONFIRM", grant, reasons },
      recorded: { weighed: { verdict: "CONFIRM", risk: "high", at: h.clock.now(), grant, reasons } },
    });
    expect(await h.runtime.policy.explainCall(first.callId)).toHaveProperty("decision.grant", grant); // made for it
    const [attempted] = await h.runtime.audit.query({ type: "tool_call.attempted", callId: ran.callId });
    expect(attempted).toMatchObject({ refs: { grant, tool_call: ran.callId } });

    await h.runtime.approvals.grants.revoke(grant ?? "", ann);
    const later = await h.runtime.policy.explainCall(ran.callId);
    expect(later).toMatchObject({ recorded: { weighed: { grant } } });
    expect(later).not.toHaveProperty("decision.grant");
  });

  it("names session grants outside a session, and does not count them", async () => {
    await using h = await runtimeFixture(suspended);
    await using session = h.runtime.openSession({}, asker);
    await approve(h, (await session.invoke(mail("a"))).approvalId ?? "", ann, forSession);
    const explained = await h.runtime.explain(mail("b"), asker);
    expect(explained).not.toHaveProperty("decision.grant");
    expect(explained.decision?.reasons.at(-1)).toMatchObject({
      effect: "CONFIRM",
      rule: expect.stringContaining("(does not count: it answers only in its session)"),
    });
    expect((await h.runtime.invoke(mail("b"), asker)).status).toBe("pending"); // another session
  });

  it("follows the edit of a person, with both digests", async () => {
    await using h = await runtimeFixture(suspended, [pay]);
    await using http = await httpFixture(h.runtime, { clock: h.clock });
    const id = await ask(h, { tool: "pay", arguments: { n: 20 } });
    const edit = { decision: "modified", arguments: { n: 5000 }, confirmation: "pay", by: ann } as const;
    expect(await h.runtime.approvals.decide(id, { ...edit, ...(await shownDigestOf(h, id)) })).toMatchObject({
      decided: true,
    });
    const outcome = await h.runtime.resume(id);
    expect(outcome?.status).toBe("ok");
    const [record] = await h.runtime.calls.list({ limit: 1 });
    const edited = { asked: sha256(canonical({ n: 20 })), runs: sha256(canonical({ n: 5000 })) };
    expect(await h.runtime.policy.explainCall(record?.key ?? "")).toMatchObject({
      decision: { risk: "critical" },
      recorded: { edited, weighed: { risk: "critical" } },
    });
    const [event] = await h.runtime.audit.query({ type: "tool_call.attempted" });
    expect(event?.request_hash).toBe(edited.runs);
    const path = `/v1/calls/${record?.key}/explanation`;
    expect(await bodyOf(await http.ask(path, { as: "operator" }))).toMatchObject({
      decision: { risk: "critical" },
      recorded: { edited: { asked_digest: edited.asked, digest: edited.runs }, weighed: { verdict: "CONFIRM" } },
    });
  });

  it("shows the verdict when a person was asked, while the call has not started", async () => {
    await using h = await runtimeFixture(suspended);
    const { callId } = await h.runtime.invoke(mail(), asker);
    const asked = h.clock.now();
    await h.clock.advance(1000);
    const explained = await h.runtime.policy.explainCall(callId);
    expect(explained?.recorded).toMatchObject({ weighed: { at: asked, verdict: "CONFIRM", risk: "high" } });
    expect(explained?.recorded).not.toHaveProperty("edited");
  });

  it("exists even if no verdict is recorded", async () => {
    await using h = await runtimeFixture({ ...suspended, store: "memory" });
    const { approvalId = "", callId } = await h.runtime.invoke(mail(), asker);
    await approve(h, approvalId, operatorToken);
    await h.runtime.resume(approvalId);
    expect(await h.runtime.policy.explainCall(callId)).toMatchObject({ decision: { verdict: "CONFIRM" } });
  });
});
