/**
 * Checks that an event is in the log, without asking the server: the event's text has its hash, the hashes of the path
 * lead to the root (RFC 6962 2.1.1), and the log's key signed that root (a C2SP signed note, Ed25519).
 */
import type { EventProof } from "@postern/core/contract";
import { hex } from "../../kit/canonical.ts";

interface Step {
  readonly word: string;
  readonly holds: boolean;
  readonly more: string;
}

export interface Checked {
  readonly holds: boolean;
  readonly steps: readonly Step[];
}

export async function checkProof(proof: EventProof): Promise<Checked> {
  const leaf = hex(await sha256(concat([Uint8Array.of(0), new TextEncoder().encode(proof.body)])));
  const root = await rootFrom(proof, leaf);
  const signed = await signedBy(proof);
  const steps: readonly Step[] = [
    { word: "The event's hash", holds: leaf === proof.leaf, more: "SHA-256 over its text as it is kept" },
    {
      word: `The inclusion proof, ${proof.path.length} ${proof.path.length === 1 ? "hash" : "hashes"}`,
      holds: root !== undefined && root === proof.root,
      more: `as entry ${proof.seq} of ${proof.size}`,
    },
    {
      word: "The signature of the root",
      holds: signed?.size === proof.size && signed.root === proof.root,
      more: proof.public_key.split("+")[0] ?? "",
    },
  ];
  return { holds: steps.every(({ holds }) => holds), steps };
}

/** RFC 9162 2.1.3.2. Undefined when the path does not fit the entry. */
async function rootFrom({ seq, size, path }: EventProof, leaf: string): Promise<string | undefined> {
  if (!(Number.isSafeInteger(seq) && Number.isSafeInteger(size) && seq >= 0 && seq < size)) return undefined;
  let [reached, place, last] = [leaf, seq, size - 1];
  for (const sibling of path) {
    if (last === 0 || !/^[0-9a-f]{64}$/.test(sibling)) return undefined;
    if (place % 2 === 1 || place === last) {
      reached = await node(sibling, reached);
      while (place % 2 === 0 && place > 0) [place, last] = [half(place), half(last)];
    } else {
      reached = await node(reached, sibling);
    }
    [place, last] = [half(place), half(last)];
  }
  return last === 0 ? reached : undefined;
}

/** The size and root in the signed note. Undefined when it is not one note that this key signed. */
async function signedBy({
  checkpoint,
  public_key,
}: EventProof): Promise<{ readonly size: number; readonly root: string } | undefined> {
  const [, name = "", hint = "", key = ""] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(public_key) ?? [];
  const typed = bytesOf(key);
  if (typed?.length !== 33 || typed[0] !== 1) return undefined;
  const named = await sha256(concat([new TextEncoder().encode(`${name}\n`), typed]));
  if (hex(named.subarray(0, 4)) !== hint) return undefined;
  const [origin, size = "", root = "", blank, signature = "", ...rest] = checkpoint.split("\n");
  if (origin !== name || blank !== "" || rest.join("") !== "" || !/^\d{1,16}$/.test(size)) return undefined;
  const start = `— ${name} `;
  const bytes = signature.startsWith(start) ? bytesOf(signature.slice(start.length)) : undefined;
  const digest = bytesOf(root);
  if (bytes?.length !== 68 || hex(bytes.subarray(0, 4)) !== hint || digest?.length !== 32) return undefined;
  const signer = await crypto.subtle.importKey("raw", typed.slice(1), "Ed25519", false, ["verify"]);
  const text = new TextEncoder().encode(`${origin}\n${size}\n${root}\n`);
  const holds = await crypto.subtle.verify("Ed25519", signer, bytes.slice(4), text);
  return holds ? { size: Number(size), root: hex(digest) } : undefined;
}

async function node(left: string, right: string): Promise<string> {
  return hex(await sha256(fromHex(`01${left}${right}`)));
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(i * 2, i * 2 + 2), 16));
}

/** Undefined unless the text is canonical Base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const text = atob(base64);
    return btoa(text) === base64 ? Uint8Array.from(text, (character) => character.charCodeAt(0)) : undefined;
  } catch {
    return undefined; // no base64 at all
  }
}

function half(place: number): number {
  return Math.floor(place / 2);
}
