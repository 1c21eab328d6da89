import { z } from "@hono/zod-openapi";
import type { Autonomy } from "../../calls/call.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { Runtime } from "../../face.ts";
import type { Who } from "../credentials.ts";
import type { NamedText, PolicyReader } from "../policy-reader.ts";
import { policyToWire, simulationToWire, testToWire } from "../wire-policy.ts";
import { explanationToWire } from "../wire-tools.ts";
import { explanationAnswer } from "./answer-schemas.ts";
import { answer, answered, problem } from "./answers.ts";
import { unknownCall } from "./call-routes.ts";
import { autonomy, jsonObject, name, runId } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";
import { policyAnswer, simulationAnswer, testAnswer } from "./policy-schemas.ts";
import { visibleCall } from "./visible.ts";

interface Whose {
  readonly agent?: string | undefined;
  readonly user?: string | undefined;
  readonly run_id?: string | undefined;
  readonly autonomy?: Autonomy | undefined;
}
const whose = {
  agent: name.optional(),
  user: name.optional(),
  run_id: runId.optional(),
  autonomy: autonomy.optional(),
};
const whoseQuery: z.ZodType<Whose> = z.strictObject(whose);

interface ExplainFields extends Whose {
  readonly tool: string;
  readonly action?: string | undefined;
  readonly arguments?: JsonObject | undefined;
  readonly scopes?: readonly string[] | undefined;
}
const explainFields: z.ZodType<ExplainFields> = z.strictObject({
  ...whose,
  tool: name,
  action: name.optional(),
  arguments: jsonObject.optional(),
  scopes: z.array(name).max(256).optional(),
});

const namedText: z.ZodType<NamedText> = z.strictObject({ name, text: z.string().max(1024 * 1024) });

interface SimulateFields {
  readonly configuration: NamedText;
  readonly tool?: string | undefined;
  readonly run_id?: string | undefined;
  readonly limit?: number | undefined;
}
const simulateFields: z.ZodType<SimulateFields> = z.strictObject({
  configuration: namedText,
  tool: name.optional(),
  run_id: runId.optional(),
  limit: z.number().int().min(1).max(10_000).optional(),
});

interface TestFields {
  readonly configuration: NamedText;
  readonly tables?: readonly NamedText[] | undefined;
}
const testFields: z.ZodType<TestFields> = z.strictObject({
  configuration: namedText,
  tables: z.array(namedText).max(100).optional(),
});

/** The policy that decides here, and others held against it. Nothing is run, nothing is written. */
export const policyRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/policy",
    needs: "policy:read",
    summary: "What is so for each tool, by which rule, for one principal; and what in the policy nobody meant.",
    body: nothing,
    query: whoseQuery,
    answers: policyAnswer,
    run: ({ runtime: { policy }, by, query }) =>
      answer(
        policyToWire(
          policy.version,
          policy.effective({
            principal: principalOf(by, query),
            ...(query.run_id !== undefined && { runId: query.run_id }),
            ...(query.autonomy !== undefined && { autonomy: query.autonomy }),
          }),
          policy.warnings(),
        ),
      ),
  }),
  route({
    method: "post",
    path: "/v1/policy/explain",
    needs: "policy:read",
    summary: "What would be decided about a call of anybody, and every rule that shaped it. Nothing is run.",
    body: explainFields,
    query: nothing,
    answers: explanationAnswer,
    run: async ({ runtime, by, body }) => answer(explanationToWire(await explain(runtime, by, body))),
  }),
  route({
    method: "get",
    path: "/v1/calls/{id}/explanation",
    needs: "policy:read",
    summary: "What would be decided today about a recorded call, with the authority it had. Nothing is run.",
    body: nothing,
    query: nothing,
    answers: explanationAnswer,
    run: async ({ runtime, by, part }) => {
      const seen = await visibleCall(runtime, by, part("id"));
      const explanation = seen && (await runtime.policy.explainCall(seen.key));
      return explanation === undefined ? unknownCall(part("id")) : answer(explanationToWire(explanation));
    },
  }),
  route({
    method: "post",
    path: "/v1/policy/simulate",
    needs: "policy:read",
    summary: "Puts the last recorded calls to another policy; tells whose verdict changes, and why.",
    body: simulateFields,
    query: nothing,
    answers: simulationAnswer,
    run: (asked) => reading(asked, simulated),
  }),
  route({
    method: "post",
    path: "/v1/policy/test",
    needs: "policy:read",
    summary: "Asks a policy its expectations: those beside it, and those of other tables.",
    body: testFields,
    query: nothing,
    answers: testAnswer,
    run: (asked) => reading(asked, tested),
  }),
];

/** The agent's own token when nobody is named. */
function principalOf(by: Who, { agent = "local-agent", user }: Whose) {
  return { tenant: by.principal.tenant, agent, ...(user !== undefined && { user }) };
}

function explain(runtime: Runtime, by: Who, fields: ExplainFields): ReturnType<Runtime["explain"]> {
  const { tool, action = "default", arguments: given = {}, run_id, autonomy: level } = fields;
  const found = runtime.offered().find((one) => one.tool === tool && one.name === action);
  return runtime.explain(
    { tool, action, arguments: given },
    {
      principal: principalOf(by, fields),
      scopes: fields.scopes ?? found?.facts.scopes ?? [],
      ...(run_id !== undefined && { runId: run_id }),
      ...(level !== undefined && { autonomy: level }),
    },
  );
}

async function simulated(
  { runtime: { policy }, by, body }: Asked<SimulateFields, unknown>,
  read: PolicyReader,
): Promise<object> {
  const edited = (await read.policy(body.configuration)).policy;
  const simulation = await policy.simulate(edited, {
    tenant: by.principal.tenant,
    ...(body.tool !== undefined && { tool: body.tool }),
    ...(body.run_id !== undefined && { runId: body.run_id }),
    ...(body.limit !== undefined && { limit: body.limit }),
  });
  return simulationToWire(simulation, policy.warnings(edited));
}

async function tested({ runtime: { policy }, body }: Asked<TestFields, unknown>, read: PolicyReader): Promise<object> {
  const edited = await read.policy(body.configuration);
  const tables = await Promise.all((body.tables ?? []).map((table) => read.tests(table)));
  const expectations = [...edited.tests, ...tables.flat()];
  return testToWire(policy.test(edited.policy, expectations, edited.autonomy), policy.warnings(edited.policy));
}

async function reading<Body>(
  asked: Asked<Body, unknown>,
  verb: (asked: Asked<Body, unknown>, read: PolicyReader) => Promise<object>,
): Promise<Response> {
  const { policies } = asked;
  if (policies === undefined)
    return problem("policy_reading_off", "This Postern was started without a reader of policies.");
  return answered(async () => answer(await verb(asked, policies)), refusedPolicy);
}

/** A policy with a mistake is what was asked about, not a bug. */
export function refusedPolicy(code: string): "policy_refused" | undefined {
  return code === "policy_invalid" ? "policy_refused" : undefined;
}
