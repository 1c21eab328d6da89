import fc from "fast-check";
import { expect, it } from "vitest";
import { autonomies } from "../../packages/core/src/risk.ts";
import { defineSkill } from "../../packages/postern/src/builtin/index.ts";
import type { CallContext } from "../../packages/postern/src/index.ts";
import { createPolicy, type Policy, type PolicyOptions } from "../../packages/postern/src/policy/index.ts";
import { ann, mail } from "../fakes/deciders.ts";
import { forRun, remember } from "../fakes/granting.ts";
import { type RuntimeFixture, runtimeFixture } from "../fakes/runtime-fixture.ts";

const letters = defineSkill({ name: "letters", instructions: "Be short.", allowedTools: ["mail"] });
const scopes = ["mail:write", "mail:read"];
const runId = "run_1";
const operator = { by: "ann", via: "session:1" };

interface Scene extends RuntimeFixture {
  context: CallContext;
}
type Step = (scene: Scene) => Promise<unknown>;

/** What an operator, an agent or a caller may do between two calls. */
const steps: Readonly<Record<string, fc.Arbitrary<Step>>> = {
  call: fc.tuple(fc.constantFrom("echo", "mail", "drop"), fc.constantFrom("ada", "everyone", "eve")).map(
    ([tool, to]): Step =>
      async ({ runtime, context }) => {
        for (let times = 0; times < 2; times += 1) await runtime.invoke({ tool, arguments: { to } }, context);
      },
  ),
  level: fc.constantFrom(...autonomies).map(
    (level) =>
      ({ runtime }) =>
        runtime.controls.setAutonomy(level, operator),
  ),
  tool: fc.tuple(fc.constantFrom("echo", "mail"), fc.boolean()).map(
    ([tool, on]) =>
      ({ runtime }) =>
        runtime.controls.setTool(tool, on, operator),
  ),
  caller: fc
    .record(
      {
        autonomy: fc.constantFrom(...autonomies),
        scopes: fc.subarray(scopes),
        principal: fc.record({ tenant: fc.constant("default"), agent: fc.constantFrom("bot", "other") }),
      },
      { requiredKeys: ["scopes", "principal"] },
    )
    .map((context) => async (scene) => {
      scene.context = { ...context, runId: `${runId}-${context.principal.agent}` };
    }),
  skill: fc.tuple(fc.boolean(), fc.constantFrom("bot", "other")).map(([on, agent]) => ({ runtime }) => {
    const run = { tenant: "default", runId: `${runId}-${agent}` };
    return Promise.resolve(on ? runtime.skills?.activate(run, "letters") : runtime.skills?.deactivate(run, "letters"));
  }),
  grant: fc.boolean().map((on) => async (scene) => {
    const { runtime, context } = scene;
    const { grants } = runtime.approvals;
    if (on) await remember(scene, (await runtime.invoke(mail("ada"), context)).approvalId ?? "", forRun);
    else for (const { id } of grants.list({ state: "live" })) await grants.revoke(id, ann, "enough");
  }),
};

const options: PolicyOptions = {
  rules: [
    { effect: "allow", tool: "drop", principal: { agent: "bot" } },
    { effect: "confirm", tool: "mail", arguments: { "$.to": { like: "eve*" } } },
    { effect: "deny", tool: "echo", principal: { agent: "other" }, risk: "high" },
  ],
};

it("decides each call as if no decision was kept, whatever changes between calls", async () => {
  let kept = 0;
  const differing: unknown[] = [];
  const watched = (): Policy => {
    const policy = createPolicy(options);
    const before = new Set<unknown>();
    return {
      version: policy.version,
      reads: policy.reads,
      offers: (...asked) => policy.offers(...asked),
      decide: (facts) => {
        const decision = policy.decide(facts);
        if (before.has(decision)) kept += 1;
        before.add(decision);
        const fresh = createPolicy(options).decide(facts);
        if (JSON.stringify(decision) !== JSON.stringify(fresh)) differing.push({ facts, decision, fresh });
        return decision;
      },
    };
  };
  const { call = fc.constant(async () => {}), ...changes } = steps;
  const anySteps = fc.array(fc.oneof({ weight: 3, arbitrary: call }, ...Object.values(changes)), {
    minLength: 20,
    maxLength: 40,
  });
  const same = fc.asyncProperty(anySteps, async (taken) => {
    const skills = { folders: [], skills: [letters] };
    await using at = await runtimeFixture({ policy: watched(), skills });
    const context = { scopes, principal: { tenant: "default", agent: "bot" }, runId: `${runId}-bot` };
    const scene: Scene = { ...at, context, [Symbol.asyncDispose]: async () => {} };
    for (const step of taken) await step(scene);
    expect(differing).toEqual([]);
  });
  await fc.assert(same, { numRuns: 40 });
  expect(kept).toBeGreaterThan(50); // else nothing was kept, and nothing compared
});
