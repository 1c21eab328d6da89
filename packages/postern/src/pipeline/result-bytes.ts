import type { ContentBlock, Principal } from "@postern/core";
import type { ArtifactMeta, ArtifactStore } from "../results/artifact-store.ts";
import { collected } from "../results/streams.ts";
import { textInBytes } from "../results/text-in-bytes.ts";

/** What the result of a call may hold beside its tool's own words: artifacts by digest, and results of its child calls. */
export class UsedArtifacts {
  /** A child call brought what third parties wrote. */
  openWorld = false;
  #opened: Set<string> | undefined;
  #stored: Set<string> | undefined;

  /** The tool read them, so its result may hold their bytes. Made on first use: most calls use no artifact. */
  get opened(): Set<string> {
    this.#opened ??= new Set();
    return this.#opened;
  }

  /** Streams of the result, which were stored while they were read. */
  get stored(): Set<string> {
    this.#stored ??= new Set();
    return this.#stored;
  }

  get isEmpty(): boolean {
    return (this.#opened?.size ?? 0) + (this.#stored?.size ?? 0) === 0;
  }
}

/** The bytes of a block or of an artifact, as guardrails see them. */
export interface ResultBytes {
  /** For a sentence: `chart.png (image/png)`. */
  readonly label: string;
  /** Undefined if they are no text. Of very many bytes it is the beginning, which is longer than what a guardrail takes. */
  readonly text: string | undefined;
}

/** The text of so many bytes is longer than what a built-in guardrail takes, in every encoding. */
const mostExaminedBytes = 3 * 2 ** 20;
const mostExaminedBase64 = (mostExaminedBytes / 3) * 4;

/** The bytes within the blocks themselves. */
export function bytesInBlocks(content: readonly ContentBlock[]): readonly ResultBytes[] {
  return content.flatMap((block) => {
    if (!("data" in block) || block.data === undefined) return [];
    const { mediaType = "application/octet-stream", data } = block;
    const name = block.type === "resource" ? block.uri : block.name;
    const label = name === undefined ? `a block of ${mediaType}` : `${name} (${mediaType})`;
    const head = Buffer.from(data.slice(0, mostExaminedBase64), "base64");
    return [{ label, text: textInBytes(head, mediaType, data.length <= mostExaminedBase64) }];
  });
}

/** @throws RuntimeFault `artifact_unavailable` */
export async function bytesOfArtifact(
  { digest, mediaType, bytes }: ArtifactMeta,
  artifacts: ArtifactStore,
  owner: Principal,
): Promise<ResultBytes> {
  const { chunks } = await artifacts.openStream(digest, owner, { end: mostExaminedBytes });
  const text = textInBytes(await collected(chunks), mediaType, bytes <= mostExaminedBytes);
  return { label: artifactLabel(digest), text };
}

export function artifactLabel(digest: string): string {
  return `the artifact ${digest}`;
}

/** Artifacts that may be in the result: those that it names, and those that the tool has read. */
export function artifactsIn(content: readonly ContentBlock[], used: UsedArtifacts): ReadonlySet<string> {
  const named = content.flatMap((block) => ("artifact" in block && block.artifact !== undefined ? block.artifact : []));
  return used.isEmpty ? new Set(named) : new Set([...named, ...used.opened, ...used.stored]);
}

export function namesArtifact(content: readonly ContentBlock[]): boolean {
  return content.some((block) => "artifact" in block && block.artifact !== undefined);
}

/** Those that the principal may read: others are in no result that it gets. */
export async function readable(
  digests: Iterable<string>,
  artifacts: ArtifactStore,
  principal: Principal,
): Promise<readonly ArtifactMeta[]> {
  const found: ArtifactMeta[] = [];
  for (const digest of digests) {
    const meta = await artifacts.meta(digest, principal).catch(() => undefined);
    if (meta !== undefined) found.push(meta);
  }
  return found;
}
