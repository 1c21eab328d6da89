import type { Risk } from "../core/call.ts";
import type { JsonObject } from "../core/json.ts";
import { toolCallRequest } from "./exchange.ts";
import { type CompileOptions, definitionOf, factsOf, overrideOf } from "./facts.ts";
import { type HostedTool, isRecord, type ProviderDefinedTool } from "./kinds.ts";
import { Members } from "./members.ts";
import { checkedName } from "./names.ts";
import { readSchema } from "./schema/preflight.ts";
import type { Action, ToolAnswer, ToolContext } from "./tool.ts";

/** Nothing runs here: the provider runs it and its result arrives in a later turn (case 13). */
export function hostedAction(tool: HostedTool, options: CompileOptions): Action {
  return Object.freeze({
    ...declared(tool, options, { risk: "safe", effects: "read" }),
    kind: "hosted" as const,
    notFromChain: `\`${tool.name}\` is provider-hosted: it cannot be called from a chain.`,
    execute: () => `\`${tool.name}\` is run by the provider; nothing ran here. Its result comes from the provider.`,
  });
}

/**
 * `handleCall` runs, and `execute` is never looked for (case 12). Whether it answers with a result or with its
 * provider's own item is for `toRawResult` to see (C12). A provider's tool drives a computer or a shell: `high`.
 */
export function providerDefinedAction(tool: ProviderDefinedTool, options: CompileOptions): Action {
  return Object.freeze({
    ...declared(tool, options, { risk: "high", effects: "write" }),
    kind: "provider_defined" as const,
    notFromChain: `\`${tool.name}\` is provider-defined: it cannot be called from a chain.`,
    execute: (given: unknown, context: ToolContext) => {
      const call = toolCallRequest({
        name: tool.name,
        arguments: isRecord(given) ? (given as JsonObject) : {}, // a call's arguments are JSON
        callId: context.callId,
      });
      return tool.handleCall(call, context) as ToolAnswer; // toRawResult takes whatever it is
    },
  });
}

/** A risk nobody stated is the kind's own, and marked as such. */
function declared(
  tool: HostedTool & Partial<ProviderDefinedTool>,
  options: CompileOptions,
  kind: { readonly risk: Risk; readonly effects: "read" | "write" },
): Omit<Action, "kind" | "notFromChain" | "execute"> {
  const members = new Members(checkedName(tool.name, "tool"));
  const said = overrideOf(options, "default");
  const assumed = said.risk === undefined && tool.risk === undefined;
  const over = assumed ? { riskSource: "default" as const, ...said } : said;
  const { name, description, risk = kind.risk, effects = kind.effects, openWorld = true, permissions } = tool;
  const facts = factsOf({
    tool: { name, description, risk, effects, openWorld, permissions },
    ...{ name: "default", spec: {}, over, members },
  });
  const idempotent = members.flag("idempotent", over.idempotent ?? tool.idempotent);
  const specs = readSchema(tool.providerSpecs, name);
  const { callTypes: types = [] } = tool;
  return {
    ...{ tool: name, name: "default", description, inputSchema: anyArguments, toolType: "FUNCTION", annotations: {} },
    ...{ facts, idempotent, providerSpecs: specs },
    ...(types.length > 0 && { callTypes: Object.freeze([...types]) }),
    definition: definitionOf(facts, { idempotent, description, inputSchema: specs }),
    timeoutMs: members.milliseconds("timeoutMs", over.timeoutMs ?? tool.timeoutMs),
    approvalTtlMs: members.milliseconds("approvalTtlMs", over.approvalTtlMs),
    requireIdempotencyKey: members.flag("requireIdempotencyKey", over.requireIdempotencyKey),
    ...{ suspends: false, detached: false, deferLoading: false, concurrencySafe: false },
    previewBinds: tool.preview !== undefined,
    parse: (given) => ({ input: given }), // a model made them after its provider's own schema, which is not told
    takesBytes: true,
    preview: tool.preview && (async (input, context) => tool.preview?.(input, context, "default") as null), // toPreview takes whatever it is
    classifyRisk: tool.classifyRisk && ((given, call) => tool.classifyRisk?.(given, "default", call) ?? {}),
    reconcile: undefined,
  };
}

const anyArguments: JsonObject = Object.freeze({ type: "object" });
