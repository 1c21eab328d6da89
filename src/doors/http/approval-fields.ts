/** What a decision brings in its body, and what a list of approvals is asked for. */
import { z } from "@hono/zod-openapi";
import type { ZodType } from "zod";
import { largestBatch } from "../../approvals/batch.ts";
import type { Risk } from "../../calls/call.ts";
import type { JsonObject } from "../../calls/json.ts";
import type { ApprovalState } from "../../calls/records.ts";
import type { RememberWire } from "../wire-grants.ts";
import { approvalState, jsonObject, limit, name, type ReasonFields, reason, runId, time } from "./fields.ts";

export interface ApprovalQuery {
  readonly state?: ApprovalState | "decided" | undefined;
  readonly risk?: Risk | undefined;
  readonly tool?: string | undefined;
  readonly run_id?: string | undefined;
  readonly mine?: "true" | "false" | undefined;
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

export const approvalQuery: ZodType<ApprovalQuery> = z.strictObject({
  state: z.union([approvalState, z.literal("decided")]).optional(),
  risk: z.enum(["safe", "medium", "high", "critical"]).optional(),
  tool: name.optional(),
  run_id: runId.optional(),
  mine: z.enum(["true", "false"]).optional(),
  after: name.optional(),
  limit: limit.optional(),
});

export interface NoFields extends ReasonFields {
  readonly expected_digest?: string | undefined;
}

export interface YesFields extends NoFields {
  readonly confirmation?: string | undefined;
  readonly remember?: RememberWire | undefined;
}

export interface ModifyFields extends YesFields {
  readonly arguments: JsonObject;
}

export interface BatchFields extends ReasonFields {
  readonly ids: readonly string[];
  readonly decision: "approved" | "denied" | "skipped";
  readonly expected_digests?: Readonly<Record<string, string>> | undefined;
}

const digest = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits");

export const remember: ZodType<RememberWire> = z
  .strictObject({
    scope: z
      .strictObject({ tool: name.optional(), action: name.optional(), arguments: jsonObject.optional() })
      .optional(),
    for: z.union([z.enum(["run", "session"]), z.strictObject({ until: time })]),
    reason,
  })
  .openapi("Remember");

const no = { reason: reason.optional(), expected_digest: digest.optional() };
const yes = { ...no, confirmation: z.string().max(256).optional(), remember: remember.optional() };

export const noFields: ZodType<NoFields> = z.strictObject(no);
export const yesFields: ZodType<YesFields> = z.strictObject(yes);
export const modifyFields: ZodType<ModifyFields> = z.strictObject({ ...yes, arguments: jsonObject });
export const batchFields: ZodType<BatchFields> = z.strictObject({
  ids: z.array(name).min(1).max(largestBatch),
  decision: z.enum(["approved", "denied", "skipped"]),
  reason: reason.optional(),
  expected_digests: z.record(name, digest).optional(),
});
