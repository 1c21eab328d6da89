import { z } from "@hono/zod-openapi";
import type { Runtime } from "../../face.ts";
import { changesToWire } from "../wire-pins.ts";
import { toolChangesAnswer } from "./answer-schemas.ts";
import { answer, problem } from "./answers.ts";
import { actorOf } from "./decider.ts";
import { reason } from "./fields.ts";
import { nothing, type Route, route } from "./old-route.ts";

interface ApproveFields {
  readonly definition: string;
  readonly reason?: string | undefined;
}

const approveFields: z.ZodType<ApproveFields> = z.strictObject({
  definition: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be the 64 hex digits of the definition that was looked at")
    .openapi({ description: "`offered.definition` of the changes: what was looked at, and nothing that came after." }),
  reason: reason.optional(),
});

/** Whether an upstream tool is still what an operator trusts (D22). */
export const pinRoutes: readonly Route[] = [
  route({
    method: "get",
    path: "/v1/tools/{name}/changes",
    needs: "tools:approve",
    summary: "What a server's tool is defined as, what is trusted, and how the two differ.",
    body: nothing,
    query: nothing,
    answers: toolChangesAnswer,
    run: ({ runtime, part }) => {
      const changes = runtime.pins.changes(part("name"));
      return changes === undefined ? unknownTool(runtime, part("name")) : answer(changesToWire(changes));
    },
  }),
  route({
    method: "post",
    path: "/v1/tools/{name}/approve",
    needs: "tools:approve",
    summary: "Trust the definition that was looked at; the tool can be called again.",
    body: approveFields,
    query: nothing,
    answers: toolChangesAnswer,
    run: async ({ runtime, by, part, body }) => {
      const { definition, reason } = body;
      const approved = await runtime.pins.approve(part("name"), { definition, reason, ...actorOf(by) });
      if (approved.approved) return answer(changesToWire(approved.changes));
      return approved.why === "tool_unknown"
        ? unknownTool(runtime, part("name"))
        : problem(approved.why, approved.message);
    },
  }),
];

function unknownTool(runtime: Runtime, name: string): Response {
  const why = runtime.tools.has(name)
    ? `\`${name}\` comes from no server: its definition is your own, and nothing to approve.`
    : `There is no tool \`${name.slice(0, 200)}\`.`;
  return problem("tool_unknown", why);
}
