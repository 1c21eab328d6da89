/** An agent chooses its run names, so its attached skills restrict all of them. */
import { expect, it } from "vitest";
import { defineSkill, type SkillsOptions } from "../../../packages/postern/src/builtin/index.ts";
import { createRuntime, defineTool, type Runtime } from "../../../packages/postern/src/index.ts";
import { httpFixture } from "../../fakes/http-fixture.ts";

const toolNamed = (name: string) =>
  defineTool({
    ...{ name, description: name, risk: "safe", effects: "read", idempotent: true },
    ...{ input: { type: "object" }, execute: () => name },
  });
const letters = defineSkill({
  name: "letters",
  description: "Writes.",
  allowedTools: ["mail"],
  instructions: "Be short.",
});
const wide = defineSkill({
  name: "wide",
  description: "All.",
  allowedTools: ["mail", "drop"],
  instructions: "Do all.",
});
const runtimeOf = (agents: SkillsOptions["agents"]): Promise<Runtime> =>
  createRuntime({
    tools: [toolNamed("mail"), toolNamed("drop")],
    skills: { folders: [], skills: [letters, wide], ...(agents && { agents }) },
  });

const principal = { tenant: "default", agent: "local-agent", via: "token:agent" };

it("a skill attached to an agent restricts each run that it names", async () => {
  await using runtime = await runtimeOf({ "local-agent": ["letters"] });
  await using http = await httpFixture(runtime, { agentScopes: [] });
  const call = async (tool: string, run_id?: string, as: "agent" | "operator" = "agent"): Promise<number> =>
    (await http.ask("/v1/calls", { as, body: { tool, arguments: {}, ...(run_id !== undefined && { run_id }) } }))
      .status;
  expect([await call("mail"), await call("drop"), await call("drop", "a"), await call("drop", "b")]).toEqual([
    ...[200, 403, 403, 403],
  ]);
  expect(await call("drop", "c", "operator")).toBe(200);
  expect(runtime.offered(principal, "a").map(({ tool }) => tool)).not.toContain("drop");
});

it("an agent cannot widen it with another skill of a run", async () => {
  await using runtime = await runtimeOf({ "local-agent": ["letters"] });
  const context = { principal, runId: "a" };
  const active = await runtime.invoke({ tool: "skills", arguments: { action: "activate", name: "wide" } }, context);
  expect(active.status).toBe("ok");
  const { refusal } = await runtime.invoke({ tool: "drop", arguments: {} }, context);
  expect(refusal).toMatchObject({ code: "permission_denied", message: expect.stringContaining("skill `letters`") });
  const run = { tenant: "default", runId: "a", agent: "local-agent" };
  expect(runtime.skills?.active(run)).toEqual(["letters", "wide"]);
  expect(runtime.skills?.instructions(run)).toContain("Be short.");
});

it("a missing skill stops the start", async () => {
  await expect(runtimeOf({ "local-agent": ["none"] })).rejects.toMatchObject({
    code: "options_invalid",
    message: expect.stringContaining("`skills.agents` of agent `local-agent`: There is no skill"),
  });
});
