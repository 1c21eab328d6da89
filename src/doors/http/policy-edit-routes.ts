import { z } from "@hono/zod-openapi";
import type { PolicyFile } from "../policy-file.ts";
import { answer, answered, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { reason } from "./fields.ts";
import { type Asked, nothing, type Route, route } from "./old-route.ts";
import { refusedPolicy } from "./policy-routes.ts";
import { policyDocumentAnswer, policySavedAnswer } from "./screen-schemas.ts";
import { isOfTheHouse } from "./visible.ts";

interface SaveFields {
  readonly text: string;
  readonly expected_digest: string;
  readonly reason?: string | undefined;
}

const saveFields: z.ZodType<SaveFields> = z.strictObject({
  text: z.string().max(1024 * 1024),
  expected_digest: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be the 64 hex digits of the text that was read")
    .openapi({ description: "`digest` of what was read: somebody else's change is not written over." }),
  reason: reason.optional(),
});

/** The policy's own text, in the operator's file. */
export const policyEditRoutes: readonly Route[] = [
  route({
    method: "get",
    needs: "policy:read",
    path: "/v1/policy/text",
    summary:
      "The policy as it lies in the configuration's file now, and whether it may be saved from here. For the installation's own people.",
    body: nothing,
    query: nothing,
    answers: policyDocumentAnswer,
    run: async ({ by, policies }) => {
      // The file is the operator's whole text: rules, names and comments of every tenant.
      if (!isOfTheHouse(by))
        return problem("permission_missing", "The policy's text is for people of the installation's own tenant.");
      if (policies?.file === undefined) return off();
      const { name, text, line, digest, whyNot } = await policies.file.read();
      return answer({ name, text, line, digest, editable: whyNot === undefined, why_not: whyNot });
    },
  }),
  route({
    method: "post",
    needs: "policy:write",
    path: "/v1/policy/save",
    summary: "Write the policy into the configuration's file; the old file is kept. In force from the next start on.",
    body: saveFields,
    query: nothing,
    answers: policySavedAnswer,
    run: async (asked) => (asked.policies?.file === undefined ? off() : save(asked.policies.file, asked)),
  }),
];

function save(file: PolicyFile, { runtime, by, body }: Asked<SaveFields, unknown>): Promise<Response> {
  const change = { text: body.text, expectedDigest: body.expected_digest };
  return answered(async () => {
    const saved = await file.save(change, ({ name, before, after }) =>
      runtime.note("operator.action.policy_saved", `The policy in \`${name}\` is written anew`, {
        ...actorOf(by),
        outcome: "info",
        data: { file: name, before, after, ...(body.reason !== undefined && { reason: body.reason }) },
      }),
    );
    if (!saved.saved) return problem(saved.why, saved.message);
    return answer({ name: saved.name, digest: saved.digest, kept: saved.kept });
  }, refusedPolicy);
}

function off(): Response {
  return problem("policy_file_off", "This Postern was started without a configuration file; there is no text to show.");
}
