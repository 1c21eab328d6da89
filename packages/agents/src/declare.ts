import type { Json } from "@postern/core";
import type { AgentTool } from "./agent-tools.ts";
import { providerSchema } from "./provider-schema.ts";
import { decideStrict, type StrictDecision, type StrictRules } from "./strict.ts";
import { toolSearchName } from "./tool-search.ts";

/** How tools are declared to a provider. */
export interface DeclareOptions {
  /** Request strict mode where a tool's schema allows it. Default: true. */
  readonly strict?: boolean;
  /** Called once for each tool that is left out and for each tool that is not strict. Default: a process warning for the first. */
  readonly onNote?: (note: DeclareNote) => void;
  /** Deferred tools that the model has found by `tool_search`, by the names it was given. */
  readonly loaded?: ReadonlySet<string>;
}

/** The decision about one tool. */
export interface DeclareNote {
  readonly tool: string;
  readonly note: "left_out" | "not_strict";
  readonly reason: string;
}

/** A local tool for the encoders: with the decisions on strict mode and deferred loading. */
export interface FunctionDeclarationParts {
  readonly name: string;
  readonly description: string;
  readonly decision: StrictDecision;
  readonly deferred: boolean;
}

/**
 * Declares the tools: `encode` writes functions, and hosted and provider-defined tools give the provider's own entry.
 * A tool without an entry for this provider is left out with a note, because the provider would refuse a malformed one.
 */
export function declareTools<Declaration>(
  tools: readonly AgentTool[],
  provider: ProviderRules,
  {
    encode,
    options,
  }: { readonly encode: (parts: FunctionDeclarationParts) => Declaration; readonly options: DeclareOptions },
): readonly (Declaration | Json)[] {
  const { onNote = warnOfLeftOut, strict = true, loaded } = options;
  const isSearched = provider.defers !== true && tools.some(({ name }) => name === toolSearchName);
  const isHidden = ({ offer, name }: AgentTool): boolean =>
    isSearched && offer.deferLoading && loaded?.has(name) !== true;
  return tools.flatMap((tool): readonly (Declaration | Json)[] => {
    if (isHidden(tool)) return [];
    const { offer, name, description } = tool;
    if (offer.kind !== "local") {
      const entry = ownEntry(offer.providerSpecs, provider.name);
      if (entry !== undefined) return [entry];
      onNote({ tool: offer.tool, note: "left_out", reason: `it has no entry for ${provider.name}` });
      return [];
    }
    const decision = decisionFor(tool, strict ? provider.strict : undefined);
    if (strict && provider.strict !== undefined && !decision.strict)
      onNote({ tool: offer.tool, note: "not_strict", reason: decision.reason });
    return [encode({ name, description, decision, deferred: offer.deferLoading })];
  });
}

/** The properties of a provider that an encoder needs. */
export interface ProviderRules {
  /** The key of the provider's entry in `providerSpecs`. */
  readonly name: string;
  /** Undefined when the provider has no strict mode. */
  readonly strict?: StrictRules;
  /** Whether the provider itself searches deferred tools. */
  readonly defers?: true;
}

/** Strict mode would promise what the parameters cannot say, if they allow more than the tool's schema. */
function decisionFor({ parameters: schema, offer }: AgentTool, rules: StrictRules | undefined): StrictDecision {
  if (rules === undefined) return { strict: false, schema, reason: "strict mode is off" };
  const { looser } = providerSchema(offer.inputSchema);
  return looser === undefined
    ? decideStrict(schema, rules)
    : { strict: false, schema, reason: `it has ${looser}, which the description says in words` };
}

function ownEntry(specs: Readonly<Record<string, Json>> | undefined, provider: string): Json | undefined {
  return specs !== undefined && Object.hasOwn(specs, provider) ? specs[provider] : undefined;
}

const warned = new Set<string>();

function warnOfLeftOut({ tool, note, reason }: DeclareNote): void {
  const text = `Tool \`${tool}\` is left out: ${reason}.`;
  if (note !== "left_out" || warned.has(text)) return;
  warned.add(text);
  process.emitWarning(text);
}
