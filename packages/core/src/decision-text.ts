/** What a decision did, in a sentence: the same at the command line and in the console. */

/** The most requests that one decision may name. */
export const largestBatch = 200;

/** Characters of what a person writes to the agent about its request. */
export const longestComment = 1_000;

export interface DecidedRequest {
  readonly status: string;
  readonly what: NamedTarget;
  readonly quorum_left: number;
}

interface NamedTarget {
  readonly tool: string;
  readonly action?: string;
}

/** A tool with its action, if it has several. */
export function actionText({ tool, action = "default" }: NamedTarget): string {
  return action === "default" ? tool : `${tool} · ${action}`;
}

export type DecisionVerbWord = "approve" | "modify" | "deny" | "skip" | "withdraw" | "revoke";

/** Names in it come from others: the caller escapes them. */
export function decisionText(verb: DecisionVerbWord, decided: DecidedRequest): string {
  const { status, quorum_left: left } = decided;
  const name = actionText(decided.what);
  if (status === "pending") {
    const yes = verb === "modify" ? "Your edit is counted as your approval" : "Your approval is counted";
    return `${yes}: ${persons(left)} must agree to ${name}.`;
  }
  switch (verb) {
    case "approve":
    case "modify":
      return `Approved${verb === "modify" ? " as you edited it" : ""}. ${name} runs once, with exactly these arguments.`;
    case "deny":
      return `Denied. ${name} does not run; its agent is told.`;
    case "skip":
      return `Skipped. ${name} does not run; its agent is told to go on without it.`;
    case "withdraw":
      return `Withdrawn. ${name} does not run.`;
    case "revoke":
      return `Revoked. ${name} does not run.`;
  }
}

export const decidedWords = { approve: "approved", deny: "denied", skip: "skipped" } as const;

/** For several requests. Each was decided, was counted, or was not accepted. */
export function decisionsText(
  verb: keyof typeof decidedWords,
  answers: readonly { readonly decided: boolean; readonly approval?: { readonly status: string } | undefined }[],
): string {
  const taken = answers.filter(({ decided }) => decided);
  const open = taken.filter(({ approval }) => approval?.status === "pending").length;
  const groups = [
    [taken.length - open, decidedWords[verb]],
    [open, "counted, and more people must agree"],
    [answers.length - taken.length, "not taken"],
  ] as const;
  const parts = groups.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return `${parts.join("; ")}.`;
}

function persons(count: number): string {
  return `${count} more ${count === 1 ? "person" : "people"}`;
}
