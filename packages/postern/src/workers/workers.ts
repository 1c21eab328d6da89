/**
 * Tools that run on other machines. The gateway claims a call, sends it as a signed order over NATS JetStream, and settles
 * it with the signed answer. A worker has no access to the store: only `execute` travels.
 *
 * Invariant: for one claim at most one process ever runs the tool. Before it runs, a worker writes `taken.…`, which is
 * possible once. If the gateway writes it first, the order is withdrawn: it did not run and never will.
 * Next: dispatcher.ts (the gateway's end), worker.ts (the worker's end), placement.ts (which tool runs where), seal.ts
 * (signatures), nats.ts (connection and streams), dead-letters.ts (what was refused).
 */
import { autonomies, isJsonObject, type Json, type JsonObject } from "@postern/core";
import { z } from "zod";

const text = z.string();
const texts = z.array(text).readonly();
const digest = z.string().regex(/^[0-9a-f]{64}$/);
/** It is read from JSON. */
const json = z.custom<Json>((value) => value !== undefined, "is missing");
const objectOfJson = z.custom<JsonObject>((value) => isJsonObject(value as Json), "is no JSON object"); // it was parsed from JSON

const principal = z.object({
  ...{ tenant: text, agent: text },
  ...{ user: text.exactOptional(), groups: texts.exactOptional() },
  ...{ via: text.exactOptional(), owner: text.exactOptional() },
});
const authority = z.object({
  ...{ principal, scopes: texts, runId: text, traceId: text },
  ...{ taskId: text.exactOptional(), stepId: text.exactOptional(), tools: texts.exactOptional() },
  autonomy: z.enum(autonomies).exactOptional(),
});

/** One call, for one group. Times are wall clock milliseconds. */
export const orderSchema = z.object({
  call: z.object({ id: text, tool: text, action: text, arguments: objectOfJson, authority }),
  key: text,
  /** The opening of the store that claimed the call. */
  fence: text,
  /** Digest of the action's definition at the gateway. */
  definition: digest,
  group: text,
  approvalId: text.exactOptional(),
  /** Digests of the artifacts that the arguments name. */
  references: texts,
  inlineBytes: z.number(),
  /** Largest answer, in bytes. */
  answerBytes: z.number(),
  /** When the gateway stops waiting for the answer. */
  deadline: z.number(),
  /** After it, the order may not be begun. */
  expires: z.number(),
  /** Where the worker reads artifacts and sends a large answer, with a token for this call only. */
  artifacts: z.object({ url: text, token: text }).exactOptional(),
});
export type WorkOrder = z.output<typeof orderSchema>;

const failure = z.object({
  ...{ message: text, retryable: z.boolean(), unknown: z.boolean(), notExecuted: z.boolean() },
  ...{ rateLimitResetsAt: z.number().exactOptional(), details: json.exactOptional() },
});

/** `refused`: the worker took the order and did not run it. `kept`: digest of the value, which was sent over HTTP. */
export const answerSchema = z.object({
  ...{ key: text, fence: text, callId: text, group: text },
  end: z.discriminatedUnion("ran", [
    z.object({ ran: z.literal("returned"), value: json }),
    z.object({ ran: z.literal("returned_large"), kept: digest }),
    z.object({ ran: z.literal("threw"), failure }),
    z.object({ ran: z.literal("refused"), reason: text }),
  ]),
});
export type WorkAnswer = z.output<typeof answerSchema>;
export type AnswerEnd = WorkAnswer["end"];

/** What a running tool reports. */
export const progressSchema = z.object({
  ...{ callId: text, group: text },
  progress: z
    .object({
      ...{ content: text, fraction: z.number().exactOptional() },
      count: z.object({ progress: z.number(), total: z.number().exactOptional() }).exactOptional(),
    })
    .exactOptional(),
  emitted: z.object({ type: text, summary: text, data: objectOfJson.exactOptional() }).exactOptional(),
});
export type WorkerProgress = z.output<typeof progressSchema>;

/** A worker says every second that it lives. `start` and `number` show which of two beats is newer. */
export const beatSchema = z.object({
  ...{ group: text, version: text, start: text, number: z.number() },
  /** Definition digests by `tool action`. */
  tools: z.record(text, digest),
  /** How many orders it runs at once. */
  limit: z.number(),
  /** Ids of the calls that it runs. */
  running: texts,
  /** It finishes what runs and takes nothing new. */
  leaving: z.boolean(),
});
export type Beat = z.output<typeof beatSchema>;

export const cancelSchema = z.object({ callId: text, group: text });

/** How often a worker sends a beat, in milliseconds. */
export const beatEveryMs = 1_000;

export function actionName(tool: string, action: string): string {
  return `${tool} ${action}`;
}

/** A part of a subject. Keys and ids have no other characters; a name that has some matches nothing of ours. */
function part(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_");
}

/** Names one run of a call. */
export interface NamedCall {
  /** Undefined if the row does not know it any more: every one fits. */
  readonly fence: string | undefined;
  readonly key: string;
  readonly callId: string;
}

/** Where each message goes. */
export const subjects = {
  orders: (group: string) => `orders.${part(group)}`,
  taken: ({ fence, key, callId }: NamedCall) =>
    `taken.${fence === undefined ? "*" : part(fence)}.${part(key)}.${part(callId)}`,
  takenOf: (fence: string) => `taken.${part(fence)}.>`,
  done: ({ fence, key, callId }: NamedCall) =>
    `done.${fence === undefined ? "*" : part(fence)}.${part(key)}.${part(callId)}`,
  doneOf: (fence: string) => `done.${part(fence)}.>`,
  progress: (fence: string) => `progress.${part(fence)}`,
  cancel: (group: string) => `cancel.${part(group)}`,
  beats: (group: string) => `workers.${part(group)}`,
  everyBeat: "workers.*",
  /** Workers answer it with a beat. */
  report: "report.workers",
  dead: (group: string) => `dead.${part(group)}`,
  everyDead: "dead.*",
} as const;
