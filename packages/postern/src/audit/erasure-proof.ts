import type { JsonObject } from "@postern/core";
import { counted, RuntimeFault } from "@postern/core";
import type { Signer } from "./signer.ts";

/**
 * What the entry `runtime.entries_erased` has as `data`: the erased places, signed by the log's key together with a
 * checkpoint over them. Without the key none can be made, and in another history the root is another one.
 *
 * @param checkpoint a stored one, as a signed note
 * @param places in order, at least one
 * @throws RuntimeFault `internal` if the checkpoint does not sign all of them yet
 */
export function erasureProof(signer: Signer, checkpoint: string, places: readonly number[]): JsonObject {
  const [, sizeText = "", root = ""] = checkpoint.split("\n");
  const [first = 0, last = 0] = [places[0], places.at(-1)];
  const size = Number(sizeText);
  if (last >= size) {
    const message = `Entry ${last} cannot be erased yet: the checkpoint signs ${counted(size, "entry", "entries")}.`;
    throw new RuntimeFault("internal", message);
  }
  const named = rangesOf(places);
  const text = `postern audit erasure\n${signer.origin}\n${size}\n${root}\n${named}\n`;
  const signature = signer.sign(text).toString("base64");
  return { first, last, count: places.length, places: named, checkpoint: size, signature };
}

/** `0-2,5`: every place, or the first and the last one of several in a row. */
function rangesOf(places: readonly number[]): string {
  const ranges: string[] = [];
  for (let i = 0; i < places.length; i += 1) {
    const first = places[i];
    while (places[i + 1] === Number(places[i]) + 1) i += 1;
    ranges.push(first === places[i] ? `${first}` : `${first}-${places[i]}`);
  }
  return ranges.join(",");
}
