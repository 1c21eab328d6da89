import { isJsonObject, type Json, type JsonObject } from "../calls/json.ts";
import { type ArtifactStore, referenceKey } from "../results/artifact-store.ts";
import type { FoundCall } from "./stages.ts";

/** Where the arguments name an artifact, and which. */
export interface Reference {
  readonly path: readonly (string | number)[];
  readonly digest: string;
}

/** Depth is bounded where the text was made (`maxDepth`). */
export function referencesIn(value: Json, path: readonly (string | number)[] = []): readonly Reference[] {
  if (Array.isArray(value)) return value.flatMap((inner: Json, i) => referencesIn(inner, [...path, i]));
  if (!isJsonObject(value)) return [];
  const digest = value[referenceKey];
  if (typeof digest === "string") return [{ path, digest }];
  return Object.entries(value).flatMap(([name, inner]) => referencesIn(inner, [...path, name]));
}

/** @throws RuntimeFault `artifact_unavailable` */
export async function bytesBehind(
  digests: readonly string[],
  call: FoundCall,
  artifacts: ArtifactStore,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const bytes = new Map<string, Uint8Array>();
  for (const digest of digests) bytes.set(digest, (await artifacts.open(digest, call.authority.principal)).bytes);
  return bytes;
}

/** The arguments with something in the place of each reference. */
export function filled(given: JsonObject, fill: (digest: string) => unknown): JsonObject {
  return filledValue(given, fill) as JsonObject; // an object stays one; what is put in is the asker's affair
}

function filledValue(value: Json, fill: (digest: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((inner: Json) => filledValue(inner, fill));
  if (!isJsonObject(value)) return value;
  const digest = value[referenceKey];
  if (typeof digest === "string") return fill(digest);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, filledValue(inner, fill)]));
}

/** Undefined: they are no UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * What whoever judges arguments must see where they name artifacts: the tool will be given the bytes. As text; bytes that
 * are none as Latin-1, in which plain letters and digits can be read.
 *
 * @throws RuntimeFault `artifact_unavailable`
 */
export async function unfolded(
  call: FoundCall,
  digests: readonly string[],
  artifacts: ArtifactStore,
): Promise<JsonObject> {
  const bytes = await bytesBehind(digests, call, artifacts);
  const texts = new Map<string, string>();
  for (const [digest, own] of bytes) texts.set(digest, textOf(own) ?? Buffer.from(own).toString("latin1"));
  return filled(call.arguments, (digest) => texts.get(digest));
}
