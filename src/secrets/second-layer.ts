/**
 * The second layer: what merely looks like a secret is masked where it is written for people, told where it goes back to
 * a caller, and a secret of either kind in what the log keeps raises an alarm (SPEC 14.9).
 *
 * Invariant: it only adds to what the redactor promises; it refuses no call, waits for nothing on the way of one, and a
 * call is not slower by what was found in another. Next: patterns.ts (what looks like one), suspicions.ts (what is told).
 */
import type { DurableEvent } from "../core/event.ts";
import type { Watcher } from "../core/watcher.ts";
import type { SerializeEvent } from "../store/store.ts";
import { guessingRedactor, loadPatterns, type SecretPatterns } from "./patterns.ts";
import type { PatternMode, Redactor } from "./secret-store.ts";
import { type SecretNote, Suspicions } from "./suspicions.ts";

export interface SecondLayer extends AsyncDisposable {
  /** For what goes back to a caller and is kept to be told again. */
  readonly answers: Redactor;
  /** For what is written beside it: the log, the audit, the archive. */
  readonly written: Redactor;
  /** The same spelling, watched: a secret in it is masked, and somebody is told. */
  watched(spellWith: (clean: (text: string) => string) => SerializeEvent): SerializeEvent;
  /** Looks through results after they have gone. */
  readonly watcher: Watcher;
  /** Told once, when there is a place to record: what was seen before is recorded then. */
  tellBy(note: SecretNote): void;
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
    watched: (spellWith) => watched(spellWith, { exact, patterns, suspicions }),
    watcher: (event) => suspicions.watch(event),
    tellBy: (note) => suspicions.tellBy(note),
    [Symbol.asyncDispose]: () => suspicions.close(),
  };
}

interface SecretWatch {
  readonly exact: Redactor;
  readonly patterns: SecretPatterns | undefined;
  readonly suspicions: Suspicions;
}

function watched(
  spellWith: (clean: (text: string) => string) => SerializeEvent,
  { exact, patterns, suspicions }: SecretWatch,
): SerializeEvent {
  let kinds: string[] = [];
  const spell = spellWith((text) => {
    const known = exact.redact(text);
    if (known !== text) kinds.push("known secret");
    const suspects = patterns?.suspects(known) ?? [];
    if (patterns === undefined || suspects.length === 0) return known;
    kinds.push(...suspects.map(({ kind }) => kind));
    return patterns.mask(known);
  });
  return (event: DurableEvent): string => {
    if (kinds.length > 0) kinds = [];
    const body = spell(event);
    if (kinds.length > 0) suspicions.inPayload(event, new Set(kinds));
    return body;
  };
}
