import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { type SnakeName, snakeName } from "@postern/core";
import type { z } from "zod";

export type Zod = typeof z;

/** The same copy that `import "zod"` gives; `require("zod")` would load a second one. */
function loadZod(): Zod {
  const require = createRequire(import.meta.url);
  const loaded: { readonly z: Zod } = require(fileURLToPath(import.meta.resolve("zod")));
  return loaded.z;
}

/** Makes a schema when it is first needed: `import "postern"` loads no package, and `createPolicy` is synchronous. */
export function lazySchema<Schema>(make: (zod: Zod) => Schema): () => Schema {
  let made: { readonly schema: Schema } | undefined;
  return () => {
    made ??= { schema: make(loadZod()) };
    return made.schema;
  };
}

/**
 * A schema for each member of an interface of options; a member that is missing, unknown or of another type does not
 * compile. The interface is written out because declaration files drop the comments of an inferred type.
 */
export type SchemasOf<Options> = { readonly [Name in keyof Options]-?: z.ZodType<unknown, Options[Name]> };

/** Options that have no other members. */
export function optionsIn<Options extends object>(zod: Zod, members: SchemasOf<Options>): z.ZodType<Options, Options> {
  return zod.strictObject(members) as unknown as z.ZodType<Options, Options>; // `members` has the names and types
}

/** An object of the application and the members that it must have. Nothing else in it is read. */
export function objectIn<Whole extends object>(
  zod: Zod,
  members: Partial<Readonly<Record<keyof Whole, z.ZodType>>> = {},
): z.ZodType<unknown, Whole> {
  return zod.object(members as z.ZodRawShape) as unknown as z.ZodType<unknown, Whole>; // the type is its author's
}

/** A value that only the application's types describe: `never` fits every member. */
export function valueIn(zod: Zod, expected: string, fits: (value: unknown) => boolean): z.ZodType<unknown, never> {
  return zod.custom<never>(fits, { params: { expected } });
}

export const functionIn = (zod: Zod): z.ZodType<unknown, never> =>
  valueIn(zod, "a function", (value) => typeof value === "function");

/** The members of a schema of options, as a file writes them. */
export function fileShape<Shape extends z.ZodRawShape>(shape: Shape): FileShape<Shape> {
  return Object.fromEntries(
    Object.entries(shape).map(([name, member]) => [snakeName(name), member]),
  ) as FileShape<Shape>; // the type repeats it
}

type FileShape<Shape> = { [Name in keyof Shape as Name extends string ? SnakeName<Name> : Name]: Shape[Name] };
