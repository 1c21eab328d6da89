/** Pauses of one agent and of one run. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actor } from "../fakes/actors.ts";
import { bodyOf, httpFixture, inSession } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { cheap, entered, goodPassword, here, holder } from "../fakes/people.ts";
import { asker, boss, type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";
import { newStore, storeIn, storeKinds } from "../fakes/story-store.ts";

const echo = { tool: "echo", arguments: { to: "x" } };
const mail = { tool: "mail", arguments: { to: "x" } };
const ada = actor("ada");
const theAgent = { kind: "agent", name: "a" } as const;
const run = (name: string) => ({ kind: "run", name }) as const;
const other = { principal: { ...asker.principal, agent: "b" } };
const inRun = (runId: string) => ({ ...asker, runId });

async function approved({ runtime }: RuntimeFixture, context = asker): Promise<string> {
  const { approvalId = "" } = await runtime.invoke(mail, context);
  await runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
  return approvalId;
}

describe.each(storeKinds)("a brake, in a store of kind %s", (kind) => {
  const open = (more: object = {}) => runtimeFixture({ store: newStore(kind), ...more });

  it("stops one agent from its next call on, says who, why and how to resume, and is audited", async () => {
    await using h = await open();
    const { controls } = h.runtime;
    await controls.pauseOne(theAgent, ada, "it loops");
    const { status, refusal } = await h.runtime.invoke(echo, asker);
    expect([status, refusal?.code, refusal?.retry]).toEqual(["error", "paused", "later"]);
    expect(refusal?.message).toBe(
      "ada has paused the agent `a` (it loops); the tool was not run. Try again later: an operator resumes it in the console, or with `postern controls resume --agent NAME`.",
    );
    expect((await h.runtime.invoke(echo, other)).status).toBe("ok");
    await controls.resumeOne(theAgent, ada);
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    const events = await h.runtime.audit.query({ by: "ada" });
    expect(events.map(({ type, decided_via, data }) => [type, decided_via, data])).toEqual([
      ["operator.action.pause", ada.via, { change: "pause_agent", value: "a", reason: "it loops" }],
      ["operator.action.resume", ada.via, { change: "resume_agent", value: "a" }],
    ]);
  });

  it("takes a reason that is given later, and passes the reason for a tool that is off to the agent", async () => {
    await using h = await open();
    const { controls } = h.runtime;
    const message = async (): Promise<string | undefined> => (await h.runtime.invoke(echo, asker)).refusal?.message;
    await controls.pauseOne(theAgent, ada);
    await controls.pauseOne(theAgent, ada, "it loops");
    await controls.pauseOne(theAgent, actor("bob"));
    expect(await message()).toMatch(/^ada has paused the agent `a` \(it loops\);/);
    expect(controls.state.pauses).toHaveLength(1);
    await controls.resumeOne(theAgent, ada);
    await controls.setTool("echo", false, ada);
    expect(await message()).toBe("`echo` is switched off by an operator.");
    await controls.setTool("echo", false, ada, "a new version");
    expect(await message()).toBe("`echo` is switched off by an operator (a new version).");
    expect(controls.state.offTools).toEqual(["echo"]);
    await controls.pause(ada);
    await controls.pause(ada, "all of it");
    expect(await message()).toMatch(/^An operator has paused all tool calls \(all of it\);/);
    await controls.resume(ada);
    await controls.setTool("echo", true, ada);
    expect(controls.state.pauses ?? []).toEqual([]);
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
  });

  it("stops one run, and no other run of its agent", async () => {
    await using h = await open();
    await h.runtime.controls.pauseOne(run("one"), ada);
    expect((await h.runtime.invoke(echo, inRun("one"))).refusal).toMatchObject({
      code: "paused",
      details: { kind: "run", name: "one" },
    });
    expect((await h.runtime.invoke(echo, inRun("two"))).status).toBe("ok");
  });

  it("does not start an approved call; it stays approved and runs once after the resume", async () => {
    await using h = await open();
    const id = await approved(h);
    await h.runtime.controls.pauseOne(theAgent, ada);
    expect((await h.runtime.resume(id))?.refusal?.code).toBe("paused");
    expect((await h.runtime.invoke(mail, asker)).refusal?.code).toBe("paused");
    expect([(await h.runtime.approvals.get(id))?.state, h.ran]).toEqual(["approved", []]);
    await h.runtime.controls.resumeOne(theAgent, ada);
    expect((await h.runtime.resume(id))?.status).toBe("ok");
    expect(h.ran).toHaveLength(1);
  });

  it("stops a call that is approved while it waits", async () => {
    await using h = await open({ approvals: { patience: "wait" } });
    const waiting = h.runtime.invoke(mail, asker);
    const first = async () => (await h.runtime.approvals.list({ state: "pending" }))[0]?.id;
    await expect.poll(first).toBeDefined();
    await h.runtime.controls.pauseOne(theAgent, ada);
    await h.runtime.approvals.decide((await first()) ?? "", { decision: "approved", by: boss });
    expect((await waiting).refusal?.code).toBe("paused");
    expect(h.ran).toEqual([]);
  });

  it("stops a suspended script, which continues after the resume", async () => {
    await using h = await open({ chains: {} });
    const code = 'await tools.mail({ to: "x" }); return "end"';
    const script = { tool: "tool_chain", arguments: { language: "javascript", code } };
    const { approvalId = "" } = await h.runtime.invoke(script, inRun("one"));
    await h.runtime.approvals.decide(approvalId, { decision: "approved", by: boss });
    await h.runtime.controls.pauseOne(run("one"), ada);
    expect((await h.runtime.resume(approvalId))?.refusal?.code).toBe("paused");
    expect(h.ran).toEqual([]);
    await h.runtime.controls.resumeOne(run("one"), ada);
    expect((await h.runtime.resume(approvalId))?.text).toContain("end");
    expect(h.ran).toHaveLength(1);
  });

  it("holds for its tenant alone, and a person of another tenant neither pauses nor sees it", async () => {
    await using h = await open({ accounts: { passwordCost: cheap } });
    const { accounts, controls } = h.runtime;
    await using http = await httpFixture(h.runtime, { accounts });
    for (const [name, tenant] of [
      ["ada", "default"],
      ["eve", "acme"],
    ] as const)
      await accounts.add({ name, roles: ["operator"], tenant, password: goodPassword }, holder);
    const session = async (name: string) => inSession(entered(await accounts.signIn(name, goodPassword, here)));
    const [ofAda, ofEve] = [await session("ada"), await session("eve")];
    const pause = (body: object, headers: Readonly<Record<string, string>>) =>
      http.ask("/v1/controls/pauses", { body, headers });
    expect((await pause({ agent: "a", paused: true }, ofEve)).status).toBe(200);
    expect((await h.runtime.invoke(echo, asker)).status).toBe("ok");
    const acmes = { principal: { ...asker.principal, tenant: "acme" } };
    expect((await h.runtime.invoke(echo, acmes)).refusal?.code).toBe("paused");
    expect(await bodyOf(await http.ask("/v1/controls", { headers: ofAda }))).toMatchObject({ pauses: [] });
    expect(await bodyOf(await http.ask("/v1/controls", { headers: ofEve }))).toMatchObject({
      pauses: [{ kind: "agent", name: "a", by: "eve", via: expect.stringMatching(/^session:/) }],
    });
    await pause({ agent: "a", paused: false }, ofAda); // its own `a`, which is not paused
    expect((await h.runtime.invoke(echo, acmes)).refusal?.code).toBe("paused");
    await expect(
      controls.resumeOne({ ...theAgent, tenant: "acme" }, { by: "ada", via: "session:1", tenant: "default" }),
    ).rejects.toMatchObject({ code: "request_invalid" });
    const changes = async (headers: Readonly<Record<string, string>>) =>
      bodyOf(await http.ask("/v1/controls/history", { headers }));
    expect(await changes(ofAda)).toMatchObject({ changes: [] });
    expect(await changes(ofEve)).toMatchObject({ changes: [{ change: "pause_agent", value: "a" }] });
    expect((await pause({ agent: "a", run_id: "r", paused: true }, ofAda)).status).toBe(422);
  });
});

it("outlives a restart", async () => {
  const file = join(ownFolder(), "postern.db");
  {
    await using h = await runtimeFixture(storeIn(file));
    await h.runtime.controls.pauseOne(run("one"), ada, "a storm");
  }
  await using h = await runtimeFixture(storeIn(file));
  expect((await h.runtime.invoke(echo, inRun("one"))).refusal?.message).toContain(
    "ada has paused the run `one` (a storm)",
  );
});
