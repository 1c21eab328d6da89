/**
 * The validator itself (@hyperjump/json-schema: spec-true, no generated code). Imported only where a JSON Schema is
 * really checked: lazily in process, and in the worker. `format` is an annotation, as 2020-12 has it.
 */
import type { OutputUnit } from "@hyperjump/json-schema";
import { InvalidSchemaError, registerSchema, unregisterSchema, validate } from "@hyperjump/json-schema/draft-2020-12";
import {
  BASIC,
  type CompiledSchema,
  compile,
  getSchema,
  interpret,
  Validation,
} from "@hyperjump/json-schema/experimental";
import { fromJs } from "@hyperjump/json-schema/instance/experimental";
import { type Json, type JsonObject, messageOf } from "@postern/core";
import type { Issue } from "../tool.ts";
import { issueSentence, pathOf, valueAt } from "./issues.ts";
import type { Dialect, VettedSchema } from "./preflight.ts";

const dialectIds: Readonly<Record<Dialect, string>> = {
  "2020-12": "https://json-schema.org/draft/2020-12/schema",
  "2019-09": "https://json-schema.org/draft/2019-09/schema",
  "draft-07": "http://json-schema.org/draft-07/schema",
  "draft-06": "http://json-schema.org/draft-06/schema",
  "draft-04": "http://json-schema.org/draft-04/schema",
};

const loaders: Readonly<Record<Dialect, () => Promise<unknown>>> = {
  "2020-12": async () => undefined, // imported above
  "2019-09": () => import("@hyperjump/json-schema/draft-2019-09"),
  "draft-07": () => import("@hyperjump/json-schema/draft-07"),
  "draft-06": () => import("@hyperjump/json-schema/draft-06"),
  "draft-04": () => import("@hyperjump/json-schema/draft-04"),
};

/** Further issues do not help a model to write better arguments. */
const maxIssues = 20;

/** The library's own type for JSON, which is not readonly though it changes nothing. */
type CheckedJson = Parameters<typeof fromJs>[0];

export class CompiledCheck {
  readonly #schema: JsonObject;
  readonly #compiled: CompiledSchema;

  constructor(schema: JsonObject, compiled: CompiledSchema) {
    this.#schema = schema;
    this.#compiled = compiled;
  }

  /** Empty: the value fits. Never throws: the schema is compiled, so it is the value that cannot be checked. */
  issues(value: JsonObject): readonly Issue[] {
    try {
      const { ast, schemaUri } = this.#compiled;
      const instance = fromJs(value as CheckedJson);
      if (Validation.interpret(schemaUri, instance, { ast, plugins: [...ast.plugins] })) return fitting;
      const output = interpret(this.#compiled, instance, BASIC);
      return output.valid ? fitting : this.#issuesOf(output.errors ?? [], value);
    } catch (error) {
      return [{ path: [], message: `cannot be checked: ${messageOf(error)}` }];
    }
  }

  #issuesOf(errors: readonly OutputUnit[], value: Json): readonly Issue[] {
    const issues = errors.slice(0, maxIssues).map((error): Issue => {
      const path = pathOf(error.instanceLocation, value);
      const [, fragment = ""] = error.absoluteKeywordLocation.split("#");
      const keyword = fragment.slice(fragment.lastIndexOf("/") + 1);
      return {
        path,
        message: issueSentence(
          keyword,
          valueAt(pathOf(`#${fragment}`, this.#schema), this.#schema),
          valueAt(path, value),
        ),
      };
    });
    return issues.length > 0 ? issues : [{ path: [], message: "does not fit the schema" }];
  }
}

const fitting: readonly Issue[] = [];

let compilations = 0;

/** @throws Error saying what makes it no valid schema of its dialect */
export async function compileSchema({
  schema,
  dialect,
  digest,
}: Pick<VettedSchema, "schema" | "dialect" | "digest">): Promise<CompiledCheck> {
  await loaders[dialect]();
  compilations += 1; // equal schemas may be compiled side by side, and the library knows each by its name
  const uri = `https://schemas.postern.invalid/${digest}/${compilations}`;
  try {
    registerSchema({ ...schema, $schema: dialectIds[dialect] } as Parameters<typeof registerSchema>[0], uri); // JSON, see `Checked`
    return new CompiledCheck(schema, await compile(await getSchema(uri)));
  } catch (error) {
    if (!(error instanceof InvalidSchemaError)) throw error;
    throw new Error(await invalidity(schema, dialect), { cause: error });
  } finally {
    unregisterSchema(uri);
  }
}

async function invalidity(schema: JsonObject, dialect: Dialect): Promise<string> {
  const output = await validate(dialectIds[dialect], schema as CheckedJson, BASIC);
  const where = output.valid ? "" : (output.errors?.[0]?.instanceLocation ?? "");
  return `it is not a valid ${dialect} schema${where === "" ? "" : ` at \`${where}\``}.`;
}
