import type { Json, JsonObject } from "@postern/core";
import { readable, readableSchema } from "../results/readable.ts";
import { offeredSchema } from "./define.ts";
import {
  type ActionSpec,
  type AnyTool,
  callTypesOf,
  type HostedTool,
  isHostedTool,
  isProviderDefinedTool,
  type LocalTool,
} from "./kinds.ts";
import { toolOf } from "./legacy.ts";

/**
 * A function that is offered to a model, before a provider's encoder writes it.
 *
 * @public
 */
export interface FunctionSpec {
  readonly kind: "function";
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  /** The tool's `deferLoading`. Each encoder maps it. */
  readonly lazySchema: boolean;
  readonly strict: boolean;
}

/**
 * A provider's own entry for a hosted or provider-defined tool.
 *
 * @public
 */
export interface ProviderSpec {
  readonly kind: "provider";
  readonly name: string;
  readonly provider: string;
  /** Sent verbatim. */
  readonly spec: Json;
  /** The types under which the provider's calls of it arrive. A hosted tool has none, because it is never called here. */
  readonly callTypes?: readonly string[];
}

/** @public */
export type ToolSpec = FunctionSpec | ProviderSpec;

/** What a model receives for a tool: a function, or a provider's own entry. */
export type ToolSchema = FunctionSchema | Json;

export interface FunctionSchema {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly deferLoading?: true;
}

/** One offered entry, under the name by which a model calls it. */
interface ToolFunctionOffer {
  readonly name: string;
  readonly schema: ToolSchema;
  /** The same with deferred parameters. A provider's entry does not change. */
  readonly deferred: ToolSchema;
}

export interface OfferOptions {
  /** Without a provider, the first entry of a hosted tool is sent, which may be another provider's. */
  readonly provider?: string;
}

/** The arguments of a tool that takes none. */
export const noArguments: JsonObject = Object.freeze({
  type: "object",
  properties: Object.freeze({}),
  additionalProperties: false,
});

/**
 * The spec of a tool for one provider. An encoder writes it in the provider's own form.
 *
 * @param given with our names or the designs'
 * @param warn called when the tool has no entry for this provider; by default one process warning for each
 * @returns null if the tool has no entry for this provider, because a malformed entry would be the provider's error 400
 *
 * @public
 */
export function specOf(
  given: AnyTool,
  provider: string,
  warn: (message: string) => void = warnOnce(given),
): ToolSpec | null {
  const tool = toolOf(given) ?? given;
  const { name } = tool;
  if (isProviderDefinedTool(tool) || isHostedTool(tool)) {
    const spec = entryFor(tool, provider);
    const callTypes = callTypesOf(tool);
    const types = callTypes.length > 0 ? { callTypes } : {};
    if (spec !== undefined) return { kind: "provider", name, provider, spec, ...types };
    warn(leftOut(name, provider));
    return null;
  }
  const { description, parameters, deferLoading } = localSchema(tool);
  return { kind: "function", name, description, parameters, lazySchema: deferLoading === true, strict: true };
}

/** What models receive for one tool: an entry for each action (`tool__action`), or none if it has no entry for the provider. */
function schemasOf(tool: AnyTool, { provider }: OfferOptions = {}): readonly ToolFunctionOffer[] {
  if (isProviderDefinedTool(tool) || isHostedTool(tool)) {
    const schema = entryFor(tool, provider);
    return schema === undefined ? [] : [{ name: tool.name, schema, deferred: schema }];
  }
  const { actions } = tool;
  const schemas =
    actions === undefined
      ? [localSchema(tool)]
      : Object.entries(actions).map(([name, action]) => localSchema(tool, name, action));
  return schemas.map((schema) => ({ name: schema.name, schema, deferred: { ...schema, deferLoading: true } }));
}

/** What models are sent for some tools. A tool without an entry for the provider is left out, with one warning. */
export function schemasFor(tools: readonly AnyTool[], options: OfferOptions = {}): readonly ToolSchema[] {
  return tools.flatMap((tool) => offersOf(tool, options).map(({ schema }) => schema));
}

/** Returns null if no tool is called by this name. */
export function schemaNamed(name: string, tools: readonly AnyTool[], options?: OfferOptions): ToolSchema | null {
  return tools.flatMap((tool) => schemasOf(tool, options)).find((offer) => offer.name === name)?.schema ?? null;
}

function offersOf(tool: AnyTool, options: OfferOptions): readonly ToolFunctionOffer[] {
  const offers = schemasOf(tool, options);
  const { provider } = options;
  if (offers.length === 0 && provider !== undefined) warnOnce(tool)(leftOut(tool.name, provider));
  return offers;
}

function leftOut(name: string, provider: string): string {
  return `Tool \`${name}\` has no specification for \`${provider}\`; it is left out.`;
}

const warned = new WeakMap<AnyTool, Set<string>>();

function warnOnce(tool: AnyTool): (message: string) => void {
  return (message) => {
    const before = warned.get(tool) ?? new Set();
    if (before.has(message)) return;
    warned.set(tool, before.add(message));
    process.emitWarning(message);
  };
}

function entryFor({ providerSpecs: specs }: HostedTool, provider: string | undefined): Json | undefined {
  if (provider === undefined) return Object.values(specs)[0];
  return Object.hasOwn(specs, provider) ? specs[provider] : undefined;
}

function localSchema(tool: LocalTool, action?: string, spec?: ActionSpec): FunctionSchema {
  const parameters = (spec && offeredSchema(spec, tool.name)) ?? offeredSchema(tool, tool.name) ?? noArguments;
  return {
    name: action === undefined ? tool.name : `${tool.name}__${action}`,
    description: readable(spec?.description ?? tool.description),
    parameters: readableSchema(parameters),
    ...(tool.deferLoading === true && { deferLoading: true as const }),
  };
}

/** Every tool with deferred parameters, hosted entries verbatim, the entry for tool search last. */
export function deferredOf(
  tools: readonly AnyTool[],
  options: OfferOptions & { readonly includeToolSearch?: boolean } = {},
): readonly ToolSchema[] {
  const deferred = tools.flatMap((tool) => offersOf(tool, options).map((offer) => offer.deferred));
  return options.includeToolSearch === true ? [...deferred, { type: "tool_search" }] : deferred;
}
