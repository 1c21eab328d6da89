import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { isJsonObject } from "../core/json.ts";

/** A sign-in elsewhere that was begun and has not come back. */
export interface PendingSignIn {
  readonly redirectUri: string;
  readonly to: string;
  readonly state: string;
  readonly verifier: string;
  readonly nonce: string;
  /** Wall clock, milliseconds; exclusive. */
  readonly until: number;
}

const nonceBytes = 12;
const tagBytes = 16;

/**
 * What was begun, sealed: the browser that began keeps it in a cookie, so there is no table here that others could fill,
 * and it can neither be read nor made elsewhere. The key is this process's own; a restart ends what was begun.
 *
 * Invariant: each opens once, until it is over.
 */
export class PendingSignInSeal {
  readonly #key = randomBytes(32);
  /** States that came back, and until when they would have been good. */
  readonly #used = new Map<string, number>();

  seal(begun: PendingSignIn): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    const text = Buffer.concat([cipher.update(JSON.stringify(begun), "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
  }

  /** Uses it up. Undefined: not ours, for another state, over, or used. */
  open(sealed: string, state: string, now: number): PendingSignIn | undefined {
    const begun = this.#read(sealed);
    if (begun === undefined || begun.state !== state || begun.until <= now || this.#used.has(state)) return undefined;
    for (const [old, until] of this.#used) if (until <= now) this.#used.delete(old);
    this.#used.set(state, begun.until);
    return begun;
  }

  #read(sealed: string): PendingSignIn | undefined {
    const bytes = Buffer.from(sealed, "base64url");
    if (bytes.length <= nonceBytes + tagBytes) return undefined;
    const opening = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, nonceBytes));
    opening.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      const text = Buffer.concat([opening.update(bytes.subarray(nonceBytes + tagBytes)), opening.final()]);
      const body: unknown = JSON.parse(text.toString("utf8"));
      return isJsonObject(body) ? (body as unknown as PendingSignIn) : undefined; // sealed here, by `seal` alone
    } catch {
      return undefined; // it is not what this process sealed
    }
  }
}
