import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { text, when, whole } from "./answer-fields.ts";

/** Good answers of the routes that screens are made of, as the OpenAPI document shows them. */

export const statisticsAnswer: ZodType = z
  .object({
    since: when.optional(),
    tools: z.array(
      z.object({
        tool: text,
        action: text,
        calls: whole,
        errors: whole,
        unknown: whole,
        refused: whole,
        p50_ms: z.number().optional(),
        p95_ms: z.number().optional(),
        last_call_at: when.optional(),
        last_error_at: when.optional(),
        last_error_code: text.optional(),
      }),
    ),
    minutes: z.array(
      z.object({
        at: when,
        ok: whole,
        failed: whole,
        refused: whole,
        unknown: whole,
        previewed: whole,
        asked: whole,
      }),
    ),
  })
  .openapi("Statistics");
