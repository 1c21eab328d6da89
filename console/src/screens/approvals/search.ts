import type { ApprovalView } from "../../api/approvals.ts";

/** Whether each of the words is in what it is, who asks, in which run, or what is said of it. */
export function isFound(
  { approval_id, what, requested_by, refs, preview, summary, reason }: ApprovalView,
  words: string,
): boolean {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return true;
  const { tool, action } = what;
  const { agent, user } = requested_by;
  const all = [approval_id, tool, action, agent, user, refs.run, preview?.summary, summary, reason]
    .join(" ")
    .toLowerCase();
  return wanted.every((word) => all.includes(word));
}
