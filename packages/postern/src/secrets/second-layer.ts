import {
  type CallEvent,
  type DurableEvent,
  type JsonObject,
  messageOf,
  type Principal,
  type ToolOutcome,
  type Watcher,
} from "@postern/core";
import type { SerializeEvent } from "../store/store.ts";
import type { Suspect } from "./pattern-rules.ts";
import { guessingRedactor, loadPatterns, type SecretPatterns, suspectMark } from "./patterns.ts";
import type { PatternMode, Redactor } from "./secret-store.ts";

/**
 * The second layer: text that looks like a secret is masked where it is written for people, and recorded when it is
 * returned to a caller. A known or a likely secret in the log raises an alarm.
 * Invariant: it only adds to the redactor; it refuses no call, delays none, and a finding in one call does not slow
 * another. Next: patterns.ts (how they are found).
 */

/** @param secrets how many values `clean` masks, if the redactor counts them */
type SerializerWith = (clean: (text: string) => string, secrets: () => number | undefined) => SerializeEvent;

export interface SecondLayer extends AsyncDisposable {
  /** For results that are returned to a caller and kept for replay. */
  readonly answers: Redactor;
  /** For what is written beside the result: the log, the audit, the archive. */
  readonly written: Redactor;
  /** The same serializer, which also masks and records secrets in its text. */
  watched(serializerWith: SerializerWith): SerializeEvent;
  /** Searches results after they were returned. */
  readonly watcher: Watcher;
  /** Call it once, when events can be recorded. It also records earlier findings. */
  recordWith(note: SecretNote): void;
}

export async function openSecondLayer(
  exact: Redactor,
  mode: PatternMode,
  log: (problem: string) => void,
): Promise<SecondLayer> {
  const patterns = mode === "off" ? undefined : await loadPatterns();
  const written = patterns === undefined ? exact : guessingRedactor(exact, patterns);
  const suspicions = new Suspicions(patterns, log);
  return {
    answers: mode === "mask" ? written : exact,
    written,
    watched: (serializerWith) => watched(serializerWith, { exact, patterns, suspicions }),
    watcher: (event) => suspicions.watch(event),
    recordWith: (note) => suspicions.recordWith(note),
    [Symbol.asyncDispose]: () => suspicions.close(),
  };
}

interface SecretWatch {
  readonly exact: Redactor;
  readonly patterns: SecretPatterns | undefined;
  readonly suspicions: Suspicions;
}

function watched(serializerWith: SerializerWith, { exact, patterns, suspicions }: SecretWatch): SerializeEvent {
  let kinds: string[] = [];
  const clean = (text: string): string => {
    const known = exact.redact(text);
    if (known !== text) kinds.push("known secret");
    const suspects = patterns?.suspects(known) ?? [];
    if (patterns === undefined || suspects.length === 0) return known;
    kinds.push(...suspects.map(({ kind }) => kind));
    return patterns.mask(known);
  };
  const serialize = serializerWith(clean, () => exact.learned);
  return (event: DurableEvent): string => {
    if (kinds.length > 0) kinds = [];
    const body = serialize(event);
    if (kinds.length > 0) suspicions.inPayload(event, new Set(kinds));
    return body;
  };
}

/** Records that a secret was found, never its value. */
export type SecretNote = (
  type: string,
  summary: string,
  more: {
    readonly tenant: string;
    readonly principal?: Principal;
    readonly outcome: "failure" | "info";
    readonly data: JsonObject;
  },
) => Promise<void>;

type EndedCallEvent = Extract<CallEvent, { readonly moment: "ended" }>;

const mostWaiting = 1_000;
/** An equal alarm within this time is not raised again. */
const quietMs = 3_600_000;
const mostRemembered = 1_000;
const markStart = suspectMark("").slice(0, -1);
const mark = /\[possible secret: ([a-z0-9 ]{1,60})\]/g;

/**
 * Records findings one after the other, beside the calls. When they come too fast some are dropped and the log says so,
 * so that memory stays bounded.
 */
class Suspicions {
  readonly #patterns: SecretPatterns | undefined;
  readonly #log: (problem: string) => void;
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #raised = new Map<string, number>();
  #note: SecretNote | undefined;
  #working: Promise<void> | undefined;
  /** A finding was dropped since the queue was last empty. */
  #isBehind = false;

  constructor(patterns: SecretPatterns | undefined, log: (problem: string) => void) {
    this.#patterns = patterns;
    this.#log = log;
  }

  recordWith(note: SecretNote): void {
    this.#note = note;
    this.#work();
  }

  /**
   * A result is recorded whether it was returned unchanged or masked. For a result that was kept, only its inline
   * beginning is searched, because that is what was returned and the rest would have to be read again.
   */
  watch(event: CallEvent): void {
    if (event.moment !== "ended" || this.#patterns === undefined) return;
    if (event.as !== "succeeded" && event.as !== "failed") return;
    const text = textOf(event.outcome);
    const suspects = this.#patterns.suspects(text);
    if (suspects.length > 0 || text.includes(markStart))
      this.#later(() => this.#recordSuspicion(event, suspects, text));
  }

  /** Raises one critical alarm for the same tenant, event and kinds. */
  inPayload(event: DurableEvent, kinds: ReadonlySet<string>): void {
    const about = "call" in event ? event.call : undefined;
    const tenant = about?.authority.principal.tenant ?? ("tenant" in event ? event.tenant : undefined) ?? "default";
    const moment = event.moment === "noted" ? event.type : event.moment;
    if (moment.startsWith("alarm.")) return;
    const names = [...kinds].sort();
    const key = `secret_in_payload:${tenant}:${moment}:${names.join(",")}`;
    if (event.at - (this.#raised.get(key) ?? Number.NEGATIVE_INFINITY) < quietMs) return;
    if (this.#raised.size >= mostRemembered) this.#raised.clear();
    this.#raised.set(key, event.at);
    const summary = `A secret (${names.join(", ")}) was in the record of a \`${moment}\`; it was masked before it was written.`;
    const data = { severity: "critical", dedupe_key: key, kinds: names, moment, ...(about && { call: about.id }) };
    this.#later(() => this.#record("alarm.secret_in_payload", summary, { tenant, outcome: "failure", data }));
  }

  /** Pending findings are recorded before the store closes. */
  async close(): Promise<void> {
    await this.#working;
    this.#note = undefined;
  }

  async #recordSuspicion({ call }: EndedCallEvent, suspects: readonly Suspect[], text: string): Promise<void> {
    const kinds = new Map<string, number>();
    const count = (kind: string): void => void kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    for (const { kind } of suspects) count(kind);
    for (const [, kind = ""] of text.matchAll(mark)) count(kind);
    if (kinds.size === 0) return;
    const masked = suspects.length === 0;
    const { principal } = call.authority;
    const counts = [...kinds].map(([kind, times]) => (times === 1 ? kind : `${times} × ${kind}`)).join(", ");
    const summary = `The result of \`${call.tool}\` may hold secrets (${counts})${masked ? "; they were masked" : ""}.`;
    const data = { call: call.id, tool: call.tool, kinds: Object.fromEntries(kinds), masked };
    await this.#record("secret.suspected", summary, { tenant: principal.tenant, principal, outcome: "info", data });
  }

  async #record(...[type, summary, more]: Parameters<SecretNote>): Promise<void> {
    await this.#note?.(type, summary, more).catch((error: unknown) => {
      this.#log(`${summary} This could not be recorded: ${messageOf(error)}`);
    });
  }

  #later(work: () => Promise<void>): void {
    if (this.#waiting.length >= mostWaiting) {
      if (!this.#isBehind) this.#log("Results come faster than they can be looked through for secrets; some are not.");
      this.#isBehind = true;
      return;
    }
    this.#waiting.push(work);
    this.#work();
  }

  #work(): void {
    if (this.#note === undefined || this.#waiting.length === 0) return;
    this.#working ??= this.#drain().finally(() => {
      this.#working = undefined;
      this.#work();
    });
  }

  async #drain(): Promise<void> {
    await Promise.resolve(); // never within the write that is being serialized
    for (let work = this.#waiting.shift(); work !== undefined; work = this.#waiting.shift()) await work();
    this.#isBehind = false;
  }
}

function textOf({ text, structured }: ToolOutcome): string {
  return structured === undefined ? text : `${text}\n${JSON.stringify(structured)}`;
}
