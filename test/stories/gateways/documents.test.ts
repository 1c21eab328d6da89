import { expect, it } from "vitest";
import type { Remember } from "../../../packages/postern/src/approvals/index.ts";
import { Changing, read } from "../../fakes/changing.ts";
import { ann, mail } from "../../fakes/deciders.ts";
import { ownFolder } from "../../fakes/own-folder.ts";
import { testPostgres } from "../../fakes/postgres-server.ts";
import { asker } from "../../fakes/runtime-fixture.ts";
import { skillText, writeSkill } from "../../fakes/skill-folder.ts";
import { twoGateways } from "../../fakes/two-gateways.ts";

const postgres = testPostgres();
const ada = { by: "ada", via: "test" } as const;
const echo = { tool: "echo", arguments: { to: "me" } };
const forAll: Remember = { for: "run", reason: "they are all to the team" };
const inRun = { ...asker, runId: "r" };

it("holds a switch on every gateway, whichever one an operator used", async () => {
  await using g = await twoGateways(postgres.newStore());
  await g.b.controls.pause(ada, "incident");
  await expect.poll(() => g.a.controls.state.paused).toBe(true);
  expect((await g.a.invoke(echo, asker)).refusal?.code).toBe("paused");
  await g.a.controls.resume(ada);
  await g.a.controls.setTool("echo", false, ada);
  await expect.poll(() => g.b.controls.state).toMatchObject({ paused: false, offTools: ["echo"] });
  expect((await g.b.invoke(echo, asker)).status).toBe("error");
});

it("holds the pause of an agent on every gateway, until any of them resumes it", async () => {
  await using g = await twoGateways(postgres.newStore());
  const one = { kind: "agent", name: asker.principal.agent } as const;
  await g.a.controls.pauseOne(one, ada, "it loops");
  await expect.poll(async () => (await g.b.invoke(echo, asker)).refusal?.code).toBe("paused");
  await g.b.controls.resumeOne(one, ada);
  await expect.poll(async () => (await g.a.invoke(echo, asker)).status).toBe("ok");
});

it("uses a grant that was given on another gateway, until it is revoked on any", async () => {
  await using g = await twoGateways(postgres.newStore());
  const { approvalId = "" } = await g.a.invoke(mail("one"), inRun);
  await g.b.approvals.decide(approvalId, { decision: "approved", by: ann, remember: forAll });
  await expect.poll(() => g.a.approvals.grants.list().length).toBe(1);
  expect((await g.a.invoke(mail("two"), inRun)).status).toBe("ok");
  const [{ id = "" } = {}] = g.a.approvals.grants.list();
  await g.a.approvals.grants.revoke(id, ann);
  await expect.poll(() => g.b.approvals.grants.list({ state: "live" })).toEqual([]);
  expect((await g.b.invoke(mail("three"), inRun)).status).toBe("pending");
});

it("shows an alarm on every gateway, and resolves it on all", async () => {
  await using g = await twoGateways(postgres.newStore());
  await g.a.note("channel.dead_letter", "A notice was given up", { data: { channel: "ops" } });
  await expect
    .poll(() => g.b.alarms.list().map(({ kind, state }) => `${kind} ${state}`))
    .toEqual(["channel_failed open"]);
  const [{ id = "" } = {}] = g.b.alarms.list();
  await g.b.alarms.resolve(id, ada, "it works again");
  await expect.poll(() => g.a.alarms.get(id)?.state).toBe("resolved");
  await g.a.note("channel.dead_letter", "A notice was given up", { data: { channel: "ops" } });
  await expect.poll(() => g.b.alarms.get(id)?.state).toBe("open");
});

it("restricts a run by a skill that was activated on another gateway", async () => {
  const folder = ownFolder();
  writeSkill(folder, "reader", skillText("name: reader\ndescription: Reads.\nallowed-tools: echo"));
  await using g = await twoGateways(postgres.newStore(), () => ({ skills: { folders: [folder] } }));
  const run = { tenant: "default", runId: "r", agent: "a" } as const;
  await g.a.skills?.activate(run, "reader", ada);
  await expect.poll(() => g.b.offered({ ...asker.principal }, "r").map(({ tool }) => tool)).not.toContain("mail");
  expect((await g.b.invoke(mail("x"), inRun)).refusal?.code).toBe("permission_denied");
  await g.b.skills?.deactivate(run, "reader", ada);
  await expect.poll(async () => (await g.a.invoke(mail("x"), inRun)).status).toBe("pending");
});

it("lets a changed tool be called on every gateway once it was approved on one", async () => {
  using changing = new Changing(read);
  const servers = { files: changing.config() };
  const store = postgres.newStore();
  {
    await using g = await twoGateways(store, () => ({ servers }));
    expect((await g.b.invoke({ tool: "files__read", arguments: {} }, asker)).refusal?.code).not.toBe(
      "tool_unavailable",
    );
  }
  changing.define({ ...read, description: "Reads every file." });
  await using g = await twoGateways(store, () => ({ servers }));
  const call = { tool: "files__read", arguments: { path: "x" } };
  expect([(await g.a.invoke(call, asker)).refusal?.code, (await g.b.invoke(call, asker)).refusal?.code]).toEqual([
    "tool_unavailable",
    "tool_unavailable",
  ]);
  const definition = g.a.pins.changes("files__read")?.offered?.digest ?? "";
  await g.a.pins.approve("files__read", { definition, ...ada });
  await expect.poll(async () => (await g.b.invoke(call, asker)).refusal?.code).not.toBe("tool_unavailable");
});
