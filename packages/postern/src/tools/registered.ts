import { defined, higherRisk, type JsonObject, parseRisk, type Risk } from "@postern/core";
import type { CompileOptions } from "./facts.ts";
import type { AnyTool } from "./kinds.ts";
import type { Action, ToolHealth } from "./tool.ts";

export interface RegisterOptions extends CompileOptions {
  /** Replaces a tool of this name. Without it, a second tool of the name is refused. */
  readonly replace?: boolean | undefined;
  /** The connector that asks for secrets. Default: the server, else the tool. */
  readonly connectorId?: string | undefined;
  /** It can be called by its name, and no list has it. */
  readonly unlisted?: boolean | undefined;
  /** A reference into the configuration, never a credential. */
  readonly configRef?: string | undefined;
}

/** Why a tool must not be called, whatever its health: its definition is not the trusted one. */
export interface ToolBlock {
  /** Its definition `changed`, is `new` and not approved, or is `waiting` to be recorded. */
  readonly why: "changed" | "new" | "waiting";
  /** Whole sentences, with what to do. */
  readonly problem: string;
}

/** A registered tool as data, without credentials. */
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

interface CompiledEntry {
  readonly tool: AnyTool;
  readonly actions: readonly Action[];
  readonly health: ToolHealth;
}

export function registeredTool(
  { tool, actions, health }: CompiledEntry,
  { connectorId, server, risk, configRef }: RegisterOptions,
): RegisteredTool {
  const [{ providerSpecs, callTypes } = {}]: readonly Partial<Action>[] = actions;
  const highest = actions.reduce<Risk>((all, { facts }) => higherRisk(all, facts.risk), "safe");
  return Object.freeze({
    toolName: tool.name,
    connectorId: connectorId ?? server ?? tool.name,
    capabilities: Object.freeze(actions.map(({ name }) => name)),
    scopes: Object.freeze([...new Set(actions.flatMap(({ facts }) => facts.scopes))]),
    riskDefault: parseRisk(risk ?? tool.risk) ?? highest,
    riskMap: Object.freeze(Object.fromEntries(actions.map(({ name, facts }) => [name, facts.risk]))),
    supportsPreview: actions.some(({ preview }) => preview !== undefined),
    providerType: server === undefined ? "native" : "mcp",
    health,
    ...defined({ providerSpecs, callTypes, configRef }),
  });
}
