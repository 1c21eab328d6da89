import { isJsonObject, type Json, type JsonObject, visible } from "@postern/core";
import { refusedCall } from "../mcp/client/upstream.ts";

/** How one argument becomes a part of the request. */
export interface ParameterPlan {
  readonly in: "path" | "query" | "header" | "cookie";
  /** In the request. */
  readonly name: string;
  /** In the arguments. */
  readonly member: string;
  readonly style: string;
  readonly explode: boolean;
  /** Its value is written as JSON. */
  readonly json?: true;
}

export interface BodyPlan {
  readonly kind: "json" | "form" | "multipart" | "text" | "bytes";
  /** The content type. */
  readonly type: string;
  /** The members of a form that are files, as base64. */
  readonly binary?: readonly string[];
  /** Styles of the members of a form. */
  readonly encoding?: JsonObject;
}

/** How the request of one operation is made of the arguments. Plain data. */
export interface RequestPlan {
  readonly method: string;
  /** With `{name}` for each path parameter. */
  readonly path: string;
  readonly parameters: readonly ParameterPlan[];
  readonly body?: BodyPlan;
  /** The header that takes the call's key. */
  readonly idempotencyHeader?: string;
  /** Alternatives, each with the names of the schemes that it needs together. Left out: the document does not say. */
  readonly security?: readonly (readonly string[])[];
}

/** How a body of this type is made; of several types the one with the lowest rank is sent. */
export function bodyKindOf(mediaType: string): Pick<BodyPlan, "kind" | "type"> & { readonly rank: number } {
  const [type = ""] = mediaType.toLowerCase().split(";");
  const plain = type.trim();
  if (plain === "application/json" || plain === "*/*" || plain === "application/*")
    return { kind: "json", type: "application/json", rank: 0 };
  if (/[/+]json$/.test(plain)) return { kind: "json", type: plain, rank: 1 };
  if (plain === "application/x-www-form-urlencoded") return { kind: "form", type: plain, rank: 2 };
  if (plain === "multipart/form-data") return { kind: "multipart", type: plain, rank: 3 };
  return /^text\/|[/+](?:xml|yaml|graphql)$/.test(plain)
    ? { kind: "text", type: plain, rank: 4 }
    : { kind: "bytes", type: plain, rank: 5 };
}

/** A part of the request that proves who sends it. */
export interface Credential {
  readonly in: "header" | "query" | "cookie";
  readonly name: string;
  readonly value: string;
}

/** What is sent beside the arguments. */
export interface RequestSetting {
  readonly base: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly credentials: readonly Credential[];
  readonly idempotencyKey: string;
}

export interface ApiRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body?: string | Uint8Array<ArrayBuffer> | readonly FormPart[];
}

/** A field of a multipart form. */
export interface FormPart {
  readonly name: string;
  readonly value: string | Blob;
}

/** @throws Error with `notExecuted`, if an argument cannot be part of a request */
export function requestOf(plan: RequestPlan, given: JsonObject, setting: RequestSetting): ApiRequest {
  const { base, credentials, idempotencyKey } = setting;
  const of = (place: ParameterPlan["in"]): readonly (readonly [ParameterPlan, Json])[] =>
    plan.parameters.flatMap((one) => {
      const value = one.in === place && Object.hasOwn(given, one.member) ? given[one.member] : undefined;
      return value === undefined ? [] : [[one, one.json === true ? JSON.stringify(value) : value] as const];
    });
  const keys = (place: Credential["in"]): readonly (readonly [string, string])[] =>
    credentials.flatMap((one) => (one.in === place ? [[one.name, one.value] as const] : []));
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${pathOf(plan.path, of("path"))}`;
  const own = keys("query").map(([name, value]) => pair(name, value));
  const asked = of("query").flatMap(([one, value]) => queryPairs(one, value));
  url.search = [url.search.slice(1), ...asked.filter((one) => !own.some((key) => isSameName(key, one))), ...own]
    .filter((part) => part !== "")
    .join("&");
  const headers = new Headers({ accept: "application/json, */*;q=0.5", "user-agent": "postern" });
  for (const [one, value] of of("header")) put(headers, one.name, joined(value, one.explode, plainText));
  for (const [name, value] of Object.entries(setting.headers)) put(headers, name, value);
  if (plan.idempotencyHeader !== undefined) put(headers, plan.idempotencyHeader, idempotencyKey);
  const cookies = [
    ...of("cookie").map(([{ name }, value]) => [name, encoded(plainText(value))] as const),
    ...keys("cookie"),
  ];
  if (cookies.length > 0) put(headers, "cookie", cookies.map(([name, value]) => `${name}=${value}`).join("; "));
  for (const [name, value] of keys("header")) put(headers, name, value);
  const body = bodyOf(plan.body, given["body"], headers);
  return { method: plan.method, url, headers, ...(body !== undefined && { body }) };
}

function invalid(message: string, cause?: unknown): Error {
  return refusedCall(`${message} Nothing was sent`, undefined, true, cause);
}

/** The message does not repeat the value, which may be a secret. */
function put(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch (error) {
    throw invalid(`The value of header ${visible(name)} has characters that a header cannot have.`, error);
  }
}

/** A value is one segment: a `/` in it is encoded, and `..` is refused, because it would name another path. */
function pathOf(template: string, values: readonly (readonly [ParameterPlan, Json])[]): string {
  const path = template.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const [one, value] = values.find(([{ name: own }]) => own === name) ?? [];
    const text = one === undefined || value === undefined ? "" : pathValue(one, value);
    if (text === "") throw invalid(`The path needs a value for ${visible(name)}.`);
    return text;
  });
  if (path.split("/").some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment)))
    throw invalid(`A value makes \`.\` or \`..\` a part of the path ${visible(template)}.`);
  return path;
}

function pathValue({ name, style, explode }: ParameterPlan, value: Json): string {
  if (style === "simple") return joined(value, explode, (one) => encoded(plainText(one)));
  const mark = style === "label" ? "." : `;${encoded(name)}=`;
  const isMatrix = style === "matrix";
  if (!explode || typeof value !== "object" || value === null)
    return `${mark}${joined(value, false, (one) => encoded(plainText(one)))}`;
  const parts = Array.isArray(value)
    ? value.map((one: Json) => `${mark}${encoded(plainText(one))}`)
    : Object.entries(value).map(([key, one]) => `${isMatrix ? ";" : "."}${encoded(key)}=${encoded(plainText(one))}`);
  return parts.join("");
}

/** `a,b`, `k,v,k,v`, or with `explode` `k=v,k=v`. */
function joined(value: Json, explode: boolean, write: (value: Json) => string): string {
  if (Array.isArray(value)) return value.map(write).join(",");
  if (!isJsonObject(value)) return write(value);
  const pairs = Object.entries(value).map(([key, one]) => `${write(key)}${explode ? "=" : ","}${write(one)}`);
  return pairs.join(",");
}

type QueryStyle = Pick<ParameterPlan, "name" | "style" | "explode">;

const separators: Readonly<Record<string, string>> = { form: ",", spaceDelimited: "%20", pipeDelimited: "%7C" };

function queryPairs({ name, style, explode }: QueryStyle, value: Json): readonly string[] {
  if (style === "deepObject") return deepPairs(name, value);
  if (typeof value !== "object" || value === null) return [pair(name, plainText(value))];
  const parts = Array.isArray(value)
    ? value.map((one: Json) => [name, one] as const)
    : Object.entries(value as JsonObject);
  if (explode) return parts.map(([key, one]) => pair(key, plainText(one)));
  const texts = Array.isArray(value) ? parts.map(([, one]) => one) : parts.flat();
  if (texts.length === 0) return [];
  return [`${encoded(name)}=${texts.map((one) => encoded(plainText(one))).join(separators[style] ?? ",")}`];
}

/** `name[key][key]=value` */
function deepPairs(name: string, value: Json): readonly string[] {
  if (Array.isArray(value))
    return value.flatMap((one: Json, at) => deepPairs(isJsonObject(one) ? `${name}[${at}]` : `${name}[]`, one));
  if (!isJsonObject(value)) return [pair(name, plainText(value))];
  return Object.entries(value).flatMap(([key, one]) => deepPairs(`${name}[${key}]`, one));
}

function pair(name: string, value: string): string {
  return `${encoded(name)}=${encoded(value)}`;
}

/** An argument never replaces a credential. */
function isSameName(one: string, other: string): boolean {
  return one.split("=")[0] === other.split("=")[0];
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function plainText(value: Json): string {
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function bodyOf(plan: BodyPlan | undefined, value: Json | undefined, headers: Headers): ApiRequest["body"] {
  if (plan === undefined || value === undefined) return undefined;
  if (plan.kind !== "multipart") headers.set("content-type", plan.type);
  switch (plan.kind) {
    case "json":
      return JSON.stringify(value);
    case "text":
      return plainText(value);
    case "bytes":
      return bytesOf(value);
    case "form":
      return fieldsOf(value)
        .flatMap(([name, one]) => queryPairs(styleOf(name, plan.encoding), one))
        .join("&");
    case "multipart":
      return fieldsOf(value).flatMap(([name, one]) => partsOf(name, one, plan.binary?.includes(name) === true));
    default:
      return plan.kind satisfies never;
  }
}

function fieldsOf(value: Json): readonly (readonly [string, Json])[] {
  if (!isJsonObject(value)) throw invalid("`body` must be an object, because it is sent as a form.");
  return Object.entries(value);
}

function styleOf(name: string, encoding: JsonObject = {}): QueryStyle {
  const own = Object.hasOwn(encoding, name) ? encoding[name] : undefined;
  const { style, explode } = isJsonObject(own) ? own : ({} as JsonObject);
  const known = typeof style === "string" ? style : "form";
  return { name, style: known, explode: typeof explode === "boolean" ? explode : known === "form" };
}

function partsOf(name: string, value: Json, isFile: boolean): readonly FormPart[] {
  if (Array.isArray(value)) return value.flatMap((one: Json) => partsOf(name, one, isFile));
  if (isFile) return [{ name, value: new Blob([bytesOf(value)]) }];
  if (typeof value !== "object" || value === null) return [{ name, value: plainText(value) }];
  return [{ name, value: new Blob([JSON.stringify(value)], { type: "application/json" }) }];
}

function bytesOf(value: Json): Uint8Array<ArrayBuffer> {
  if (typeof value !== "string" || /[^A-Za-z0-9+/=_\s-]/.test(value)) throw invalid("Bytes are given as base64.");
  return new Uint8Array(Buffer.from(value, "base64"));
}
