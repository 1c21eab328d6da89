import type { ContentBlock, Principal } from "@postern/core";
import type { ArtifactStore } from "../../results/artifact-store.ts";

/** Above this a client receives a link, because few clients take more in one answer. */
const inlineBytes = 5 * 2 ** 20;

/** Puts the bytes of pictures, sounds and embedded resources that are kept as artifacts back into their blocks. */
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
    return block; // it was deleted, or the caller may not read it: the link names it
  }
}
