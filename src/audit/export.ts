import { isJsonObject } from "../core/json.ts";
import type { Store } from "../store/store.ts";

/**
 * A log as lines without their breaks, in the form that export-reader.ts describes.
 *
 * @param note the signed checkpoint to end with; entries after it are left out
 */
export async function* exportLines(
  store: Pick<Store, "events" | "documents">,
  publicKey: string,
  note: string,
): AsyncGenerator<string> {
  const size = Number(note.split("\n")[1]);
  const sizes = (await store.documents.list("checkpoint", "")).map(Number);
  const earlier = new Set(sizes.filter((signed) => signed < size));
  yield `#postern-audit 1 ${publicKey}`;
  let count = 0;
  for await (const { body } of store.events({ after: -1 })) {
    if (count === size) break;
    yield body;
    count += 1;
    if (!earlier.has(count)) continue;
    const document = await store.documents.get("checkpoint", checkpointId(count));
    const kept = isJsonObject(document?.body) ? document.body["note"] : undefined;
    if (typeof kept === "string") yield `#checkpoint ${JSON.stringify(kept)}`;
  }
  yield `#checkpoint ${JSON.stringify(note)}`;
  yield `#end ${count}`;
}

/** In the order of their characters, checkpoints are in the order of their sizes. */
export function checkpointId(size: number): string {
  return String(size).padStart(16, "0");
}
