import type { Clock } from "@postern/core";
import { z } from "zod";
import { type NatsLink, streams } from "./nats.ts";
import { subjects } from "./workers.ts";

/** Why a message was refused. */
export type DeadReason =
  | "unsealed"
  | "other_version"
  | "unknown_key"
  | "forged"
  | "unreadable"
  | "other_group"
  | "replayed"
  | "expired"
  | "tool_unknown"
  | "definition_differs"
  | "late"
  | "other_call";

/** A message that was refused. It has names, never arguments or results. */
export interface RefusedMessage {
  readonly message: "order" | "answer" | "beat";
  readonly reason: DeadReason;
  readonly group: string;
  /** Who refused it: a worker's or a gateway's public key. */
  readonly refusedBy: string;
  /** Whose key signed it, by its name; undefined if no known key did. */
  readonly from?: string;
  readonly tool?: string;
  readonly callId?: string;
}

const letterSchema = z.object({
  message: z.enum(["order", "answer", "beat"]),
  reason: z.string(),
  ...{ group: z.string(), refusedBy: z.string() },
  ...{ from: z.string().exactOptional(), tool: z.string().exactOptional(), callId: z.string().exactOptional() },
});

/** A letter as it is listed: another version may know more reasons. */
export type ListedLetter = z.output<typeof letterSchema> & { readonly at: string };

/** Keeps it in the list of NATS: the last 1,000, for seven days. */
export async function keepDeadLetter(link: NatsLink, letter: RefusedMessage): Promise<void> {
  await link.store(subjects.dead(letter.group), JSON.stringify(letter), {});
}

export function readDeadLetter(text: string): z.output<typeof letterSchema> | undefined {
  try {
    return letterSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // a program that may write into NATS may write anything there
  }
}

/** Newest first. */
export async function listDeadLetters(link: NatsLink): Promise<readonly ListedLetter[]> {
  const letters: ListedLetter[] = [];
  for await (const { text, at } of link.stored(streams.dead, subjects.everyDead)) {
    const letter = readDeadLetter(text);
    if (letter !== undefined) letters.unshift({ ...letter, at: new Date(at).toISOString() });
  }
  return letters;
}

/** Refused messages that are written to the audit log in a minute. All of them are in the list of NATS. */
const mostNotes = 20;
const minuteMs = 60_000;

export interface GatewayLettersOptions {
  readonly link: NatsLink;
  readonly clock: Clock;
  /** The public key of this gateway. */
  readonly refusedBy: string;
  readonly note: (type: string, summary: string, failed: boolean, data: { readonly [name: string]: string }) => void;
}

/** The gateway's part: keeps what it refuses, and records in the audit log what anyone refused. */
export class GatewayLetters {
  readonly #options: GatewayLettersOptions;
  /** Monotonic milliseconds. */
  #minute = Number.NEGATIVE_INFINITY;
  #notes = 0;
  /** Beats come each second: one of a kind is enough. */
  readonly #beats = new Set<string>();

  constructor(options: GatewayLettersOptions) {
    this.#options = options;
  }

  keep(letter: Omit<RefusedMessage, "refusedBy">): void {
    const { link, refusedBy } = this.#options;
    this.#countFromHere();
    const kind = `${letter.group} ${letter.reason} ${letter.from}`;
    if (letter.message === "beat" && this.#beats.has(kind)) return;
    if (letter.message === "beat") this.#beats.add(kind);
    void keepDeadLetter(link, { ...letter, refusedBy });
  }

  note(text: string): void {
    const letter = readDeadLetter(text);
    if (letter === undefined) return;
    this.#countFromHere();
    this.#notes += 1;
    if (this.#notes > mostNotes) return;
    const { message, reason, group, from, callId } = letter;
    const named = { ...(from !== undefined && { from }), ...(callId !== undefined && { call_id: callId }) };
    const summary = `${message} of group ${group} refused: ${reason}`;
    this.#options.note("worker.message_refused", summary, true, { message, reason, group, ...named });
  }

  #countFromHere(): void {
    const now = this.#options.clock.monotonic();
    if (now - this.#minute < minuteMs) return;
    this.#minute = now;
    this.#notes = 0;
    this.#beats.clear();
  }
}
