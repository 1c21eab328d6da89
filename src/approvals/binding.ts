import type { ToolCall } from "../calls/call.ts";
import { digestOf, sha256 } from "../calls/json.ts";
import type { Preview } from "../calls/outcome.ts";

/** What an approval is bound to: exactly what was shown, for whom, and until when (D18). */
export interface Bound extends Pick<ToolCall, "tool" | "action" | "digest" | "authority"> {
  readonly key: string;
  readonly found: { readonly definition: string };
}

/** SHA-256 over RFC 8785 bytes; the exact arguments are in it by their own digest, over their own RFC 8785 bytes. */
export function bind({ tool, action, digest, authority, key, found }: Bound, expiresAt: number): string {
  const { tenant, agent, user = "" } = authority.principal;
  return digestOf({ action, agent, arguments: digest, definition: found.definition, expires_at: expiresAt, key, tenant, tool, user });
}

/** A preview is stored with its digest: what was shown can be compared with what would be shown now. */
export function previewDigest(preview: Preview): string {
  const { summary, diff = null, details = null, supported } = preview;
  return sha256(digestOf({ details, diff, summary, supported }));
}
