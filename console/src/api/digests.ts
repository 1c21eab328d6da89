/**
 * This browser hashes what it shows and compares it with the digests that an approval binds. Invariant: nothing is
 * approved whose digests differ.
 */

import type { ApprovalView, PreviewView } from "@postern/core/contract";
import { canonical, sha256 } from "../kit/canonical.ts";

/** The parts whose digest differs. Undefined when the browser has no WebCrypto. */
export type Mismatches = readonly ("arguments" | "preview" | "card")[] | undefined;

/** An approval that was read never changes, so it is hashed once. */
const known = new WeakMap<ApprovalView, Promise<Mismatches>>();
const texts = new WeakMap<object, string>();

/** @throws Error with a sentence for a person, when a digest differs */
export async function assertDigests(approvals: readonly ApprovalView[]): Promise<void> {
  for (const mismatches of await Promise.all(approvals.map(mismatchesOf))) {
    const message = mismatchText(mismatches);
    if (message !== undefined) throw new Error(message);
  }
}

export function mismatchesOf(approval: ApprovalView): Promise<Mismatches> {
  const before = known.get(approval);
  if (before !== undefined) return before;
  const found = hashed(approval);
  known.set(approval, found);
  return found;
}

/** The RFC 8785 text of what would run. */
export function exactText({ what: { arguments: given } }: ApprovalView): string {
  const text = texts.get(given) ?? canonical(given);
  texts.set(given, text);
  return text;
}

/** A sentence for a person. Undefined when nothing differs. */
export function mismatchText(mismatches: Mismatches): string | undefined {
  if (mismatches === undefined || mismatches.length === 0) return undefined;
  const what = mismatches.map((one) => words[one]).join(" and ");
  return `What you see is not what would be approved: ${what} of this request ${mismatches.length > 1 ? "do" : "does"} not have the digest that it is sent with. It cannot be approved here. Reload the page. If this stays, report it to the operator of Postern.`;
}

const words = { arguments: "the arguments", preview: "the preview", card: "the card" } as const;

async function hashed(approval: ApprovalView): Promise<Mismatches> {
  const { binding, digest, preview, preview_digest, shown_digest } = approval;
  const given = await sha256(exactText(approval));
  if (given === undefined) return undefined;
  const previewed = preview === undefined ? undefined : await previewDigest(preview);
  const bound = await sha256(canonical(boundOf(approval)));
  const shown = await sha256(canonical(shownOf(approval)));
  return [
    ...(given === digest ? [] : (["arguments"] as const)),
    ...(previewed === preview_digest ? [] : (["preview"] as const)),
    ...(shown === shown_digest && bound === binding ? [] : (["card"] as const)),
  ];
}

/** As docs/reference/approvals.md defines it. */
async function previewDigest({ kind: _, problem: _said, ...preview }: PreviewView): Promise<string | undefined> {
  return sha256((await sha256(canonical({ details: null, diff: null, ...preview }))) ?? "");
}

function boundOf({ what, digest, definition, expires_at, refs, requested_by }: ApprovalView): object {
  const { tenant, agent, user = "" } = requested_by;
  const { tool, action } = what;
  const by = { tenant, agent, user, key: refs.key };
  return { tool, action, arguments: digest, definition, expires_at: Date.parse(expires_at), ...by };
}

function shownOf({ binding, digest, preview, preview_digest, risk_level, summary, why }: ApprovalView): object {
  return {
    binding,
    digest,
    preview_digest: preview_digest ?? null,
    preview_problem: preview?.problem ?? null,
    risk_level,
    summary: summary ?? null,
    why,
  };
}
