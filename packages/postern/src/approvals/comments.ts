/** What people write to the agent about its request, without deciding it. The agent reads it before the decision. */
import { type ApprovalComment, type ApprovalRecord, longestComment } from "@postern/core";
import type { DecisionProblem } from "./decision.ts";

/** Of one request, of all people. */
const mostComments = 20;

interface CommentProblem {
  readonly code: DecisionProblem;
  readonly message: string;
}

export function textProblem(text: string): CommentProblem | undefined {
  if (text.trim() !== "" && text.length <= longestComment) return undefined;
  const found = text.trim() === "" ? "this one is empty" : `this one has ${text.length}`;
  return { code: "decision_invalid", message: `A comment has 1 to ${longestComment} characters; ${found}.` };
}

/** Undefined if it takes one more. */
export function fullProblem({
  id,
  comments = [],
}: Pick<ApprovalRecord, "id" | "comments">): CommentProblem | undefined {
  if (comments.length < mostComments) return undefined;
  const message = `\`${id}\` has ${comments.length} comments and takes no more; decide it, or let it expire.`;
  return { code: "comments_full", message };
}

/** For the agent, the newest first. */
export function commentNotes({ comments = [] }: Pick<ApprovalRecord, "comments">): readonly string[] {
  return comments.map(commentNote).toReversed();
}

/** Quoted, so that the text of a person cannot look like a sentence of Postern. */
export function commentNote({ by, text }: Pick<ApprovalComment, "by" | "text">): string {
  return `A person (${by}) wrote to you about this request, without deciding it: ${JSON.stringify(text)}.`;
}
