import type { ToolFacts } from "../policy/policy.ts";
import { type ActionDraft, stated } from "./facts.ts";
import type { ToolAnnotations } from "./tool.ts";

interface KnownFacts {
  readonly effects: ToolFacts["effects"];
  readonly idempotent: boolean;
  readonly openWorld: boolean;
  /** The operator or the author has said what it does; else `effects` is a default. */
  readonly isClassified: boolean;
  /** The operator or the author has said whose words its results carry. */
  readonly isOpenWorldStated: boolean;
  /** What its server says. */
  readonly hints?: ToolAnnotations | undefined;
}

/**
 * What clients are told. What the operator said comes first, a server's own warning stays, and nothing says that a tool
 * destroys nothing when nobody has classified it.
 */
export function annotationsFor(known: KnownFacts): ToolAnnotations {
  const { effects, idempotent, openWorld, isClassified, isOpenWorldStated, hints = {} } = known;
  const readOnlyHint = isClassified ? effects === "read" : hints.readOnlyHint;
  const warns = effects === "destructive" || hints.destructiveHint === true;
  const destructiveHint = warns ? true : isClassified ? false : undefined;
  const openWorldHint = isOpenWorldStated ? openWorld : hints.openWorldHint;
  return Object.freeze({
    ...(readOnlyHint !== undefined && { readOnlyHint }),
    ...(destructiveHint !== undefined && { destructiveHint }),
    idempotentHint: idempotent,
    ...(openWorldHint !== undefined && { openWorldHint }),
  });
}

/** Of a tool that says nothing of it itself: from what its author and the operator said. */
export function declaredAnnotations(draft: ActionDraft, facts: ToolFacts, idempotent: boolean): ToolAnnotations {
  const { over } = draft;
  const saidEffects = over.effects ?? stated(draft, "effects");
  return annotationsFor({
    ...{ effects: facts.effects, idempotent, openWorld: facts.openWorld === true },
    isClassified: saidEffects !== undefined || facts.risk === "safe", // an author who says `safe` says that it reads
    isOpenWorldStated: (over.openWorld ?? stated(draft, "openWorld")) !== undefined,
  });
}
