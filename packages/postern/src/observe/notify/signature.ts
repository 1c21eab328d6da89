import { createHmac, timingSafeEqual } from "node:crypto";

/** Standard Webhooks signs `id.timestamp.body` by a shared key. */
export interface Signed {
  readonly id: string;
  /** Whole seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

const prefix = "whsec_";
const base64 = /^[A-Za-z0-9+/]+={0,2}$/;
/** A shorter key could be guessed. */
export const fewestKeyBytes = 24;

/** `whsec_` and base64, as libraries of receivers use it; any other text is the key itself. Returns undefined if it is too short. */
export function keyFrom(secret: string): Buffer | undefined {
  const encoded = secret.startsWith(prefix) ? secret.slice(prefix.length) : undefined;
  const key =
    encoded !== undefined && base64.test(encoded) ? Buffer.from(encoded, "base64") : Buffer.from(secret, "utf8");
  return key.length < fewestKeyBytes ? undefined : key;
}

export function sign(key: Buffer, { id, timestamp, body }: Signed): string {
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}

/** While a key is changed, a header has several signatures with spaces between. One must fit, and all are compared. */
export function isSignedBy(key: Buffer, signed: Signed, header: string): boolean {
  const wanted = Buffer.from(sign(key, signed));
  let fits = false;
  for (const one of header.split(" ").slice(0, 10)) {
    const signature = Buffer.from(one);
    if (signature.length === wanted.length && timingSafeEqual(signature, wanted)) fits = true;
  }
  return fits;
}

/** Slack signs `v0:timestamp:body`, by its app's signing secret. */
export function isSignedBySlack(key: Buffer, { timestamp, body }: Signed, signature: string): boolean {
  const wanted = Buffer.from(signAsSlack(key, { timestamp, body }));
  const given = Buffer.from(signature);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

export function signAsSlack(key: Buffer, { timestamp, body }: Omit<Signed, "id">): string {
  return `v0=${createHmac("sha256", key).update(`v0:${timestamp}:${body}`).digest("hex")}`;
}
