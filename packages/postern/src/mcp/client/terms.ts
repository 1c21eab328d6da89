import { defined, type Risk } from "@postern/core";
import type { RiskGuess } from "../../policy/policy.ts";
import { guessRisk } from "../../policy/risk/guess.ts";
import { annotationsFor } from "../../tools/annotations.ts";
import type { ToolAnnotations } from "../../tools/tool.ts";
import type { ServerConfig } from "./server-config.ts";
import type { UpstreamTool } from "./upstream.ts";

/** The terms under which an upstream tool is registered. */
export interface UpstreamTerms {
  readonly risk: Risk;
  readonly riskSource: "operator" | "declared" | "guess";
  /** A guess for people, while neither the operator nor a trusted server states the risk. */
  readonly guess?: RiskGuess;
  readonly effects: "read" | "write" | "destructive";
  /** Its results may hold untrusted text. */
  readonly openWorld: boolean;
  readonly idempotent: boolean;
  readonly scopes: readonly string[];
  readonly timeoutMs: number | undefined;
  /** Models find it by search. */
  readonly deferLoading: boolean;
  /** The operator's, else the server's own. */
  readonly description: string;
  /** The annotations for clients. */
  readonly annotations: ToolAnnotations;
}

/**
 * The operator decides, then the hints of a trusted server; without either, a tool is `high` and not idempotent, with a guess
 * for people. A hint that a trusted server leaves out has the protocol's default, the worst case: it writes and destroys.
 */
export function termsOf(tool: UpstreamTool, config: ServerConfig): UpstreamTerms {
  const own =
    config.tools !== undefined && Object.hasOwn(config.tools, tool.name) ? config.tools[tool.name] : undefined;
  const hinted = config.trust === "annotations" ? hintsOf(tool) : undefined;
  const stated = own?.risk ?? config.risk;
  const guess = stated === undefined && hinted === undefined ? guessRisk(tool) : undefined;
  const openWorld = own?.openWorld ?? config.openWorld ?? hinted?.openWorld;
  const effects = own?.effects ?? hinted?.effects;
  const terms = {
    openWorld: openWorld ?? true,
    effects: effects ?? "write",
    idempotent: own?.idempotent ?? hinted?.idempotent ?? false,
  };
  return {
    ...terms,
    risk: stated ?? hinted?.risk ?? "high",
    riskSource: stated !== undefined ? "operator" : hinted !== undefined ? "declared" : "guess",
    ...defined({ guess }),
    scopes: own?.scopes ?? [],
    timeoutMs: own?.timeoutMs ?? config.callTimeoutMs,
    deferLoading: own?.defer ?? config.defer ?? false,
    description: own?.description ?? tool.description ?? "",
    annotations: annotationsFor({
      ...terms,
      isClassified: effects !== undefined,
      isOpenWorldStated: openWorld !== undefined,
      hints: tool.annotations,
    }),
  };
}

function hintsOf(tool: UpstreamTool): Pick<UpstreamTerms, "risk" | "effects" | "idempotent" | "openWorld"> {
  const { readOnlyHint = false, destructiveHint, idempotentHint = false, openWorldHint } = tool.annotations ?? {};
  const openWorld = openWorldHint !== false;
  // Read-only and destructive contradict each other, so the worse one counts.
  if (destructiveHint ?? !readOnlyHint)
    return { risk: "critical", effects: "destructive", idempotent: idempotentHint, openWorld };
  return readOnlyHint
    ? { risk: "safe", effects: "read", idempotent: true, openWorld }
    : { risk: "high", effects: "write", idempotent: idempotentHint, openWorld };
}
