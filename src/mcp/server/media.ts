import type { Principal } from "../../core/call.ts";
import type { ContentBlock } from "../../core/outcome.ts";
import type { ArtifactStore } from "../../results/artifact-store.ts";

/** Above this a client gets a link instead: few of them take more in one answer. */
const inlineBytes = 5 * 2 ** 20;

/** Pictures, sounds and embedded resources that were kept as artifacts are real blocks again in the final result (SPEC 10.2). */
export function withBytes(
  content: readonly ContentBlock[],
  artifacts: ArtifactStore,
  principal: Principal,
): Promise<readonly ContentBlock[]> {
  return Promise.all(content.map((block) => opened(block, artifacts, principal)));
}

async function opened(block: ContentBlock, artifacts: ArtifactStore, principal: Principal): Promise<ContentBlock> {
  if (block.type !== "image" && block.type !== "audio" && block.type !== "resource") return block;
  if (block.data !== undefined || block.artifact === undefined) return block;
  try {
    const { bytes } = await artifacts.open(block.artifact, principal);
    if (bytes.length > inlineBytes) return block;
    return { ...block, data: Buffer.from(bytes).toString("base64") };
  } catch {
    return block; // it is gone by now, or was never this caller's: the link says which one it was
  }
}
