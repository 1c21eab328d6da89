/**
 * `postern/cedar`: a Cedar policy set as a layer that may only add denials and questions.
 *
 * Invariant: if Cedar cannot answer, the call is denied. Cedar skips a `forbid` that fails, and allows. So any error in its
 * diagnostics, any answer without success and any throw is a DENY, and only sets that pass strict validation are loaded.
 *
 * @packageDocumentation
 */
import { messageOf, RuntimeFault } from "@postern/core";
import { sha256 } from "@postern/core/system";
import type { ExtraLayer, Facts, Finding } from "../policy.ts";
import { type CedarArguments, type CedarSection, checked, policySchemas } from "../schema.ts";
import { cedarEntities, cedarInput, cedarSchema } from "./cedar-facts.ts";

export type { CedarArgument, CedarArguments } from "../schema.ts";
export { cedarSchema } from "./cedar-facts.ts";
export type { CedarKind } from "./cedar-kinds.ts";

/** @public */
export interface CedarOptions {
  /** Cedar text. A policy is named by its `@id`, else by its place. `@gate("confirm")` on a `permit` asks a person. */
  readonly policies: string;
  /** Cedar schema text; left out: `cedarSchema(arguments)`, which describes exactly what Cedar receives. */
  readonly schema?: string;
  /** The arguments that policies may read. Cedar receives no others. */
  readonly arguments?: CedarArguments;
}

type Cedar = typeof import("@cedar-policy/cedar-wasm/nodejs");

/**
 * Makes the layer for `PolicyOptions.also`. A call that Cedar does not permit is denied; one that a `@gate("confirm")` permits asks.
 *
 * @example
 * const layer = await cedarLayer({
 *   policies: 'permit(principal, action, resource); forbid(principal, action, resource) when { resource.name like "drop_*" };',
 * });
 * const runtime = await createRuntime({ policy: { also: [layer] } });
 *
 * @throws RuntimeFault `policy_invalid`, with what the validator says; `dependency_missing` without `@cedar-policy/cedar-wasm`
 * @public
 */
export async function cedarLayer(options: CedarOptions): Promise<ExtraLayer> {
  const { policies, arguments: args = {} } = options;
  checked(policySchemas().cedarArguments, args, "arguments");
  const { schema = cedarSchema(args) } = options;
  const cross = cedarInput(args);
  const cedar = await loadCedar();
  const named = namedPolicies(policies, cedar);
  validate(named, schema, cedar);
  const version = sha256(JSON.stringify([policies, schema, args])).slice(0, 16);
  const kept = `postern-${version}`;
  const set = cedar.preparsePolicySet(kept, {
    staticPolicies: Object.fromEntries(named.map(({ id, text }) => [id, text])),
  });
  if (set.type !== "success") throw invalid(textOf(set.errors));
  const shape = cedar.preparseSchema(kept, schema);
  if (shape.type !== "success") throw invalid(textOf(shape.errors));
  const gates: ReadonlyMap<string, boolean> = new Map(named.map(({ id, asks }) => [id, asks]));
  return {
    name: "cedar",
    version,
    weigh: (facts) => {
      try {
        return weigh(facts, { cedar, kept, cross, gates });
      } catch (error) {
        return denied(`it failed: ${messageOf(error)}`);
      }
    },
  };
}

interface LoadedPolicies {
  readonly cedar: Cedar;
  readonly kept: string;
  readonly cross: ReturnType<typeof cedarInput>;
  /** Whether the policy of this name asks a person. */
  readonly gates: ReadonlyMap<string, boolean>;
}

function weigh(facts: Facts, { cedar, kept, cross, gates }: LoadedPolicies): readonly Finding[] {
  const crossed = cross(facts);
  if ("refused" in crossed) return denied(crossed.refused);
  const entities = cedarEntities(facts);
  const [principal, resource] = entities;
  if (principal === undefined || resource === undefined) return denied("it has no principal or no resource");
  const answer = cedar.statefulIsAuthorized({
    principal: principal.uid,
    action: { type: "Postern::Action", id: "call" },
    resource: resource.uid,
    // Cedar's types are not readonly. It gets a copy as plain JSON.
    context: crossed.context as Parameters<Cedar["statefulIsAuthorized"]>[0]["context"],
    entities: entities as unknown as Parameters<Cedar["statefulIsAuthorized"]>[0]["entities"],
    preparsedPolicySetId: kept,
    preparsedSchemaName: kept,
    validateRequest: true,
  });
  if (answer.type !== "success") return denied(textOf(answer.errors));
  const { decision, diagnostics } = answer.response;
  const errors = diagnostics.errors.map(({ policyId, error }) => `\`${policyId}\` failed: ${error.message}`);
  if (errors.length > 0) return denied(errors.join("; "));
  const namesOf = (ids: readonly string[]): string =>
    [...ids]
      .sort()
      .map((id) => `\`${id}\``)
      .join(", ");
  const names = namesOf(diagnostics.reason);
  if (decision !== "allow") return denied(names === "" ? "no policy permits it" : `forbidden by ${names}`);
  const asking = namesOf(diagnostics.reason.filter((id) => gates.get(id) !== false));
  return asking === "" ? [] : [{ guardrail: "cedar", effect: "CONFIRM", why: `${asking} asks` }];
}

function denied(why: string): readonly Finding[] {
  return [{ guardrail: "cedar", effect: "DENY", why }];
}

/**
 * The files that a configuration names, read.
 *
 * @param textOf reads a file that is named in the section
 * @throws RuntimeFault `policy_invalid`, when a file cannot be read
 */
export async function readCedarSection(
  { policies, schema, arguments: args = {} }: CedarSection,
  textOf: (path: string) => Promise<string>,
): Promise<CedarOptions> {
  const read = (path: string): Promise<string> =>
    textOf(path).catch((error: unknown) => {
      throw new RuntimeFault("policy_invalid", `The Cedar file \`${path}\` cannot be read: ${messageOf(error)}.`);
    });
  return {
    policies: await read(policies),
    ...(schema !== undefined && { schema: await read(schema) }),
    arguments: args,
  };
}

interface NamedPolicy {
  readonly id: string;
  readonly text: string;
  readonly asks: boolean;
}

/** In a text, Cedar ignores `@id` and counts instead, so each policy is passed by its name. */
function namedPolicies(policies: string, cedar: Cedar): readonly NamedPolicy[] {
  const parts = cedar.policySetTextToParts(policies);
  if (parts.type !== "success") throw invalid(textOf(parts.errors));
  if (parts.policy_templates.length > 0) throw invalid("Templates are not supported; write each policy out.");
  const seen = new Set<string>();
  return parts.policies.map((text, i) => {
    const json = cedar.policyToJson(text);
    if (json.type !== "success") throw invalid(textOf(json.errors));
    const { effect, annotations = {} } = json.json;
    const id = annotations["id"] ?? `policy${i + 1}`;
    if (seen.has(id)) throw invalid(`Two policies have the id \`${id}\`.`);
    seen.add(id);
    const gate = annotations["gate"];
    if (gate !== undefined && (gate !== "confirm" || effect !== "permit"))
      throw invalid(`\`@gate("${gate}")\` of \`${id}\` means nothing; it is \`@gate("confirm")\`, on a permit.`);
    return { id, text, asks: gate === "confirm" };
  });
}

function validate(named: readonly NamedPolicy[], schema: string, cedar: Cedar): void {
  const answer = cedar.validate({
    schema,
    policies: { staticPolicies: Object.fromEntries(named.map(({ id, text }) => [id, text])) },
    validationSettings: { mode: "strict" },
  });
  if (answer.type !== "success") throw invalid(textOf(answer.errors));
  if (answer.validationErrors.length > 0)
    throw invalid(answer.validationErrors.map(({ policyId, error }) => `\`${policyId}\`: ${error.message}`).join("; "));
}

function textOf(errors: readonly { readonly message: string }[]): string {
  return errors.map(({ message }) => message).join("; ") || "it gave no answer";
}

function invalid(what: string): RuntimeFault {
  return new RuntimeFault("policy_invalid", `The Cedar policies were not loaded: ${what}`);
}

async function loadCedar(): Promise<Cedar> {
  try {
    return await import("@cedar-policy/cedar-wasm/nodejs");
  } catch (cause) {
    throw new RuntimeFault(
      "dependency_missing",
      "Cedar policies need the package `@cedar-policy/cedar-wasm`; install it beside `postern`.",
      { cause },
    );
  }
}
