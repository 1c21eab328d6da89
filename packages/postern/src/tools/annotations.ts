import { defined } from "@postern/core";
import type { ToolFacts } from "../policy/policy.ts";
import { type ActionDraft, stated } from "./facts.ts";
import type { ToolAnnotations } from "./tool.ts";

interface KnownFacts {
  readonly effects: ToolFacts["effects"];
  readonly idempotent: boolean;
  readonly openWorld: boolean;
  /** The operator or the author stated the effects; else `effects` is a default. */
  readonly isClassified: boolean;
  /** The operator or the author stated whether its results come from outside. */
  readonly isOpenWorldStated: boolean;
  /** The hints of its server. */
  readonly hints?: ToolAnnotations | undefined;
}

/**
 * The hints for MCP clients. What the operator stated comes first, and a server's own warning stays. A tool that is not
 * classified never gets the hint that it destroys nothing.
 */
export function annotationsFor(known: KnownFacts): ToolAnnotations {
  const { effects, idempotent, openWorld, isClassified, isOpenWorldStated, hints = {} } = known;
  const readOnlyHint = isClassified ? effects === "read" : hints.readOnlyHint;
  const warns = effects === "destructive" || hints.destructiveHint === true;
  const destructiveHint = warns ? true : isClassified ? false : undefined;
  const openWorldHint = isOpenWorldStated ? openWorld : hints.openWorldHint;
  return Object.freeze(defined({ readOnlyHint, destructiveHint, idempotentHint: idempotent, openWorldHint }));
}

/** For a tool without hints of its own: from what its author and the operator stated. */
export function declaredAnnotations(draft: ActionDraft, facts: ToolFacts, idempotent: boolean): ToolAnnotations {
  return annotationsFor({
    ...{ effects: facts.effects, idempotent, openWorld: facts.openWorld === true },
    isClassified: stated(draft, "effects") !== undefined || facts.risk === "safe", // `safe` means that it only reads
    isOpenWorldStated: stated(draft, "openWorld") !== undefined,
  });
}
