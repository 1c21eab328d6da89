/** Reads a step from a frame. Each field is checked by its type, and other fields are dropped. */

import { isJsonObject, type Json, type JsonObject } from "@postern/core";
import type { ScriptStep } from "@postern/core/sandbox";
import { z } from "zod";
import { ProtocolBroken } from "./frames.ts";

const mostEntries = 10_000;
const name = z.string().min(1).max(256);
/** A wrong number is dropped: it is only shown to people. */
const line = z.int().positive().optional().catch(undefined);
/** Without a right number, the script's timers stand still while it waits for calls. */
const timerMs = z.number().nonnegative().optional().catch(undefined);
const printed = z
  .array(z.object({ stream: z.enum(["out", "error"]).catch("out"), text: z.string() }))
  .max(mostEntries)
  .optional();

const call = z.object({
  place: z.int().nonnegative(),
  kind: z.enum(["call", "help", "materialize", "artifact", "progress"]).optional(),
  tool: name,
  action: name.optional(),
  arguments: z.custom<JsonObject>(isJsonObject),
  cutBytes: z.number().optional(),
  line,
});

const step = z.discriminatedUnion("step", [
  z.object({ step: z.literal("calls"), calls: z.array(call).max(mostEntries), timerMs, printed }),
  z.object({ step: z.literal("done"), value: z.custom<Json>(() => true).optional(), printed }),
  z.object({
    step: z.literal("failed"),
    why: z.enum(["script", "cpu", "memory", "output", "deadlock", "crash", "protocol", "wall", "unsupported"]),
    message: z.string(),
    line,
    printed,
  }),
]);

/** @throws ProtocolBroken when it is no step */
export function readStep(frame: JsonObject): ScriptStep {
  const read = step.safeParse(frame);
  if (read.success) return read.data as ScriptStep; // a member that is undefined is read as one that is absent
  const [problem] = read.error.issues;
  const where = problem?.path.join(".").slice(0, 200) ?? "";
  throw new ProtocolBroken(`A frame is no step of a script: \`${where}\` is wrong (${problem?.message ?? ""}).`);
}
