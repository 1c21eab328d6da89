import { counted, isJsonObject } from "@postern/core";
import type { Store } from "../store/store.ts";
import { openCheckpoint } from "./note.ts";
import type { Signer } from "./signer.ts";
import { type Edge, readEdge, rootOf } from "./tree.ts";
import { trustedKey } from "./verify.ts";

const isOrigin = /^postern\/[0-9a-f]{16}$/;

export interface StoredCheckpoint {
  readonly size: number;
  readonly note: string;
}

/** Where a log continues, or why it must be read from its first entry: `otherKey` names the key that made the checkpoint. */
export type LastCheckpoint =
  | { readonly checkpoint: StoredCheckpoint; readonly edge: Edge; readonly problem?: never; readonly otherKey?: never }
  | { readonly problem: string; readonly otherKey?: string; readonly checkpoint?: never; readonly edge?: never };

/**
 * A C2SP tlog-checkpoint as a signed note: origin, size and root on a line each, a blank line, the signature.
 * Any tool for transparency logs can read it.
 *
 * @param root 64 hex digits
 */
export function signCheckpoint(signer: Signer, size: number, root: string): string {
  const text = `${signer.origin}\n${size}\n${Buffer.from(root, "hex").toString("base64")}\n`;
  const signature = Buffer.concat([Buffer.from(signer.keyId, "hex"), signer.sign(text)]);
  return `${text}\n— ${signer.origin} ${signature.toString("base64")}\n`;
}

/** The last checkpoint with its edge. The edge counts only if the signed root follows from it and its last entry exists. */
export async function lastCheckpoint(
  store: Pick<Store, "documents" | "events">,
  publicKey: string,
): Promise<LastCheckpoint | undefined> {
  const id = (await store.documents.list("checkpoint", "")).at(-1);
  if (id === undefined) return undefined;
  const body = (await store.documents.get("checkpoint", id))?.body;
  const { edge: storedEdge, note } = isJsonObject(body) ? body : {};
  const edge = readEdge(storedEdge);
  const signed = typeof note === "string" ? openCheckpoint(note, trustedKey(publicKey)) : undefined;
  if (edge === undefined || typeof note !== "string" || signed === undefined) {
    const otherKey = typeof note === "string" ? otherOrigin(note, publicKey) : undefined;
    return {
      problem: `The audit log's last checkpoint \`${id}\` is not signed by its key.`,
      ...(otherKey !== undefined && { otherKey }),
    };
  }
  if (signed.size !== edge.size || Number(id) !== edge.size || signed.root !== rootOf(edge)) {
    return { problem: `The audit log's last checkpoint \`${id}\` was changed.` };
  }
  for await (const { seq } of store.events({ after: edge.size - 2, limit: 1 })) {
    if (seq === edge.size - 1) return { checkpoint: { size: edge.size, note }, edge };
  }
  return { problem: `The audit log was cut off: its last checkpoint signs ${counted(edge.size, "entry", "entries")}.` };
}

/** The origin of a note says whose it is; only that key can prove it. */
function otherOrigin(note: string, publicKey: string): string | undefined {
  const [origin = ""] = note.split("\n", 1);
  return isOrigin.test(origin) && origin !== trustedKey(publicKey).name ? origin : undefined;
}
