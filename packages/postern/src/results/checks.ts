/** Checks the arguments of an artifact store. */

import { checkMember, type Principal, RuntimeFault, shown } from "@postern/core";
import { checkPrincipal } from "../call/authority.ts";
import type { FindNeeded } from "./artifact-store.ts";
import type { Judgement } from "./judgement.ts";

const code = "request_invalid";

/** @throws RuntimeFault `request_invalid`, or `context_invalid` for an invalid owner */
export function checkPut(bytes: Uint8Array, mediaType: string, owner: Principal): void {
  if (!(bytes instanceof Uint8Array))
    throw new RuntimeFault(code, `\`bytes\` is ${shown(bytes)}; it must be a Uint8Array.`);
  checkMember("mediaType", mediaType, "a text", code);
  checkPrincipal(owner);
}

/** @throws RuntimeFault `request_invalid`, or `context_invalid` for an invalid owner */
export function checkPutStream(chunks: AsyncIterable<Uint8Array>, mediaType: string, owner: Principal): void {
  if (typeof chunks !== "object" || chunks === null || !(Symbol.asyncIterator in chunks))
    throw new RuntimeFault(code, `\`chunks\` is ${shown(chunks)}; it must be an AsyncIterable of Uint8Array.`);
  checkMember("mediaType", mediaType, "a text", code);
  checkPrincipal(owner);
}

/** @throws RuntimeFault `request_invalid`, or `context_invalid` for an invalid principal */
export function checkUse(digest: string, principal: Principal): void {
  checkDigest(digest);
  checkPrincipal(principal);
}

/** @throws RuntimeFault `request_invalid`, or `context_invalid` for an invalid principal */
export function checkJudge(digest: string, principal: Principal, judgement: Judgement): void {
  checkUse(digest, principal);
  checkMember("judgement", judgement, "an object", code);
}

/**
 * @throws RuntimeFault `request_invalid` for a value that is not a text. Any other text is a digest that does not
 * exist.
 */
export function checkDigest(digest: string): void {
  checkMember("digest", digest, "a text", code);
}

/** @throws RuntimeFault `request_invalid` */
export function checkNeeded(needed: FindNeeded): void {
  checkMember("needed", needed, "a function", code);
}
