/**
 * One definition of a route: method, path, permission, query, body and answer. The server, the OpenAPI document, the
 * client, the flags of the command line, the console's types and the role matrix are made from it.
 *
 * Next: contract.ts (all routes), approvals.ts (an example), ../http/route.ts (the server), ../client/client.ts (the client).
 */

import type { ZodType } from "zod";
import { z } from "zod";
import type { Json } from "../json.ts";
import type { Permission } from "../roles.ts";

export interface RouteDefinition {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** With its parts in braces: `/v1/calls/{id}`. */
  readonly path: string;
  /** `nothing`: open to every caller, signed in or not. */
  readonly needs: Permission | "nothing";
  readonly summary: string;
  /** Its fields have their own types; in an address they are text. */
  readonly query?: z.ZodObject;
  readonly body?: ZodType;
  /** The handler reads the body itself, as text: it is signed over its bytes. */
  readonly rawBody?: true;
  /** Of a success. A text is the media type of an answer that is not JSON. */
  readonly answer: ZodType | string;
  /** Of a success. Default: 200. The answer of 204 and 303 is `z.void()`. */
  readonly status?: 201 | 204 | 303;
  /** An open route that answers every `Host`. A token is looked at if one is sent, and adds to the answer. */
  readonly probe?: true;
  /** An open route where a caller may guess: refusals are counted by address. */
  readonly countsRefusals?: true;
}

/** Routes by name. The names are the client's methods and the OpenAPI document's operations. */
export interface RouteGroup {
  readonly [name: string]: RouteDefinition;
}

type Method = RouteDefinition["method"];
type Needs = RouteDefinition["needs"];
type RouteParts = Omit<RouteDefinition, "method" | "path" | "needs">;

/** @throws Error when the program loads and two fields of a request have one name */
export function route<
  const M extends Method,
  const P extends string,
  const N extends Needs,
  const R extends RouteParts,
>(
  ...[method, path, needs, parts]: readonly [method: M, path: P, needs: N, parts: R]
): { readonly method: M; readonly path: P; readonly needs: N } & R {
  const names = [...partsOf(path), ...fieldsOf(parts.query), ...fieldsOf(parts.body)];
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`${path} has two fields \`${twice}\`.`);
  return { method, path, needs, ...parts };
}

/** The names in the braces of a path. */
export function partsOf(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
}

/** The names of an object's fields. */
export function fieldsOf(schema: ZodType | undefined): readonly string[] {
  return schema !== undefined && "shape" in schema ? Object.keys(schema.shape as object) : [];
}

/** What one sends: a client its request, a handler its answer. */
export type Input<S> = S extends ZodType ? ReadOnly<z.input<S>> : never;
/** What one reads: a client an answer, a handler a request. A missing field is never undefined. */
export type View<S> = S extends ZodType ? Filled<z.output<S>> : never;

type ReadOnly<T> = [Json] extends [T] ? T : { readonly [Name in keyof T]: ReadOnly<T[Name]> };
type Filled<T> = [Json] extends [T] ? T : { readonly [Name in keyof T]: Filled<Exclude<T[Name], undefined>> };

/** What a client reads. @throws ZodError when it does not fit */
export function shape<S extends ZodType>(schema: S, given: Input<S>): View<S> {
  return schema.parse(given) as View<S>; // JSON has no undefined
}

type PathFields<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [Key in Name]: string } & PathFields<Rest>
  : unknown;

/** What a client sends: the parts of the path, the query and the body, beside each other. */
export type SentTo<R extends RouteDefinition> = PathFields<R["path"]> &
  (R extends { readonly query: infer S } ? Input<S> : unknown) &
  (R extends { readonly body: infer S } ? Input<S> : unknown);

export type QueryOf<R extends RouteDefinition> = R extends { readonly query: infer S }
  ? View<S>
  : Readonly<Record<string, never>>;
export type BodyOf<R extends RouteDefinition> = R extends { readonly body: infer S }
  ? View<S>
  : Readonly<Record<string, never>>;
export type AnswerOf<R extends RouteDefinition> = R["answer"] extends string
  ? AsyncIterable<Uint8Array>
  : View<R["answer"]>;

/** For a route without a query or a body: a field is refused by its name. */
export const noFields = z.strictObject({});

/** The fields of an address, as the types of their schema. Text that does not fit stays, and the schema refuses it. */
export function fromSearch(schema: z.ZodObject, search: URLSearchParams): Readonly<Record<string, unknown>> {
  return Object.fromEntries([...search].map(([name, text]) => [name, fromText(schema.shape[name], text)]));
}

/** A text of an address or of a command's flag, as the type of its schema. */
export function fromText(schema: z.core.$ZodType | undefined, text: string): unknown {
  const { def } = (schema as z.core.$ZodTypes | undefined)?._zod ?? {};
  switch (def?.type) {
    case "optional":
    case "default":
      return fromText(def.innerType, text);
    case "number":
      return /^-?\d{1,16}$/.test(text) ? Number(text) : text;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    default:
      return text;
  }
}
