import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { text } from "./answer-fields.ts";
import { decided, principal, reason, risk, verdict } from "./answer-schemas.ts";

const warnings = z.array(
  z.object({ code: text, rule: text.optional(), message: text, where: text.optional() }).openapi("PolicyWarning"),
);

export const policyAnswer: ZodType = z
  .object({
    policy_version: text,
    lines: z
      .array(
        z.object({
          tool: text,
          action: text,
          server: text.optional(),
          risk,
          verdict,
          by: reason,
          depends: z.array(reason),
          requested_by: z.array(text),
        }),
      )
      .nullable(),
    unknown_requests: z.array(z.object({ skill: text, tool: text })),
    warnings,
  })
  .openapi("EffectivePolicy");

export const simulationAnswer: ZodType = z
  .object({
    before_version: text,
    after_version: text,
    replayed: z.number().int(),
    unknown_tools: z.record(text, z.number().int()),
    past_is_cut: z.boolean(),
    changes: z.array(
      z.object({
        call_id: text,
        tool: text,
        action: text,
        requested_by: principal,
        run_id: text,
        at: text.openapi({ format: "date-time" }),
        arguments: z.record(text, z.unknown()),
        edited: z.literal(true).optional().openapi({ description: "A person had changed what was sent: these ran." }),
        before: decided,
        after: decided,
      }),
    ),
    warnings,
  })
  .openapi("Simulation");

export const testAnswer: ZodType = z
  .object({
    passed: z.boolean(),
    results: z.array(
      z.object({
        name: text,
        where: text.optional(),
        passed: z.boolean(),
        expected: verdict,
        decision: decided.optional(),
        problem: text.optional(),
      }),
    ),
    warnings,
  })
  .openapi("PolicyTest");
