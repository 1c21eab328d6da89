import { isJsonObject, type Json, type JsonObject, messageOf, pointedTo, shown, visible } from "@postern/core";

/** Something in a document that cannot be used, as a sentence: what is wrong, and what to do. */
export class Unusable extends Error {}

/** A document is a few levels deeper than its schemas. */
const mostLevels = 250;
/** As many references lead to each other at most. */
const mostSteps = 20;

/** An OpenAPI document in the form of 3.1, with its references still in it: a recursive document stays as small as it is. */
export class ApiDocument {
  readonly root: JsonObject;
  /** The version that its author wrote: `OpenAPI 3.0.3`. */
  readonly revision: string;

  constructor(root: JsonObject, revision: string) {
    this.root = root;
    this.revision = revision;
  }

  /** @throws Unusable for a reference that leaves the document, or points to nothing */
  pointedTo(reference: Json): Json {
    if (typeof reference !== "string" || !reference.startsWith("#/"))
      throw new Unusable(
        `\`$ref\` ${visible(reference)} leaves the document, and nothing outside of it is read. Bundle the document into one file.`,
      );
    const found = pointedTo(reference, this.root);
    if (found === undefined) throw new Unusable(`\`$ref\` ${visible(reference)} points to nothing in the document.`);
    return found;
  }

  /** An object of the document, or the object that it refers to. */
  object(value: Json | undefined, what: string): JsonObject {
    let found = value;
    for (let steps = 0; isJsonObject(found) && found["$ref"] !== undefined; steps += 1) {
      if (steps >= mostSteps) throw new Unusable(`${what} refers to itself.`);
      found = this.pointedTo(found["$ref"]);
    }
    if (!isJsonObject(found)) throw new Unusable(`${what} is ${shown(found)}, not an object.`);
    return found;
  }
}

/**
 * Reads JSON or YAML of OpenAPI 3.1 or 3.0 or Swagger 2.0. Runs on a worker thread, because the text is untrusted.
 *
 * @throws Unusable
 */
export async function parseDocument(text: string): Promise<ApiDocument> {
  const given = await parsed(text.replace(/^\uFEFF/, ""));
  if (!isJsonObject(given)) throw new Unusable(`The document is ${shown(given)}, not an object.`);
  const version = versionOf(given);
  if (isDeep(given)) throw new Unusable(`The document is nested too deeply: at most ${mostLevels} levels are read.`);
  try {
    const { upgrade } = await import("@scalar/openapi-upgrader");
    const root = upgrade({ ...given, ...version.member } as Record<string, unknown>, "3.1") as unknown;
    return new ApiDocument(root as JsonObject, version.revision); // it was made from JSON
  } catch (error) {
    throw new Unusable(`The document cannot be read as ${version.revision}: ${reason(error)}`, { cause: error });
  }
}

async function parsed(text: string): Promise<Json> {
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text) as Json; // JSON.parse returns only JSON
    const { parse } = await import("yaml");
    const value: unknown = parse(text, { schema: "core", logLevel: "error", maxAliasCount: 100 });
    return JSON.parse(JSON.stringify(value ?? null)) as Json; // what aliases share becomes separate
  } catch (error) {
    throw new Unusable(`The document is neither JSON nor YAML: ${reason(error)}`, { cause: error });
  }
}

/** Without recursion, because a deep value would overflow the stack. */
function isDeep(value: Json): boolean {
  let level: readonly Json[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > mostLevels) return true;
    level = level.flatMap((one): Json[] => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}

interface Version {
  readonly member: JsonObject;
  readonly revision: string;
}

/** In YAML a version without quotes is a number. */
function versionOf({ swagger, openapi }: JsonObject): Version {
  const old = typeof swagger === "number" ? swagger.toFixed(1) : swagger;
  if (old === "2.0") return { member: { swagger: old }, revision: "Swagger 2.0" };
  const text = typeof openapi === "number" ? openapi.toFixed(1) : openapi;
  if (typeof text === "string" && /^3\.[01](?:\.|$)/.test(text))
    return { member: { openapi: text }, revision: `OpenAPI ${text.slice(0, 20)}` };
  const what = swagger === undefined ? `its \`openapi\` is ${shown(openapi)}` : `its \`swagger\` is ${shown(swagger)}`;
  throw new Unusable(
    `It is no OpenAPI document that Postern reads: ${what}; it reads \`openapi\` 3.1 and 3.0 and \`swagger\` "2.0".`,
  );
}

function reason(error: unknown): string {
  if (error instanceof RangeError) return "it is nested too deeply.";
  const [first = ""] = messageOf(error).split("\n");
  return `${first.slice(0, 300).replace(/[.:]$/, "")}.`;
}
