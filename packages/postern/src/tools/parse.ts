import { type JsonObject, messageOf } from "@postern/core";
import type { SchemaGuard } from "./schema/json-schema.ts";
import type { StandardIssue, StandardResult, StandardSchema } from "./schema/standard-schema.ts";
import type { Action, Issue, Parsed } from "./tool.ts";

/** Checks an action's arguments by its author's Standard Schema, or by a JSON Schema. Neither throws nor rejects. */
export function parserFor(schema: StandardSchema | SchemaGuard | undefined): Action["parse"] {
  if (schema === undefined) return parseNone;
  if ("~standard" in schema) return (given) => parseStandard(schema, given);
  return async (given) => {
    const checked = await schema.check(given);
    return "unusable" in checked || checked.issues.length > 0 ? checked : { input: given };
  };
}

function parseNone(given: JsonObject): Parsed {
  const names = Object.keys(given);
  return names.length === 0
    ? { input: given }
    : { issues: names.map((name) => ({ path: [name], message: "is not a known argument" })) };
}

function parseStandard(schema: StandardSchema, given: JsonObject): Parsed | Promise<Parsed> {
  try {
    const result = schema["~standard"].validate(given);
    return result instanceof Promise ? result.then(fromStandard).catch(broken) : fromStandard(result);
  } catch (error) {
    return broken(error); // a refinement threw: a value that was not checked does not fit
  }
}

function fromStandard(result: StandardResult<unknown>): Parsed {
  if (result.issues !== undefined) return { issues: result.issues.map(issueOf) };
  return "value" in result ? { input: result.value } : broken("the schema gave neither a value nor issues");
}

function issueOf({ message, path }: StandardIssue): Issue {
  const steps = (path ?? []).map((step) => (typeof step === "object" ? step.key : step));
  return { message, path: steps.map((step) => (typeof step === "number" ? step : String(step))) };
}

function broken(error: unknown): Parsed {
  return { issues: [{ path: [], message: `cannot be checked: ${messageOf(error)}` }] };
}
