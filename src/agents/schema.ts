import type { JsonObject } from "../core/json.ts";

/** A Standard Schema with its JSON Schema, for libraries that take one. */
export interface AnySchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "postern";
    readonly validate: (value: unknown) => { readonly value: never };
    readonly jsonSchema: { readonly input: () => JsonObject; readonly output: () => JsonObject };
  };
}

/** Shows a schema to the model and accepts everything: the gate validates, and its answer tells the model what is wrong. */
export function anySchema(parameters: JsonObject): AnySchema {
  const schema = (): JsonObject => structuredClone(parameters); // libraries write to what they are given
  const validate = (value: unknown): { readonly value: never } => ({ value: value as never }); // whatever it is
  return { "~standard": { version: 1, vendor: "postern", validate, jsonSchema: { input: schema, output: schema } } };
}
