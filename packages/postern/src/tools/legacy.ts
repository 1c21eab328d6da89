/** Tools as the three designs write them: members in snake_case, and other ways to be called. */

import { camelName, defined, isRecord } from "@postern/core";
import {
  type ActionSpec,
  type AnyTool,
  kindOf,
  type LocalTool,
  type ProviderDefinedTool,
  type ProviderSpecs,
} from "./kinds.ts";
import { isInstance, isOfDesigns, memberNames, withoutOwnFields } from "./known-members.ts";
import { Members } from "./members.ts";
import type { ToolContext } from "./tool.ts";

/**
 * Makes a tool of an instance or an object as the designs write it: members in snake_case, and `low` for `safe`. Without a
 * risk a local tool is `safe`, without idempotence it is not idempotent. A tool with `scopes_required` or `risk_map` is called
 * as `execute(action, request, context)`, another one with an `input_schema` as `execute(context, arguments)`.
 *
 * @public
 */
export function legacyTool<Bare extends { readonly provider_specs: ProviderSpecs }>(bare: Bare): ProviderDefinedTool;
export function legacyTool(bare: object): LocalTool;
export function legacyTool(bare: object): LocalTool | ProviderDefinedTool {
  const made = ours(bare);
  const assumed = isRecord(made["providerSpecs"]) ? {} : { risk: "safe", idempotent: false };
  return Object.freeze({ ...assumed, ...made }) as unknown as LocalTool; // registration names what is missing
}

const taken = new WeakMap<object, AnyTool>();

/**
 * The tool itself if it is written with our names; else a tool made of it, the same one each time. A risk that is not stated
 * stays missing. Returns undefined if it is no tool.
 */
export function toolOf(value: unknown): AnyTool | undefined {
  if (!isRecord(value)) return undefined;
  if (!isOfDesigns(value)) return kindOf(value) === undefined ? undefined : (value as unknown as AnyTool); // it has a kind
  const known = taken.get(value);
  if (known !== undefined) return known;
  const made = ours(value);
  const tool: unknown = Object.freeze({ ...(!isRecord(made["providerSpecs"]) && { idempotent: false }), ...made });
  if (kindOf(tool) === undefined) return undefined;
  taken.set(value, tool as AnyTool); // it has a kind
  return tool as AnyTool;
}

/** Members of the designs that have another name or form here. */
interface DesignMembers {
  readonly toolName?: unknown;
  readonly scopesRequired?: unknown;
  readonly requiresIdempotencyKey?: unknown;
  readonly riskDefault?: unknown;
  readonly riskMap?: unknown;
  readonly capabilities?: unknown;
  readonly supportsPreview?: unknown;
}

/** Its members under our names. Those that are undefined are left out. */
function ours(bare: object): Record<string, unknown> {
  const { toolName, scopesRequired, requiresIdempotencyKey, riskDefault, riskMap, capabilities, ...rest } =
    camelMembers(bare);
  const { supportsPreview, ...own } = rest as DesignMembers & Record<string, unknown>;
  const { name = toolName, risk = riskDefault, scopes = [], actions, ui } = own;
  const members = new Members(String(name));
  if (supportsPreview === true && typeof own["preview"] !== "function")
    members.refuse("supports_preview", "is true, but there is no `preview`; write it, or state false.");
  const isGateway = scopesRequired !== undefined || riskMap !== undefined;
  const made = compact({
    ...own,
    ...(isGateway ? gatewayBodies(own) : agentBodies(own, bare)),
    ...{ name, risk: levelOf(risk), actions: actions ?? actionsOf(capabilities, riskMap, risk) },
    ...(scopesRequired !== undefined && { scopes: [scopes, scopesRequired].flat() }),
    ...defined({ requireIdempotencyKey: requiresIdempotencyKey }),
    ...(supportsPreview === false && { preview: undefined }),
    ...(isRecord(ui) && { ui: camelMembers(ui) }),
  });
  return isInstance(bare) ? withoutOwnFields(made, kindOf(made) ?? "local") : made;
}

/** A tool of the gateway's design is called as `execute(action, request, context)`, and takes any request without a schema. */
function gatewayBodies({ execute, preview, input, inputSchema }: Record<string, unknown>): Record<string, unknown> {
  const turned = (body: unknown): unknown =>
    typeof body === "function"
      ? (given: unknown, context: unknown, action: string): unknown => body(action, given, context)
      : body;
  return {
    ...{ execute: turned(execute), preview: turned(preview) },
    ...(input === undefined && inputSchema === undefined && { inputSchema: { type: "object" } }),
  };
}

/** A tool of the agents' design, with an `input_schema`, is called as `execute(context, arguments)`. */
function agentBodies({ execute }: Record<string, unknown>, bare: object): Record<string, unknown> {
  if (!isRecord(Reflect.get(bare, "input_schema")) || typeof execute !== "function") return {};
  return { execute: (input: unknown, context: ToolContext): unknown => execute(context, input) };
}

/** One action for each capability, with the risk that the map states for it. */
function actionsOf(capabilities: unknown, riskMap: unknown, risk: unknown): Record<string, ActionSpec> | undefined {
  const levels = isRecord(riskMap) ? riskMap : {};
  const listed: readonly unknown[] = Array.isArray(capabilities) ? capabilities : [];
  const names = new Set([...listed.map(String), ...Object.keys(levels)]);
  if (names.size === 0) return undefined;
  const specs = [...names].map((name) => [name, compact({ risk: levelOf(levels[name] ?? risk) })] as const);
  return Object.fromEntries(specs);
}

/** The designs write `low` for `safe`. */
function levelOf(risk: unknown): unknown {
  return risk === "low" ? "safe" : risk;
}

/** The members in camelCase. Methods of a class need their own `this`. */
function camelMembers(bare: object): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const name of memberNames(bare)) {
    const member: unknown = Reflect.get(bare, name);
    members[camelName(name)] = typeof member === "function" && name !== "input" ? member.bind(bare) : member;
  }
  return members;
}

function compact(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
