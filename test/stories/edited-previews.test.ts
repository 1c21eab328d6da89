import { describe, expect, it } from "vitest";
import type { JsonObject, RuntimeOptions } from "../../packages/postern/src/index.ts";
import { ann, approve, ask, bob, shownDigestOf } from "../fakes/deciders.ts";
import { bodyOf, httpFixture } from "../fakes/http-fixture.ts";
import { type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

interface Shown {
  /** The part of the preview that the arguments do not determine. */
  world: string;
  fails?: Error;
  shown: number;
}

const pay = { tool: "pay", arguments: { to: "x" } } as const;

/** A runtime with a tool that has a preview, and a quorum of two. */
async function open(state: Shown, options: RuntimeOptions = {}, more: object = {}): Promise<RuntimeFixture> {
  const approvals = { patience: "suspend", routes: [{ quorum: 2 }] } as const;
  return runtimeFixture({ approvals, ...options }, [
    {
      ...({ name: "pay", description: "Pays.", risk: "high", effects: "write", idempotent: false } as const),
      input: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
      classifyRisk: (given) => {
        const { to } = given as { readonly to: unknown };
        return to === "z" ? { risk: "high" } : { risk: "high", summary: `money for ${String(to)}` };
      },
      preview: async (given) => {
        state.shown += 1;
        if (state.fails !== undefined) throw state.fails;
        return { summary: `pays ${String((given as { to: unknown }).to)}, ${state.world}`, diff: "+1" };
      },
      execute: async () => "paid",
      ...more,
    },
  ]);
}

const edit = async (h: RuntimeFixture, id: string, by = ann, given: JsonObject = { to: "y" }) =>
  h.runtime.approvals.decide(id, { decision: "modified", arguments: given, by, ...(await shownDigestOf(h, id)) });

describe("a request that is edited and waits for another person", () => {
  it("shows the preview of the edit, and keeps that of the first arguments", async () => {
    const state: Shown = { world: "now", shown: 0 };
    await using h = await open(state);
    const id = await ask(h, pay);
    const before = await h.runtime.approvals.get(id);
    expect(before).toMatchObject({ preview: { summary: "pays x, now" }, summary: "money for x" });
    await edit(h, id);
    const after = await h.runtime.approvals.get(id);
    expect(after).toMatchObject({
      state: "pending",
      asked: { to: "x" },
      arguments: { to: "y" },
      preview: { summary: "pays y, now", diff: "+1", supported: true },
      askedPreview: before?.preview,
      summary: "money for y",
    });
    expect(after?.previewDigest).toMatch(/^[0-9a-f]{64}$/);
    expect(after?.previewDigest).not.toBe(before?.previewDigest);
    expect(state.shown).toBe(2);
    await using http = await httpFixture(h.runtime, { clock: h.clock });
    expect(await bodyOf(await http.ask(`/v1/approvals/${id}`, { as: "operator" }))).toMatchObject({
      preview: { summary: "pays y, now" },
      preview_digest: after?.previewDigest,
      asked_preview: { summary: "pays x, now" },
    });
    expect(await approve(h, id, bob, await shownDigestOf(h, id))).toMatchObject({ approval: { state: "approved" } });
    expect(await h.runtime.resume(id)).toMatchObject({ status: "ok" });
  });

  it("keeps the first preview over a second edit", async () => {
    const state: Shown = { world: "now", shown: 0 };
    await using h = await open(state);
    const id = await ask(h, pay);
    await edit(h, id);
    await edit(h, id, bob, { to: "z" });
    expect(await h.runtime.approvals.get(id)).toMatchObject({
      preview: { summary: "pays z, now" },
      askedPreview: { summary: "pays x, now" },
    });
    expect(await h.runtime.approvals.get(id)).not.toHaveProperty("summary"); // it was of other arguments
  });

  it("takes no vote for the earlier preview, even if the arguments are the same", async () => {
    const state: Shown = { world: "1 euro", shown: 0 };
    await using h = await open(state);
    const id = await ask(h, pay);
    const asked = await shownDigestOf(h, id);
    state.world = "1000 euro";
    await edit(h, id, ann, pay.arguments);
    const one = await shownDigestOf(h, id);
    state.fails = new Error("the bank is closed");
    await edit(h, id, ann, pay.arguments);
    const two = await shownDigestOf(h, id);
    state.fails = new Error("the bank is gone");
    await edit(h, id, ann, pay.arguments);
    for (const older of [asked, one, two])
      expect(await approve(h, id, bob, older)).toMatchObject({ code: "approval_changed" });
    expect(await approve(h, id, bob, await shownDigestOf(h, id))).toMatchObject({ approval: { state: "approved" } });
  });

  it("takes no vote if it was edited meanwhile to the same arguments with another preview", async () => {
    const state: Shown = { world: "", shown: 0 };
    await using h = await open(state);
    const codes = new Set<string>();
    for (let turns = 0; turns < 60; turns += 1) {
      state.world = `at first ${turns}`;
      const id = await ask(h, { ...pay, arguments: { to: `${turns}` } });
      const before = await shownDigestOf(h, id);
      state.world = `then ${turns}`;
      const editing = edit(h, id, ann, { to: `${turns}` });
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve(); // the yes comes at each moment of the edit
      const decided = await approve(h, id, bob, before);
      await editing;
      codes.add(decided.decided ? decided.approval.state : decided.code);
    }
    expect([...codes].sort()).toEqual(["approval_changed", "pending"]); // never the second yes to what nobody saw
  });

  it("says that a preview failed, and waits all the same", async () => {
    const state: Shown = { world: "now", shown: 0 };
    await using h = await open(state);
    const id = await ask(h, pay);
    state.fails = new Error("the bank is closed");
    await edit(h, id);
    expect(await h.runtime.approvals.get(id)).toMatchObject({
      state: "pending",
      preview: { supported: false, problem: "Error: the bank is closed" },
      previewDigest: expect.any(String),
    });
  });

  it("has no preview if the tool offers none", async () => {
    await using h = await open({ world: "", shown: 0 }, {}, { preview: undefined });
    const id = await ask(h, pay);
    await edit(h, id);
    const record = await h.runtime.approvals.get(id);
    expect(record).not.toHaveProperty("preview");
    expect(record).not.toHaveProperty("askedPreview");
  });

  it("is bound to its preview: the call does not run if the preview changed", async () => {
    const state: Shown = { world: "now", shown: 0 };
    await using h = await open(state);
    const same = await ask(h, pay);
    await edit(h, same);
    await approve(h, same, bob, await shownDigestOf(h, same));
    expect(await h.runtime.resume(same)).toMatchObject({ status: "ok" });
    const other = await ask(h, { tool: "pay", arguments: { to: "w" } });
    await edit(h, other);
    await approve(h, other, bob, await shownDigestOf(h, other));
    state.world = "later";
    expect(await h.runtime.resume(other)).toMatchObject({ status: "denied", refusal: { code: "approval_expired" } });
  });

  it("gets no preview if its edit needs no other person", async () => {
    const state: Shown = { world: "now", shown: 0 };
    await using h = await open(state, { approvals: { patience: "suspend" } });
    const id = await ask(h, pay);
    await edit(h, id);
    expect(await h.runtime.approvals.get(id)).toMatchObject({ state: "approved", askedPreview: { supported: true } });
    expect(state.shown).toBe(1);
  });
});
