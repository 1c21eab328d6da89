import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownFolder } from "../../fakes/own-folder.ts";
import { asker, boss, eventTypes, type RuntimeFixture, runtimeFixture } from "../../fakes/runtime-fixture.ts";

const mail = (to: string): { tool: string; arguments: { to: string } } => ({
  tool: "mail",
  arguments: { to },
});

async function approved(h: RuntimeFixture, to = "x"): Promise<string> {
  const { approvalId = "" } = await h.runtime.invoke(mail(to), asker);
  await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  return approvalId;
}

function fileFixture(file: string): Promise<RuntimeFixture> {
  return runtimeFixture({ store: `sqlite:${file}`, folder: `${file}.keys` });
}

describe("an approval that is used again", () => {
  it("runs once when 100 callers resume at once, and the others get its outcome", async () => {
    await using h = await runtimeFixture();
    const id = await approved(h);
    const all = await Promise.all(Array.from({ length: 100 }, () => h.runtime.resume(id)));
    expect(h.ran).toEqual([{ to: "x" }]);
    const messages = all.map((outcome) => outcome?.refusal?.code ?? `${outcome?.status} ${outcome?.replayed}`);
    expect(messages.filter((one) => one === "ok undefined")).toHaveLength(1);
    expect(messages.every((one) => ["ok undefined", "ok true", "in_progress"].includes(one))).toBe(true);
    expect((await h.runtime.approvals.get(id))?.state).toBe("used");
    const types = await eventTypes(h.runtime);
    expect(types.filter((type) => type === "tool_call.attempted")).toHaveLength(1);
    expect(types.filter((type) => type === "tool_call.succeeded")).toHaveLength(1);
  });

  it("runs once when 50 callers resume, 50 send again and 50 wait at once", async () => {
    await using h = await runtimeFixture();
    const { approvalId = "" } = await h.runtime.invoke(mail("x"), asker);
    const waiting = Array.from({ length: 50 }, () => h.runtime.invoke(mail("x"), { ...asker, patience: "wait" }));
    await h.clock.advance(1);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    const rest = Array.from({ length: 50 }, () => [h.runtime.resume(approvalId), h.runtime.invoke(mail("x"), asker)]);
    const all = await Promise.all([...waiting, ...rest.flat()]);
    expect(h.ran).toEqual([{ to: "x" }]);
    expect(all.filter((outcome) => outcome?.status === "ok" && outcome.replayed === undefined)).toHaveLength(1);
  });

  it("does not pay for a second try after a failure that may be retried", async () => {
    let tries = 0;
    await using h = await runtimeFixture({}, [
      {
        name: "flaky",
        description: "Fails.",
        risk: "high",
        effects: "write",
        idempotent: false,
        input: { type: "object" },
        execute: () => {
          tries += 1;
          throw Object.assign(new Error("busy"), { retryable: true });
        },
      },
    ]);
    const { approvalId = "" } = await h.runtime.invoke({ tool: "flaky" }, asker);
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.runtime.resume(approvalId);
    const again = await h.runtime.resume(approvalId);
    expect(tries).toBe(1);
    expect(again?.status).toBe("pending");
    expect(again?.approvalId).not.toBe(approvalId);
  });

  it("is refused after its expiry in every way", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "suspend", ttlMs: 1000 } });
    const id = await approved(h);
    await h.clock.advance(1000);
    expect((await h.runtime.resume(id))?.refusal?.code).toBe("approval_expired");
    expect((await h.runtime.resume(id))?.refusal?.code).toBe("approval_expired");
    const next = await h.runtime.invoke(mail("x"), asker);
    expect(next.status).toBe("pending");
    expect(next.approvalId).not.toBe(id);
    expect((await h.runtime.resume(id))?.status).not.toBe("ok");
    expect(h.ran).toEqual([]);
  });
});

describe("after a restart", () => {
  const folder = ownFolder();

  it("a pending request is pending, can be decided, and runs once with the same payload (case 90)", async () => {
    const file = join(folder, "pending.db");
    let id = "";
    {
      await using before = await fileFixture(file);
      id = (await before.runtime.invoke(mail("x"), asker)).approvalId ?? "";
    }
    await using h = await fileFixture(file);
    expect(await h.runtime.approvals.list({ state: "pending" })).toMatchObject([{ id, asked: { to: "x" } }]);
    expect((await h.runtime.approvals.decide(id, { decision: "approved", by: boss })).decided).toBe(true);
    expect(await h.runtime.resume(id)).toMatchObject({ status: "ok", text: "to x" });
    expect((await h.runtime.resume(id))?.replayed).toBe(true);
    expect(h.ran).toEqual([{ to: "x" }]);
  });

  it.each([
    ["resumes", (h: RuntimeFixture, id: string) => h.runtime.resume(id)],
    ["sends it again", (h: RuntimeFixture) => h.runtime.invoke(mail("x"), asker)],
    [
      "sends it again and waits",
      (h: RuntimeFixture) => h.runtime.invoke(mail("x"), { ...asker, patience: "wait" as const }),
    ],
  ])("an approved call runs once for the caller who %s", async (how, use) => {
    const file = join(folder, `${how}.db`);
    let id = "";
    {
      await using before = await fileFixture(file);
      id = await approved(before);
    }
    {
      await using h = await fileFixture(file);
      expect(await use(h, id)).toMatchObject({ status: "ok" });
      expect(h.ran).toEqual([{ to: "x" }]);
    }
    await using after = await fileFixture(file);
    expect(await use(after, id)).toMatchObject({ status: "ok", replayed: true });
    expect(after.ran).toEqual([]);
    expect(await after.runtime.audit.verify()).toMatchObject({ intact: true });
  });

  it("a denial stays, and a request that expired meanwhile is expired (case 91)", async () => {
    const file = join(folder, "denied.db");
    const ids: string[] = [];
    {
      await using before = await fileFixture(file);
      for (const to of ["denied", "late"]) ids.push((await before.runtime.invoke(mail(to), asker)).approvalId ?? "");
      await before.runtime.approvals.decide(ids[0] ?? "", { decision: "denied", by: boss });
    }
    await using h = await fileFixture(file);
    expect((await h.runtime.resume(ids[0] ?? ""))?.refusal?.code).toBe("approval_denied");
    await h.clock.advance(3_600_000);
    expect((await h.runtime.approvals.get(ids[1] ?? ""))?.state).toBe("expired");
    expect(await eventTypes(h.runtime)).toContain("gate.expired");
    expect((await h.runtime.resume(ids[1] ?? ""))?.refusal?.code).toBe("approval_expired");
    expect(h.ran).toEqual([]);
  });
});
