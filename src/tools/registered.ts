import type { Risk } from "../core/call.ts";
import type { JsonObject } from "../core/json.ts";
import { higherRisk, parseRisk } from "../core/risk.ts";
import type { CompileOptions } from "./facts.ts";
import type { AnyTool } from "./kinds.ts";
import type { Action, ToolHealth } from "./tool.ts";

export interface RegisterOptions extends CompileOptions {
  /** Take the place of a tool of this name; otherwise a second one is refused (D12). */
  readonly replace?: boolean | undefined;
  /** Who asks for secrets. Default: the server, else the tool. */
  readonly connectorId?: string | undefined;
  /** A reference into the configuration, never a credential. */
  readonly configRef?: string | undefined;
}

/** Why a tool must not be called, whatever its health: its definition is not the one that is trusted (D22). */
export interface ToolBlock {
  /** Its definition `changed`, is `new` and not approved, or is `waiting` to be recorded. */
  readonly why: "changed" | "new" | "waiting";
  /** Whole sentences, with what to do. */
  readonly problem: string;
}

/** SPEC 4.5. A registered tool as it can be shown and dumped: data, and no credential in it. */
export interface RegisteredTool {
  readonly toolName: string;
  readonly connectorId: string;
  /** Its actions. */
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  readonly riskDefault: Risk;
  readonly riskMap: Readonly<Record<string, Risk>>;
  readonly supportsPreview: boolean;
  readonly providerType: "native" | "mcp";
  /** Of a hosted or provider-defined tool: what each provider is sent for it, verbatim. */
  readonly providerSpecs?: JsonObject;
  /** Of a provider-defined tool: the types under which its provider's calls arrive. */
  readonly callTypes?: readonly string[];
  readonly health: ToolHealth;
  /** It cannot be called until an operator has approved its definition. */
  readonly blocked?: ToolBlock["why"];
  readonly configRef?: string;
}

export function registeredTool(
  {
    tool,
    actions,
    health,
  }: { readonly tool: AnyTool; readonly actions: readonly Action[]; readonly health: ToolHealth },
  options: RegisterOptions,
): RegisteredTool {
  const [{ providerSpecs, callTypes } = {}]: readonly Partial<Action>[] = actions;
  const highest = actions.reduce<Risk>((risk, { facts }) => higherRisk(risk, facts.risk), "safe");
  return Object.freeze({
    toolName: tool.name,
    connectorId: options.connectorId ?? options.server ?? tool.name,
    capabilities: Object.freeze(actions.map(({ name }) => name)),
    scopes: Object.freeze([...new Set(actions.flatMap(({ facts }) => facts.scopes))]),
    riskDefault: parseRisk(options.risk ?? tool.risk) ?? highest,
    riskMap: Object.freeze(Object.fromEntries(actions.map(({ name, facts }) => [name, facts.risk]))),
    supportsPreview: actions.some(({ preview }) => preview !== undefined),
    providerType: options.server === undefined ? "native" : "mcp",
    health,
    ...(providerSpecs !== undefined && { providerSpecs }),
    ...(callTypes !== undefined && { callTypes }),
    ...(options.configRef !== undefined && { configRef: options.configRef }),
  });
}
