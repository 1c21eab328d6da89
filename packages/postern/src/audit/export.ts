import { isJsonObject } from "@postern/core";
import type { Store } from "../store/store.ts";

/**
 * A log as lines without their breaks, in the form of export-reader.ts.
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
    const stored = isJsonObject(document?.body) ? document.body["note"] : undefined;
    if (typeof stored === "string") yield `#checkpoint ${JSON.stringify(stored)}`;
  }
  yield `#checkpoint ${JSON.stringify(note)}`;
  yield `#end ${count}`;
}

/** The ids in order of their characters are in order of the sizes too. */
export function checkpointId(size: number): string {
  return String(size).padStart(16, "0");
}
