import { defined, noOpaqueFields, type Principal, toSnakeCase } from "@postern/core";
import { type BodyOf, policy } from "@postern/core/contract";
import type { Runtime } from "../../runtime/api/api.ts";
import type { Who } from "../credentials.ts";
import type { EditablePolicyFile, PolicyActivated, PolicyReader, PolicyReloaded } from "../policy-reader.ts";
import { decisionToWire, explanationToWire, verdictChangeToWire, verdictGroupsToWire } from "../wire.ts";
import { answered, problem } from "./answers.ts";
import { requestOf, unknownCall } from "./call-routes.ts";
import { actorOf, isOfOwnTenant, visibleCall } from "./caller.ts";
import { type Route, serve } from "./route.ts";

export const policyRoutes: readonly Route[] = serve(policy, {
  show: ({ runtime, by, query: { run_id: runId, autonomy, ...who } }) => {
    const principal = principalOf(by, who);
    const found = runtime.policy.effective({ principal, ...defined({ runId, autonomy }) });
    return {
      policy_version: runtime.policy.version,
      lines: toSnakeCase(found?.lines, noOpaqueFields) ?? null,
      unknown_requests: found?.unknownRequests ?? [],
      warnings: runtime.policy.warnings(),
    };
  },
  explain: async ({ runtime, by, body }) => explanationToWire(await explain(runtime, by, body)),
  explainCall: async ({ runtime, by, part }) => {
    const seen = await visibleCall(runtime, by, part("id"));
    const explanation = seen && (await runtime.policy.explainCall(seen.key));
    return explanation === undefined ? unknownCall(part("id")) : explanationToWire(explanation);
  },
  simulate: ({ runtime, by, body: { configuration, run_id: runId, ...where }, policies }) =>
    reading(policies, async (read) => {
      const edited = (await read.policy(configuration)).policy;
      const { tenant } = by.principal;
      const found = await runtime.policy.simulate(edited, { ...where, ...defined({ runId }), tenant });
      return {
        before_version: found.before,
        after_version: found.after,
        replayed: found.replayed,
        unknown_tools: found.unknownTools,
        past_is_cut: found.pastIsCut,
        changes: found.changes.map(verdictChangeToWire),
        groups: verdictGroupsToWire(found.groups),
        waiting: { ...found.waiting, is_cut: found.waiting.isCut, groups: verdictGroupsToWire(found.waiting.groups) },
        warnings: runtime.policy.warnings(edited),
      };
    }),
  test: ({ runtime, body: { configuration, tables = [] }, policies }) =>
    reading(policies, async (read) => {
      const edited = await read.policy(configuration);
      const others = await Promise.all(tables.map((table) => read.tests(table)));
      const results = runtime.policy.test(edited.policy, [...edited.tests, ...others.flat()], edited.autonomy);
      return {
        passed: results.every(({ passed }) => passed),
        results: results.map((one) => ({ ...one, decision: one.decision && decisionToWire(one.decision) })),
        warnings: runtime.policy.warnings(edited.policy),
      };
    }),
  text: async ({ by, policies }) => {
    // The file is the operator's whole text: rules, names and comments of every tenant.
    if (!isOfOwnTenant(by))
      return problem("permission_missing", "The policy's text is for people of the installation's own tenant.");
    if (policies?.file === undefined) return noFile();
    const { whyNot, ...document } = await policies.file.read();
    return { ...document, editable: whyNot === undefined, why_not: whyNot };
  },
  save: ({ runtime, by, body: { text, expected_digest: expectedDigest, reason, activate }, policies }) => {
    const file = policies?.file;
    if (file === undefined) return noFile();
    const author = { by: actorOf(by), reason };
    return answered(async () => {
      const change = { text, expectedDigest, ...(activate === true && { activate: author }) };
      const saved = await file.save(change, ({ name, before, after }) =>
        runtime.note("operator.action.policy_saved", `The policy in \`${name}\` is replaced`, {
          ...actorOf(by),
          outcome: "info",
          data: { file: name, before, after, ...defined({ reason }) },
        }),
      );
      if (!saved.saved) return problem(saved.why, saved.message);
      const { name, digest, kept, activated } = saved;
      return { name, digest, kept, in_force: activated && activatedToWire(activated) };
    }, refusedPolicy);
  },
  reload: ({ by, body: { reason }, policies }) => inForce(policies, (file) => file.reload({ by: actorOf(by), reason })),
  activate: ({ by, body: { configuration, reason }, policies }) =>
    inForce(policies, (file) => file.activate(configuration, { by: actorOf(by), reason })),
});

async function inForce(
  policies: PolicyReader | undefined,
  then: (file: EditablePolicyFile) => Promise<PolicyReloaded>,
) {
  const file = policies?.file;
  if (file === undefined) return noFile();
  return answered(async () => {
    const reloaded = await then(file);
    if (!reloaded.reloaded) return problem("policy_elsewhere", reloaded.message);
    return { name: reloaded.name, ...activatedToWire(reloaded) };
  }, refusedPolicy);
}

function activatedToWire({ before, after, changes, restart }: PolicyActivated) {
  return { before_version: before, after_version: after, changes, restart };
}

/** By default the agent that has the data folder's own token. */
function principalOf(
  by: Who,
  { agent = "local-agent", user }: Pick<BodyOf<typeof policy.explain>, "agent" | "user">,
): Principal {
  return { tenant: by.principal.tenant, agent, ...defined({ user }) };
}

function explain(runtime: Runtime, by: Who, body: BodyOf<typeof policy.explain>): ReturnType<Runtime["explain"]> {
  const { tool, action = "default", scopes, run_id: runId, autonomy } = body;
  const found = runtime.offered().find((one) => one.tool === tool && one.name === action);
  return runtime.explain(requestOf(body), {
    principal: principalOf(by, body),
    scopes: scopes ?? found?.facts.scopes ?? [],
    ...defined({ runId, autonomy }),
  });
}

async function reading<Answer>(
  policies: PolicyReader | undefined,
  then: (read: PolicyReader) => Promise<Answer>,
): Promise<Answer | Response> {
  if (policies === undefined)
    return problem("policy_reading_off", "This Postern was started without a reader of policies.");
  return answered(() => then(policies), refusedPolicy);
}

/** A mistake in the policy is a problem of the request, not a bug. */
function refusedPolicy(code: string): "policy_refused" | undefined {
  return code === "policy_invalid" ? "policy_refused" : undefined;
}

function noFile(): Response {
  return problem("policy_file_off", "This Postern was started without a configuration file; there is no text to show.");
}
