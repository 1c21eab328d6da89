/**
 * Edits of a client's file.
 *
 * Invariant: an edit is accepted only if the file, parsed again, differs by this server alone.
 */

import { isDeepStrictEqual } from "node:util";
import { type ClientEdit, isRecord } from "@postern/core";
import { ClientSyntaxProblem, type EditPlace, type FileFormat, refused } from "./client-format.ts";

export async function formatOf(kind: "json" | "toml"): Promise<FileFormat> {
  return kind === "json"
    ? (await import("./json-format.ts")).jsonFormat()
    : (await import("./toml-format.ts")).tomlFormat();
}

/** @throws RuntimeFault `request_invalid` */
export function parsedFile(format: FileFormat, text: string, path: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = format.parse(text);
  } catch (error) {
    if (!(error instanceof ClientSyntaxProblem)) throw error;
    throw refused(path, `${error.message}. Correct it in an editor first`, error);
  }
  if (isRecord(value)) return value;
  throw refused(path, "holds no object at its top. Name the file of a client");
}

/** The servers by name. A file without the member has none. */
export function serversIn(
  document: Readonly<Record<string, unknown>>,
  key: string,
  path: string,
): Readonly<Record<string, unknown>> {
  const found = Object.hasOwn(document, key) ? document[key] : {};
  if (isRecord(found)) return found;
  throw refused(path, `has a member \`${key}\` that is no object. Correct it in an editor first`);
}

/** @throws RuntimeFault `request_invalid` if the edit would change anything else */
export function addedTo(
  format: FileFormat,
  text: string,
  { path, ...edit }: ClientEdit & { readonly path: string },
): string {
  const after = format.added(text, edit);
  const [old, now] = [parsedFile(format, text, path), reparsed(format, after)];
  const entry = now === undefined ? undefined : serversIn(now, edit.servers, path)[edit.name];
  if (
    now !== undefined &&
    sameValue(entry, edit.entry) &&
    sameValue(withoutServer(now, edit), withoutServer(old, edit))
  )
    return after;
  throw refused(
    path,
    `has a form that Postern does not edit (a member written twice, or servers written inline). Add the server \`${edit.name}\` by hand`,
  );
}

/** @throws RuntimeFault as `addedTo` */
export function removedFrom(
  format: FileFormat,
  text: string,
  { path, ...place }: EditPlace & { readonly path: string },
): string {
  const after = format.removed(text, place);
  const [old, now] = [parsedFile(format, text, path), reparsed(format, after)];
  const isGone = now !== undefined && !Object.hasOwn(serversIn(now, place.servers, path), place.name);
  if (isGone && sameValue(withoutServer(now, place), withoutServer(old, place))) return after;
  throw refused(path, `has a form that Postern does not edit. Remove the server \`${place.name}\` by hand`);
}

function reparsed(format: FileFormat, text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = format.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // the caller refuses the edit
  }
}

/** The rest of a document. An empty list of servers or inputs counts as none. */
function withoutServer(document: Readonly<Record<string, unknown>>, { servers, name, input }: EditPlace): unknown {
  const rest = Object.entries(document).flatMap(([key, value]): readonly (readonly [string, unknown])[] => {
    if (key === servers && isRecord(value)) {
      const others = Object.entries(value).filter(([other]) => other !== name);
      return others.length === 0 ? [] : [[key, Object.fromEntries(others)]];
    }
    if (key === "inputs" && input !== undefined && Array.isArray(value)) {
      const others = value.filter((one) => !isRecord(one) || one["id"] !== input.id);
      return others.length === 0 ? [] : [[key, others]];
    }
    return [[key, value]];
  });
  return Object.fromEntries(rest);
}

/** Parsers make objects with and without a prototype; only the content counts. */
function sameValue(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(structuredClone(one), structuredClone(other));
}
