/** Reads checkpoints for the verifier. It shares no code with what writes them. */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";

/** The key that must have signed a log's checkpoints. */
export interface VerifierKey {
  readonly name: string;
  /** Four bytes before each of its signatures. */
  readonly hint: Buffer;
  readonly key: KeyObject;
}

/** A signed statement: the first `size` entries have this root. */
export interface Checkpoint {
  readonly size: number;
  /** 64 hex digits. */
  readonly root: string;
}

/** The DER bytes before the 32 bytes of an Ed25519 public key. */
const spkiPrefix = Buffer.from("302a300506032b6570032100", "hex");
const keyPattern = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/;

/** Reads a C2SP verifier key, `<name>+<hint>+<base64>`. Returns undefined if its parts do not fit each other. */
export function readVerifierKey(text: string): VerifierKey | undefined {
  const [, name = "", hintText = "", keyText = ""] = keyPattern.exec(text) ?? [];
  const typed = strictBase64(keyText);
  if (typed?.length !== 33 || typed[0] !== 1) return undefined;
  const hint = createHash("sha256").update(`${name}\n`).update(typed).digest().subarray(0, 4);
  if (hint.toString("hex") !== hintText) return undefined;
  const der = Buffer.concat([spkiPrefix, typed.subarray(1)]);
  return { name, hint, key: createPublicKey({ key: der, format: "der", type: "spki" }) };
}

/** Returns undefined unless the note is exactly one checkpoint of this key's log, signed by it. */
export function openCheckpoint(note: string, by: VerifierKey): Checkpoint | undefined {
  const lines = note.split("\n");
  const [origin, sizeText = "", rootText = "", blank, ...signatures] = lines;
  if (origin !== by.name || blank !== "" || signatures.pop() !== "") return undefined;
  if (!/^(0|[1-9][0-9]{0,15})$/.test(sizeText)) return undefined;
  const root = strictBase64(rootText);
  if (root?.length !== 32) return undefined;
  const signed = Buffer.from(`${origin}\n${sizeText}\n${rootText}\n`);
  if (!signatures.some((line) => isSignature(line, signed, by))) return undefined;
  return { size: Number(sizeText), root: root.toString("hex") };
}

/** Entries that were erased: places as `0-2,5`, of the log whose first `size` entries have this root. */
export interface ErasedPlaces extends Checkpoint {
  readonly places: string;
}

/** Whether the key signed that these entries are erased. Its first line is that of no checkpoint. */
export function isErasure({ size, root, places }: ErasedPlaces, signature: string, by: VerifierKey): boolean {
  const bytes = strictBase64(signature);
  const signed = `postern audit erasure\n${by.name}\n${size}\n${Buffer.from(root, "hex").toString("base64")}\n${places}\n`;
  return bytes?.length === 64 && verify(null, Buffer.from(signed), by.key, bytes);
}

function isSignature(line: string, signed: Buffer, by: VerifierKey): boolean {
  const start = `— ${by.name} `;
  if (!line.startsWith(start)) return false;
  const bytes = strictBase64(line.slice(start.length));
  if (bytes?.length !== 68 || !bytes.subarray(0, 4).equals(by.hint)) return false;
  return verify(null, signed, by.key, bytes.subarray(4));
}

/** Node ignores mistakes in base64. Here each value has exactly one form. */
function strictBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
