import type { ContentBlock, Principal } from "@postern/core";
import type { ArtifactStore } from "postern/results";

/** The largest picture that providers accept. */
const mostImageBytes = 5 * 2 ** 20;

/** A model sees a picture only when its bytes are sent, so a picture that was kept as an artifact is read again. */
export function withImages(
  content: readonly ContentBlock[],
  artifacts: ArtifactStore,
  principal: Principal,
): Promise<readonly ContentBlock[]> {
  return Promise.all(content.map((block) => withImage(block, artifacts, principal)));
}

export function isKeptImage(block: ContentBlock): boolean {
  return block.type === "image" && block.artifact !== undefined && block.data === undefined;
}

/** For a result that is kept itself: the artifact has the bytes. */
export function withoutBytes(block: ContentBlock): ContentBlock {
  if (block.type !== "image" || block.artifact === undefined) return block;
  const { data: _bytes, ...rest } = block;
  return rest;
}

async function withImage(block: ContentBlock, artifacts: ArtifactStore, principal: Principal): Promise<ContentBlock> {
  if (block.type !== "image" || block.artifact === undefined || block.data !== undefined) return block;
  try {
    const { bytes } = await artifacts.meta(block.artifact, principal);
    if (bytes > mostImageBytes) return block;
    const opened = await artifacts.open(block.artifact, principal);
    return { ...block, data: Buffer.from(opened.bytes).toString("base64") };
  } catch {
    return block; // the artifact is gone; the text still describes the result
  }
}
