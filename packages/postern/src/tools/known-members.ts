/**
 * The members that a tool may have. A member that is not known is refused: a dropped `scope` would let every caller in.
 * Next: legacy.ts (the designs' names of members).
 */
import { camelName, isRecord, nearest, RuntimeFault, shown, visible } from "@postern/core";
import type { CompileOptions, Override } from "./facts.ts";
import type { ActionSpec, DeclaredUi, HostedTool, LocalTool, ProviderDefinedTool, ToolKind } from "./kinds.ts";
import type { Members } from "./members.ts";
import type { RegisterOptions } from "./registered.ts";

type Known<Shape> = Readonly<Record<keyof Shape, true>>;

const action: Known<ActionSpec> = {
  ...{ title: true, description: true, input: true, inputSchema: true, outputSchema: true, risk: true, effects: true },
  ...{ openWorld: true, scopes: true, permissions: true, idempotent: true, timeoutMs: true, approvalTtlMs: true },
  ...{ suspends: true, detached: true, requireIdempotencyKey: true, previewBinds: true, concurrencySafe: true },
  ...{ execute: true, preview: true, classifyRisk: true, reconcile: true },
};
const local: Known<LocalTool> = {
  ...action,
  ...{ name: true, toolType: true, ui: true, annotations: true, icons: true, meta: true, deferLoading: true },
  actions: true,
};
const hosted: Known<HostedTool> = { name: true, description: true, providerSpecs: true, risk: true };
const providerDefined: Known<ProviderDefinedTool> = {
  ...hosted,
  ...{ input: true, effects: true, openWorld: true, permissions: true, timeoutMs: true, preview: true },
  ...{ classifyRisk: true, callTypes: true, idempotent: true, handleCall: true },
};
const ui: Known<DeclaredUi> = { resourceUri: true, html: true, csp: true, permissions: true, prefersBorder: true };
const override: Known<Override> = {
  ...{ risk: true, effects: true, openWorld: true, idempotent: true, scopes: true, permissions: true },
  ...{ timeoutMs: true, approvalTtlMs: true, requireIdempotencyKey: true },
};
const compileOptions: Known<CompileOptions> = {
  ...override,
  ...{ server: true, riskSource: true, guess: true, observe: true, actions: true },
};
const registerOptions: Known<RegisterOptions> = {
  ...compileOptions,
  ...{ replace: true, unlisted: true, connectorId: true, configRef: true },
};

/** Each part of a declaration: what it is called in a refusal, and its members. */
const parts = {
  local: { what: "a tool", known: Object.keys(local) },
  hosted: { what: "a hosted tool", known: Object.keys(hosted) },
  // A tool of both kinds runs `handleCall`, never `execute`.
  provider_defined: { what: "a provider-defined tool", known: [...Object.keys(providerDefined), "execute"] },
  action: { what: "an action", known: Object.keys(action) },
  ui: { what: "`ui`", known: Object.keys(ui) },
  options: { what: "the options of `register`", known: Object.keys(registerOptions) },
  override: { what: "the options of an action", known: Object.keys(override) },
} satisfies Record<ToolKind | "action" | "ui" | "options" | "override", unknown>;

/** The designs' names of members that have another name here, in camelCase. */
const designNames: ReadonlyMap<string, string> = new Map([
  ["toolName", "name"],
  ["scopesRequired", "scopes"],
  ["requiresIdempotencyKey", "requireIdempotencyKey"],
  ["riskDefault", "risk"],
  ["riskMap", "actions"],
  ["capabilities", "actions"],
  ["supportsPreview", "preview"],
]);

/** The name here of a member that is written as in the designs. Returns undefined for every other name. */
function ofDesigns(name: string): string | undefined {
  const camel = camelName(name);
  const known = camel !== name && (Object.hasOwn(local, camel) || Object.hasOwn(providerDefined, camel));
  return designNames.get(camel) ?? (known ? camel : undefined);
}

/** Whether it is written as in the designs, in snake_case. */
export function isOfDesigns(value: object): boolean {
  return [...memberNames(value)].some((name) => name.includes("_") && ofDesigns(name) !== undefined);
}

/**
 * Refuses a member that is not known. An instance of a class may have fields of its own: only the designs' names and near
 * misses of known names are refused there.
 *
 * @throws RuntimeFault `options_invalid`, with the name that was probably meant
 */
export function refuseUnknownMembers(value: object, part: keyof typeof parts, members: Members): void {
  const { what, known } = parts[part];
  const isOwnClass = isInstance(value);
  for (const name of memberNames(value)) {
    if (known.includes(name)) continue;
    const ours = ofDesigns(name);
    const meant = isOwnClass ? nearMiss(name, known) : nearest(name, known);
    if ((isOwnClass && ours === undefined && meant === undefined) || Reflect.get(value, name) === undefined) continue;
    if (ours !== undefined && (part === "local" || part === "hosted" || part === "provider_defined"))
      members.refuse(
        name,
        `is written \`${ours}\` here; or take the tool as it is with legacyTool() of \`postern/tools\`.`,
      );
    const fix = ours ?? meant;
    members.refuse(
      name,
      `is not a member of ${what}, so it would have no effect; ${fix === undefined ? "take it out." : `did you mean \`${fix}\`?`}`,
    );
  }
}

const providers = ["openai", "anthropic", "google"];

/** An entry of a provider is sent only to that provider. Other names are free: programs may encode for any provider. */
export function refuseMistypedProviders({ providerSpecs }: HostedTool, members: Members): void {
  for (const name of Object.keys(providerSpecs)) {
    const meant = providers.includes(name) ? undefined : nearMiss(name, providers);
    if (meant !== undefined) members.refuse(`providerSpecs.${name}`, `is no provider; did you mean \`${meant}\`?`);
  }
}

/** Without the fields that belong to the tool's class. A near miss of a known name stays, and is refused later. */
export function withoutOwnFields(value: Record<string, unknown>, kind: ToolKind): Record<string, unknown> {
  const { known } = parts[kind];
  const isMember = (name: string): boolean => known.includes(name) || nearMiss(name, known) !== undefined;
  return Object.fromEntries(Object.entries(value).filter(([name]) => isMember(name)));
}

/** The same letters in another case, a duration without its unit, or one letter that is wrong. */
function nearMiss(name: string, known: readonly string[]): string | undefined {
  if (name.startsWith("_")) return undefined; // a private field by convention
  const letters = name.toLowerCase();
  const same = known.find((one) => one.toLowerCase() === letters || one === `${name}Ms`);
  return same ?? (name.length < 5 ? undefined : nearest(name, known, 1));
}

/** Includes the members of its classes. */
export function memberNames(value: object): ReadonlySet<string> {
  const names = new Set<string>();
  for (let at: object | null = value; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at) as object)
    for (const name of Object.getOwnPropertyNames(at)) if (name !== "constructor") names.add(name);
  return names;
}

export function isInstance(value: object): boolean {
  let at = Object.getPrototypeOf(value) as object | null;
  while (at !== null && at !== Object.prototype && !Object.hasOwn(at, "constructor"))
    at = Object.getPrototypeOf(at) as object | null;
  return at !== null && at !== Object.prototype;
}

/** The fault for a value that has not the shape of any kind of tool. */
export function noTool(value: unknown): RuntimeFault {
  const name: unknown = isRecord(value) ? value["name"] : undefined;
  const what = typeof name === "string" && name !== "" ? visible(name) : `The tool ${shown(value)}`;
  const needs = "a tool needs a `name`, a `description`, and `execute`, `actions` or `providerSpecs`";
  const legacy =
    isRecord(value) && isOfDesigns(value) ? "; legacyTool() of `postern/tools` takes the designs' names" : "";
  return new RuntimeFault("options_invalid", `${what} does not have the shape of a tool: ${needs}${legacy}.`);
}
