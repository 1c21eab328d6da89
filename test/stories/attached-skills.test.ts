import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openAgentTools } from "../../packages/agents/src/agent-tools.ts";
import { createAgent } from "../../packages/agents/src/loop.ts";
import { scriptedModel } from "../../packages/agents/src/model.ts";
import { defineSkill } from "../../packages/postern/src/builtin/index.ts";
import { createRuntime, type RuntimeOptions } from "../../packages/postern/src/index.ts";
import { CommandLine } from "../fakes/command-line.ts";
import { httpFixture } from "../fakes/http-fixture.ts";
import { ownFolder } from "../fakes/own-folder.ts";
import { runtimeFixture } from "../fakes/runtime-fixture.ts";

const folder = ownFolder();
const letters = defineSkill({ name: "letters", instructions: "Be short.", allowedTools: ["mail"] });
const tables = defineSkill({ name: "tables", instructions: "Be careful.", allowedTools: ["drop", "mail"] });
const skills = { folders: [], skills: [letters, tables] };
/** Every tool may run unasked, so that only a skill can refuse it. */
const open: RuntimeOptions = { policy: { maxRiskUnapproved: "critical", allowUnattendedCritical: true }, skills };
const principal = { tenant: "default", agent: "bot" };
const to = { to: "ada" };

describe("skills of an agent's own code", () => {
  it("restrict its run from the first list and the first call on", async () => {
    await using at = await runtimeFixture(open);
    await using tools = openAgentTools(at.runtime, { principal, runId: "run-1", skills: ["letters"] });
    const shown = tools.list().map(({ name }) => name);
    expect(shown).toContain("mail");
    expect(shown).not.toContain("drop");
    expect((await tools.call({ name: "drop", arguments: to })).outcome).toMatchObject({ status: "denied" });
    expect((await tools.call({ name: "mail", arguments: to })).outcome).toMatchObject({ status: "ok" });
    expect(at.runtime.skills?.active({ tenant: "default", runId: "run-1" })).toEqual(["letters"]);
  });

  it("give the text for the system prompt, and end with `detach`", async () => {
    await using at = await runtimeFixture(open);
    await using tools = openAgentTools(at.runtime, { principal, runId: "run-1", skills: ["letters", "tables"] });
    expect(await tools.instructions()).toBe("# Skill: letters\n\nBe short.\n\n# Skill: tables\n\nBe careful.");
    expect(await tools.detach("tables")).toBe(true);
    expect(await tools.detach("tables")).toBe(false);
    expect(await tools.instructions()).toBe("# Skill: letters\n\nBe short.");
    expect((await tools.call({ name: "drop", arguments: to })).outcome).toMatchObject({ status: "denied" });
  });

  it("are refused by name when they do not exist, and for a sub-agent", async () => {
    await using at = await runtimeFixture(open, [
      {
        ...{ name: "ask", description: "Asks.", risk: "safe", effects: "read", idempotent: true },
        input: { type: "object" },
        execute: () => openAgentTools(at.runtime, { skills: ["tables"] }).list().length,
      },
    ]);
    expect(() => openAgentTools(at.runtime, { skills: ["nope"] })).toThrow(/no skill `nope`|no skill "nope"/);
    await using bare = await createRuntime();
    expect(() => openAgentTools(bare, { skills: ["letters"] })).toThrow(/no folder for skills/);
    await using tools = openAgentTools(at.runtime, { principal });
    expect((await tools.call({ name: "ask" })).text).toContain("cannot have `skills` (tables)");
  });
});

describe("a skill that the agent activates itself", () => {
  const wide = defineSkill({ name: "wide", instructions: "Do all.", allowedTools: ["*"] });
  const short = defineSkill({ name: "short", instructions: "Be short.", allowedTools: ["mail"] });
  const both: RuntimeOptions = { ...open, skills: { folders: [], skills: [wide, short, tables, letters] } };
  const run = { tenant: "default", agent: "bot", runId: "run-1" };
  const choose = { name: "skills", arguments: { action: "activate", name: "wide" } };

  it.each([
    ["memory", {}],
    ["sqlite", { store: `sqlite:${join(folder, "skills.db")}` }],
  ])("lifts nothing that an attached skill restricts, also after a restart (%s)", async (_, store) => {
    {
      await using at = await runtimeFixture({ ...both, ...store });
      await using tools = openAgentTools(at.runtime, { principal, runId: "run-1", skills: ["letters"] });
      expect((await tools.call(choose)).text).toContain("can be called now, if `letters` allows them too: *");
      expect((await tools.call({ name: "drop", arguments: to })).outcome).toMatchObject({
        refusal: { code: "permission_denied", message: expect.stringContaining("`letters`") },
      });
      expect((await tools.call({ name: "mail", arguments: to })).outcome).toMatchObject({ status: "ok" });
      expect(tools.list().map(({ name }) => name)).not.toContain("drop");
      if (!("store" in store)) return;
    }
    await using at = await runtimeFixture({ ...both, ...store });
    expect(at.runtime.skills?.active(run)).toEqual(["letters", "wide"]);
    expect(await at.runtime.invoke({ tool: "drop", arguments: to }, { principal, runId: "run-1" })).toMatchObject({
      status: "denied",
    });
  });

  it("narrows what the attached skills allow", async () => {
    await using at = await runtimeFixture(both);
    await using tools = openAgentTools(at.runtime, { principal, runId: "run-1", skills: ["tables"] });
    await tools.call({ name: "skills", arguments: { action: "activate", name: "short" } });
    expect((await tools.call({ name: "drop", arguments: to })).outcome).toMatchObject({ status: "denied" });
    expect((await tools.call({ name: "mail", arguments: to })).outcome).toMatchObject({ status: "ok" });
  });

  it("lifts nothing in a run of the product's own loop", async () => {
    await using at = await runtimeFixture(both);
    const model = scriptedModel([{ uses: [choose] }, { uses: [{ name: "drop", arguments: to }] }, { text: "Done." }]);
    const agent = createAgent({ runtime: at.runtime, model, principal, skills: ["letters"] });
    expect(await agent.run({ prompt: "Go.", runId: "run-1" })).toMatchObject({ status: "done" });
    expect(at.runtime.skills?.active(run)).toEqual(["letters", "wide"]);
    expect(at.ran).toEqual([]);
  });

  it("lifts nothing over HTTP in a run that the operator holds to a skill", async () => {
    await using at = await runtimeFixture(both);
    await using http = await httpFixture(at.runtime);
    const held = { as: "operator", body: { run_id: "run-1" } } as const;
    expect((await http.ask("/v1/skills/letters/activate", held)).status).toBe(200);
    const call = (tool: string, args: object) =>
      http.ask("/v1/calls", { as: "agent", body: { tool, arguments: args, run_id: "run-1" } });
    expect((await call("skills", { action: "activate", name: "wide" })).status).toBe(200);
    expect((await call("drop", to)).status).toBe(403);
    expect((await call("mail", to)).status).toBe(200);
  });

  it("counts as attached once the host activates it too", async () => {
    await using at = await runtimeFixture(both);
    const { skills } = at.runtime;
    await at.runtime.invoke({ tool: "skills", arguments: choose.arguments }, { principal, runId: "run-1" });
    await skills?.activate(run, "letters");
    const drop = () => at.runtime.invoke({ tool: "drop", arguments: to }, { principal, runId: "run-1" });
    expect((await drop()).status).toBe("denied");
    await skills?.activate(run, "wide");
    expect((await drop()).status).toBe("ok");
  });
});

describe("skills that the operator attached to an agent", () => {
  const attached: RuntimeOptions = { ...open, skills: { ...skills, agents: { bot: ["letters"] } } };

  it("restrict every run of it, and no other agent", async () => {
    await using at = await runtimeFixture(attached);
    for (const runId of ["run-1", "a-run-it-named-itself"]) {
      expect(at.runtime.offered(principal, runId).map(({ tool }) => tool)).not.toContain("drop");
      const outcome = await at.runtime.invoke({ tool: "drop", arguments: to }, { principal, runId });
      expect(outcome).toMatchObject({ status: "denied", refusal: { code: "permission_denied" } });
      expect(outcome.text).toContain("skill `letters`");
    }
    const other = { tenant: "default", agent: "other" };
    expect(await at.runtime.invoke({ tool: "drop", arguments: to }, { principal: other })).toMatchObject({
      status: "ok",
    });
  });

  it("are not widened by a skill that the agent activates, and stay when that is detached", async () => {
    await using at = await runtimeFixture(attached);
    await using tools = openAgentTools(at.runtime, { principal, runId: "run-1", skills: ["tables"] });
    expect((await tools.call({ name: "drop", arguments: to })).outcome).toMatchObject({ status: "denied" });
    expect((await tools.call({ name: "mail", arguments: to })).outcome).toMatchObject({ status: "ok" });
    expect(await tools.instructions()).toBe("# Skill: letters\n\nBe short.\n\n# Skill: tables\n\nBe careful.");
    expect(await tools.detach("letters")).toBe(false);
    expect((await tools.call({ name: "drop", arguments: to })).outcome).toMatchObject({ status: "denied" });
  });

  it("restrict clients that use the agent's token", async () => {
    await using at = await runtimeFixture({ ...open, skills: { ...skills, agents: { "local-agent": ["letters"] } } });
    await using http = await httpFixture(at.runtime);
    const asked = { tool: "drop", arguments: to, run_id: "any" };
    expect((await http.ask("/v1/calls", { as: "agent", body: asked })).status).toBe(403);
    const listed = await (await http.ask("/v1/tools", { as: "agent" })).text();
    expect(listed).toContain('"mail"');
    expect(listed).not.toContain('"drop"');
  });

  it("are in the report of what an agent may use", async () => {
    await using at = await runtimeFixture(attached);
    const lines = at.runtime.policy.effective({ principal })?.lines ?? [];
    expect(lines.find(({ tool }) => tool === "drop")).toMatchObject({ verdict: "DENY" });
    expect(lines.find(({ tool }) => tool === "mail")).toMatchObject({ requestedBy: ["letters", "tables"] });
  });

  it("stop the start when one does not exist", async () => {
    using postern = new CommandLine();
    appendFileSync(`${postern.folder}/postern.yaml`, "skills:\n  agents:\n    bot: [nope]\n");
    const { code, err } = await postern.run("tools");
    expect(code).not.toBe(0);
    expect(err).toContain("`skills.agents` of agent `bot`");
  });
});
