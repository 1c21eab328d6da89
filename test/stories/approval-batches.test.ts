import { describe, expect, it } from "vitest";
import { ann, approve, ask, bob, deny, mail, routed } from "../fakes/deciders.ts";
import { asker, eventTypes, runtimeFixture } from "../fakes/runtime-fixture.ts";

describe("a revocation", () => {
  it("stops an approval before its use: the call does not run, and is asked again", async () => {
    await using h = await runtimeFixture();
    const id = await ask(h);
    await approve(h, id, ann);
    expect(await h.runtime.approvals.revoke(id, bob, "wrong one")).toMatchObject({
      decided: true,
      approval: {
        state: "withdrawn",
        decision: { as: "revoked", by: "bob", reason: "wrong one" },
        votes: [{ by: "ann" }],
      },
    });
    expect(await h.runtime.resume(id)).toMatchObject({ status: "denied", refusal: { code: "approval_withdrawn" } });
    const again = await h.runtime.invoke(mail(), asker);
    expect(again.status).toBe("pending");
    expect(again.approvalId).not.toBe(id);
    expect(h.ran).toEqual([]);
    expect(await eventTypes(h.runtime)).toContain("gate.revoked");
  });

  it("changes neither a pending nor a used approval", async () => {
    await using h = await runtimeFixture();
    const id = await ask(h);
    expect(await h.runtime.approvals.revoke(id, bob)).toMatchObject({
      code: "approval_decided",
      message: expect.stringContaining("is pending; only an approved request"),
    });
    await approve(h, id, ann);
    await h.runtime.resume(id);
    expect(await h.runtime.approvals.revoke(id, bob)).toMatchObject({ code: "approval_decided" });
    expect(await h.runtime.approvals.revoke("apr_none", bob)).toMatchObject({ code: "approval_unknown" });
    expect(await h.runtime.approvals.revoke(id, { ...bob, tenant: "acme" })).toMatchObject({
      code: "approval_unknown",
    });
    expect(h.ran).toHaveLength(1);
  });
});

describe("a batch", () => {
  it("decides similar requests of one run separately, and answers for each", async () => {
    await using h = await runtimeFixture();
    const ids = [await ask(h, mail("1")), await ask(h, mail("2")), await ask(h, mail("3"))];
    await deny(h, ids[1] ?? "", bob);
    const made = await h.runtime.approvals.decideMany([...ids, ids[0] ?? ""], {
      decision: "approved",
      by: ann,
      reason: "all fine",
    });
    expect(made).toMatchObject({
      taken: true,
      answers: [
        { id: ids[0], decided: { decided: true } },
        { decided: { code: "approval_decided" } },
        { id: ids[2], decided: { decided: true } },
      ],
    });
    const events = await h.runtime.audit.query({ type: "gate.approved" });
    expect(events).toMatchObject([{ reason: "all fine", decided_by: "ann" }, { reason: "all fine" }]);
  });

  it("is refused as a whole if one request belongs to another tool or run, or does not exist", async () => {
    await using h = await runtimeFixture();
    const id = await ask(h, mail("1"));
    const other = await ask(h, { tool: "drop", arguments: { to: "1" } });
    const { approvalId: far = "" } = await h.runtime.invoke(mail("2"), { ...asker, runId: "elsewhere" });
    const all = (ids: readonly string[]) => h.runtime.approvals.decideMany(ids, { decision: "approved", by: ann });
    expect(await all([id, other])).toMatchObject({
      taken: false,
      code: "batch_refused",
      message: expect.stringContaining("`drop`"),
    });
    expect(await all([id, far])).toMatchObject({
      code: "batch_refused",
      message: expect.stringContaining("`elsewhere`"),
    });
    expect(await all([id, "apr_none"])).toMatchObject({ code: "approval_unknown" });
    expect(await all([])).toMatchObject({ code: "batch_refused" });
    expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
  });

  it("does not approve critical requests, names them, and decides none of the others", async () => {
    await using h = await runtimeFixture();
    const drop = (to: string) => ask(h, { tool: "drop", arguments: { to } });
    const ids = [await drop("1"), await drop("2")];
    const many = (decision: "approved" | "denied", more: object = {}) =>
      h.runtime.approvals.decideMany(ids, { decision, by: ann, ...more });
    for (const more of [{}, { confirmation: "drop" }])
      expect(await many("approved", more)).toMatchObject({
        taken: false,
        code: "batch_refused",
        message: expect.stringMatching(/^`apr_\S+` and 1 more of these would run `drop` at risk critical/),
      });
    for (const id of ids) expect((await h.runtime.approvals.get(id))?.state).toBe("pending");
    expect(await h.runtime.audit.query({ type: "gate.approved" })).toEqual([]);
    expect(await approve(h, ids[0] ?? "", ann, { confirmation: "drop" })).toMatchObject({ decided: true });
    expect(await many("denied")).toMatchObject({
      taken: true,
      answers: [{ decided: { code: "approval_decided" } }, { decided: { decided: true } }],
    });
  });

  it("does not approve a request whose route wants a typed name", async () => {
    await using h = await runtimeFixture(
      routed({ name: "typed", match: { tools: ["mail"] }, typedConfirmation: true }),
    );
    const ids = [await ask(h, mail("1")), await ask(h, mail("2"))];
    expect(await h.runtime.approvals.decideMany(ids, { decision: "approved", by: ann })).toMatchObject({
      taken: false,
      code: "batch_refused",
      message: expect.stringContaining("one by one"),
    });
    expect((await h.runtime.approvals.get(ids[0] ?? ""))?.state).toBe("pending");
  });

  it("checks each digest against its own request", async () => {
    await using h = await runtimeFixture();
    const [one, two] = [await ask(h, mail("1")), await ask(h, mail("2"))];
    const made = await h.runtime.approvals.decideMany([one, two], {
      decision: "approved",
      by: ann,
      expectedDigests: { [two]: "0".repeat(64) },
    });
    expect(made).toMatchObject({
      answers: [{ decided: { decided: true } }, { decided: { code: "approval_changed" } }],
    });
  });
});

it("shows the agent's own reason, redacted and marked as such, and how much its session did before", async () => {
  await using h = await runtimeFixture();
  await using session = h.runtime.openSession({}, asker);
  await session.invoke({ tool: "echo", arguments: { to: "x" } });
  const { approvalId = "" } = await session.invoke(mail(), { reason: "the user asked me to" });
  expect(await h.runtime.approvals.get(approvalId)).toMatchObject({ reason: "the user asked me to", runCalls: 2 });
});
