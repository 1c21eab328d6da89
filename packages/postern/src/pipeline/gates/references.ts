import {
  isJsonObject,
  type Json,
  type JsonObject,
  type ReferencedArtifact,
  referenceKey,
  type ToolCall,
} from "@postern/core";
import type { ArtifactMeta, ArtifactStore } from "../../results/artifact-store.ts";

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

/** The arguments with something in the place of each reference. */
export function filled(given: JsonObject, fill: (reference: Reference) => unknown): JsonObject {
  return filledValue(given, [], fill) as JsonObject; // an object stays an object
}

function filledValue(value: Json, path: Reference["path"], fill: (reference: Reference) => unknown): unknown {
  if (Array.isArray(value)) return value.map((inner: Json, i) => filledValue(inner, [...path, i], fill));
  if (!isJsonObject(value)) return value;
  const digest = value[referenceKey];
  if (typeof digest === "string") return fill({ path, digest });
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, filledValue(inner, [...path, name], fill)]),
  );
}

/** Returns undefined if the bytes are not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Bytes of artifacts that are read to judge one call. A call with more needs approval. */
export const mostReadBytes = 1_048_576;

/** The arguments with the content of the artifacts they name, for rules and guardrails. */
export interface ResolvedArguments {
  /** An artifact that is too large stays a reference. */
  readonly arguments: JsonObject;
  readonly artifacts: readonly ReferencedArtifact[];
}

/**
 * The arguments as rules, guardrails and people see them, with content in place of references. Smaller artifacts are
 * read first, up to `mostReadBytes`; each mention of an artifact counts.
 *
 * @throws RuntimeFault `artifact_unavailable`
 */
export async function resolvedArguments(
  { arguments: given, authority: { principal } }: Pick<ToolCall, "arguments" | "authority">,
  artifacts: ArtifactStore,
  references: readonly Reference[] = referencesIn(given),
): Promise<ResolvedArguments> {
  const metas = new Map<string, ArtifactMeta>();
  for (const { digest } of references)
    if (!metas.has(digest)) metas.set(digest, await artifacts.meta(digest, principal));
  const texts = new Map<string, string>();
  let leftBytes = mostReadBytes;
  for (const { digest, bytes } of [...metas.values()].sort((one, other) => one.bytes - other.bytes)) {
    const needed = bytes * references.filter((reference) => reference.digest === digest).length;
    if (needed > leftBytes) continue;
    leftBytes -= needed;
    const { bytes: own } = await artifacts.open(digest, principal);
    texts.set(digest, textOf(own) ?? Buffer.from(own).toString("latin1"));
  }
  return {
    arguments: filled(given, ({ digest }) => texts.get(digest) ?? { [referenceKey]: digest }),
    artifacts: references.map(({ digest, path }) => {
      const { mediaType, bytes } = metas.get(digest) as ArtifactMeta; // read above for each reference
      const text = texts.get(digest);
      return { path: pathText(path), digest, mediaType, bytes, ...(text !== undefined && { text }) };
    }),
  };
}

/** The same for recorded arguments; a reference stays if its artifact is gone. */
export async function resolvedRecord(
  call: Pick<ToolCall, "arguments" | "authority">,
  artifacts: ArtifactStore,
): Promise<JsonObject> {
  const references = referencesIn(call.arguments);
  if (references.length === 0) return call.arguments;
  try {
    return (await resolvedArguments(call, artifacts, references)).arguments;
  } catch {
    return call.arguments; // rules treat a reference as a value they cannot judge
  }
}

/** A path as rules write it: `$.files[0].name`. */
export function pathText(path: Reference["path"]): string {
  const steps = path.map((step) => {
    if (typeof step === "number") return `[${step}]`;
    return /^[A-Za-z_][A-Za-z0-9_]*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`;
  });
  return `$${steps.join("")}`;
}
