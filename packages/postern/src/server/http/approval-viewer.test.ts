import type { Role } from "@postern/core";
import { describe, expect, it } from "vitest";
import { ann, approve, bob } from "../../../../../test/fakes/deciders.ts";
import { bodyOf, httpFixture, inSession } from "../../../../../test/fakes/http-fixture.ts";
import { cheap, entered, goodPassword, here, holder } from "../../../../../test/fakes/people.ts";
import { runtimeFixture } from "../../../../../test/fakes/runtime-fixture.ts";
import type { ApprovalRoute } from "../../approvals/index.ts";
import type { Runtime } from "../../index.ts";

interface Scene extends AsyncDisposable {
  readonly runtime: Runtime;
  now(): number;
  /** What a person reads that they may decide. */
  viewer(id: string, name: string): Promise<Record<string, unknown>>;
  /** What comes of it when they say it. */
  say(id: string, name: string, verb: string): Promise<readonly [number, unknown]>;
  asks(name: string, tool?: string): Promise<string>;
}

const people: Readonly<Record<string, readonly Role[]>> = {
  ann: ["approver", "operator"],
  bob: ["approver"],
  vera: ["viewer"],
};

async function scene(...routes: readonly ApprovalRoute[]): Promise<Scene> {
  const inside = await runtimeFixture({
    approvals: { patience: "suspend", routes },
    accounts: { passwordCost: cheap },
  });
  const { accounts } = inside.runtime;
  const sessions = new Map<string, Readonly<Record<string, string>>>();
  for (const [name, roles] of Object.entries(people)) {
    await accounts.add({ name, roles, password: goodPassword }, holder);
    sessions.set(name, inSession(entered(await accounts.signIn(name, goodPassword, here))));
  }
  const http = await httpFixture(inside.runtime, { accounts, clock: inside.clock });
  const as = (name: string) =>
    name === "operator" ? ({ as: "operator" } as const) : { headers: sessions.get(name) ?? {} };
  return {
    runtime: inside.runtime,
    now: () => inside.clock.now(),
    viewer: async (id, name) => {
      const detail = await bodyOf(await http.ask(`/v1/approvals/${id}`, as(name)));
      const list = (await bodyOf(await http.ask("/v1/approvals", as(name))))["approvals"] as Record<string, unknown>[];
      expect(list.find((one) => one["approval_id"] === id)?.["viewer"]).toEqual(detail["viewer"]);
      return detail["viewer"] as Record<string, unknown>;
    },
    say: async (id, name, verb) => {
      const body = { ...(verb === "modify" && { arguments: { to: "other" } }), confirmation: "drop" };
      const { confirmation: _, ...no } = body;
      const sent = verb === "approve" || verb === "modify" ? body : no;
      const answered = await http.ask(`/v1/approvals/${id}/${verb}`, { ...as(name), body: sent });
      return [answered.status, ((await bodyOf(answered))["error"] as { message?: unknown } | undefined)?.message];
    },
    asks: async (name, tool = "mail") => {
      const call = { tool, arguments: { to: String(Math.random()) } };
      const asked = await bodyOf(await http.ask("/v1/calls", { ...as(name), body: call }));
      return String(asked["approval_id"]);
    },
    [Symbol.asyncDispose]: async () => {
      await http[Symbol.asyncDispose]();
      await inside[Symbol.asyncDispose]();
    },
  };
}

const all = ["approve", "deny", "skip", "modify"];
const byAnAgent = { principal: { tenant: "default", agent: "bot", via: "token:agent" } };

async function agentAsks({ runtime }: Scene, tool = "mail"): Promise<string> {
  return (await runtime.invoke({ tool, arguments: { to: String(Math.random()) } }, byAnAgent)).approvalId ?? "";
}

describe("a viewer of a request reads what they may decide", () => {
  it("all, where nothing stands against it", async () => {
    await using at = await scene();
    expect(await at.viewer(await agentAsks(at), "bob")).toEqual({ may: all });
  });

  it("nothing, with the sentence of the refusal, where they asked by hand", async () => {
    await using at = await scene();
    const id = await at.asks("ann");
    const received = await at.viewer(id, "ann");
    expect(received).toMatchObject({ may: [], why_not: "requester" });
    for (const verb of all) expect(await at.say(id, "ann", verb)).toEqual([403, received["message"]]);
    expect(await at.viewer(id, "bob")).toEqual({ may: all });
  });

  it("nothing, where no role of theirs decides", async () => {
    await using at = await scene();
    const id = await agentAsks(at);
    expect(await at.viewer(id, "vera")).toEqual({
      may: [],
      why_not: "role",
      message: "You may look at requests, not decide them: that takes the role approver.",
    });
    expect((await at.say(id, "vera", "deny"))[0]).toBe(403);
  });

  it("nothing if it is routed to others", async () => {
    await using at = await scene({ name: "anns", to: { users: ["ann"] } });
    const id = await agentAsks(at);
    expect(await at.viewer(id, "bob")).toMatchObject({ may: [], why_not: "not_asked" });
  });

  it("no second yes under a quorum, but an edit and a no", async () => {
    await using at = await scene({ quorum: 2 });
    const id = await agentAsks(at);
    expect((await at.say(id, "ann", "approve"))[0]).toBe(200);
    const received = await at.viewer(id, "ann");
    expect(received).toMatchObject({ may: ["deny", "skip", "modify"], why_not: "voted" });
    expect(await at.say(id, "ann", "approve")).toEqual([409, received["message"]]);
    expect((await at.say(id, "ann", "deny"))[0]).toBe(200);
    expect(await at.viewer(id, "bob")).toMatchObject({ may: [], why_not: "over" });
  });

  it("only a no, by the operator's token, to what takes persons who signed in", async () => {
    await using at = await scene();
    const id = await agentAsks(at, "drop");
    const received = await at.viewer(id, "operator");
    expect(received).toMatchObject({ may: ["deny", "skip"], why_not: "sign_in" });
    expect(await at.say(id, "operator", "approve")).toEqual([403, received["message"]]);
    expect((await at.say(id, "operator", "deny"))[0]).toBe(200);
  });

  it("and so is a program", async () => {
    await using h = await runtimeFixture({ approvals: { patience: "suspend", routes: [{ quorum: 2 }] } });
    const { approvalId = "" } = await h.runtime.invoke({ tool: "mail", arguments: { to: "x" } }, byAnAgent);
    await approve(h, approvalId, ann);
    const found = await h.runtime.approvals.get(approvalId);
    if (found === undefined) throw new Error("It is not there.");
    expect(await h.runtime.approvals.eligibility([found], bob)).toEqual([
      { may: ["approved", "denied", "skipped", "modified"], requirement: found.routed },
    ]);
  });
});
