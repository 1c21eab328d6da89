import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { messageOf, RuntimeFault } from "@postern/core";
import type { ZodType } from "zod";
import { publicKeyPattern, type WorkerKey } from "./worker-key.ts";

/** What a signature is for: a message of one kind never counts as one of another kind. */
export type SealedKind = "order" | "answer" | "beat" | "progress" | "cancel";

/** Messages of another version are refused by name. */
const version = 1;

/** Why a message is not accepted. */
export type SealProblem = "unsealed" | "other_version" | "unknown_key" | "forged" | "unreadable";

export type Opened<Body> =
  | { readonly body: Body; readonly by: string; readonly publicKey: string; readonly signature: string }
  | { readonly problem: SealProblem; readonly by?: string };

/** A message as text: a line with the kind, the public key and the signature, then the body as JSON. */
export function sealed(kind: SealedKind, body: object, key: WorkerKey): string {
  const json = JSON.stringify(body);
  const head = `postern-${kind}/${version}`;
  return `${head} ${key.publicKey} ${key.sign(`${head}\n${json}`).toString("base64url")}\n${json}`;
}

const headPattern = /^postern-([a-z]+)\/(\d+) ([A-Za-z0-9_-]{43}) ([A-Za-z0-9_-]{86})$/;
const longestHead = 200;

/** The public keys of the other side, by the names that the configuration gives them. */
export class PeerKeys {
  readonly #keys: ReadonlyMap<string, { readonly name: string; readonly key: KeyObject }>;

  /** @throws RuntimeFault `config_invalid` for a text that is no Ed25519 key */
  constructor(keys: Readonly<Record<string, string>>) {
    this.#keys = new Map(
      Object.entries(keys).map(([name, text]) => [text, { name, key: publicKeyOf(name, text) }] as const),
    );
  }

  /** Checks the signature and the shape. A message of a key that is not known is not verified at all. */
  open<Body>(kind: SealedKind, text: string, schema: ZodType<Body>): Opened<Body> {
    const end = text.slice(0, longestHead).indexOf("\n");
    const [head, wasKind, wasVersion, publicKey = "", signature = ""] = headPattern.exec(text.slice(0, end)) ?? [];
    if (head === undefined || wasKind !== kind) return { problem: "unsealed" };
    if (Number(wasVersion) !== version) return { problem: "other_version" };
    const known = this.#keys.get(publicKey);
    if (known === undefined) return { problem: "unknown_key" };
    const json = text.slice(end + 1);
    const signed = Buffer.from(`postern-${kind}/${version}\n${json}`);
    if (!verify(null, signed, known.key, Buffer.from(signature, "base64url")))
      return { problem: "forged", by: known.name };
    const body = schema.safeParse(jsonIn(json));
    if (!body.success) return { problem: "unreadable", by: known.name };
    return { body: body.data, by: known.name, publicKey, signature };
  }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the schema refuses it
  }
}

function publicKeyOf(name: string, x: string): KeyObject {
  try {
    if (!publicKeyPattern.test(x)) throw new TypeError("it is not 43 characters of base64url");
    return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  } catch (error) {
    throw new RuntimeFault(
      "config_invalid",
      `\`workers.keys.${name}\` is no public key (${messageOf(error)}); \`postern workers key\` prints one.`,
      { cause: error },
    );
  }
}
