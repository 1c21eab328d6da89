import { z } from "@hono/zod-openapi";
import { verdicts } from "../../calls/risk.ts";
import { decisionReason, risk, text, when } from "./fields.ts";
import { refusal } from "./outcome.ts";
import type { Shape } from "./route.ts";

const verdict = z.enum([...verdicts, "DENY"]).openapi("Verdict");
export type Verdict = Shape<typeof verdict>;

export const decision = z
  .object({
    verdict,
    risk,
    reasons: z.array(decisionReason),
    policy_version: text,
    missing_scope: text.optional(),
    observed: verdict.optional().openapi({ description: "In mode `observe`: the verdict that would be enforced." }),
    grant_id: text.optional().openapi({ description: "The grant that answers for a person." }),
  })
  .openapi("Decision");
export type Decision = Shape<typeof decision>;

const recorded = z.object({
  edited: z.object({ asked_digest: text, digest: text }).optional(),
  weighed: z
    .object({
      at: when,
      verdict: text,
      risk: text,
      reasons: z.array(z.object({ rule: text, says: text, where: text.optional() })),
      policy_version: text,
      grant_id: text.optional(),
    })
    .optional()
    .openapi({ description: "The decision when the call began or was asked about." }),
});

/** What would be decided about a call; or why it does not get that far, with the decision if there was one. */
export const explanation = z
  .discriminatedUnion("reached", [
    z.object({
      reached: z.literal("verdict"),
      decision,
      facts: z.object({
        tool: text,
        action: text,
        server: text.optional(),
        risk,
        risk_source: z.enum(["declared", "operator", "default", "guess"]),
        effects: z.enum(["read", "write", "destructive"]),
        scopes: z.array(text),
        permissions: z.array(text),
      }),
      summary: text.optional(),
      recorded: recorded.optional(),
    }),
    z.object({
      reached: z.literal("refused"),
      refusal,
      decision: decision.optional(),
      recorded: recorded.optional(),
    }),
  ])
  .openapi("Explanation");
export type Explanation = Shape<typeof explanation>;
