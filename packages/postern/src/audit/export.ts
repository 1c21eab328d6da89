import { isJsonObject } from "@postern/core";
import type { Store } from "../store/store.ts";
import { sizeOf } from "./anchor-file.ts";

/**
 * A log as lines without their breaks, in the form of export-reader.ts.
 *
 * @param sign signs what is in the log now: the last line but one. Entries after it are left out
 */
export async function* exportLines(
  store: Pick<Store, "events" | "documents">,
  publicKey: string,
  sign: () => string | Promise<string>,
): AsyncGenerator<string> {
  let note = await sign();
  let size = sizeOf(note);
  const sizes = (await store.documents.list("checkpoint", "")).map(Number);
  const earlier = new Set(sizes.filter((signed) => signed < size));
  let hasErased = false;
  yield `#postern-audit 1 ${publicKey}`;
  let count = 0;
  for await (const { body } of store.events({ after: -1 })) {
    if (count === size && hasErased) {
      note = await sign(); // entries that were erased meanwhile: the entry that says so is in the log by now
      size = sizeOf(note);
      hasErased = false;
      for (const id of await store.documents.list("checkpoint", "")) if (Number(id) < size) earlier.add(Number(id));
      if (earlier.has(count)) yield* storedCheckpoint(store, count); // it is no longer the last one
    }
    if (count === size) break;
    hasErased ||= body.startsWith("#erased ");
    yield body;
    count += 1;
    if (earlier.has(count)) yield* storedCheckpoint(store, count);
  }
  yield `#checkpoint ${JSON.stringify(note)}`;
  yield `#end ${count}`;
}

async function* storedCheckpoint(store: Pick<Store, "documents">, size: number): AsyncGenerator<string> {
  const document = await store.documents.get("checkpoint", checkpointId(size));
  const stored = isJsonObject(document?.body) ? document.body["note"] : undefined;
  if (typeof stored === "string") yield `#checkpoint ${JSON.stringify(stored)}`;
}

/** The ids in order of their characters are in order of the sizes too. */
export function checkpointId(size: number): string {
  return String(size).padStart(16, "0");
}
