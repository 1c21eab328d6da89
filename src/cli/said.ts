/**
 * What somebody's word has brought, in a sentence: the same at the command line, in `watch` and in the console, which is
 * built with this file. It stands alone: it knows the wire by its shape.
 */
export interface DecidedRequest {
  readonly status: string;
  readonly what: NamedTarget;
  readonly quorum_left: number;
}

interface NamedTarget {
  readonly tool: string;
  readonly action?: string;
}

/** A tool as people read it: with its action, where it has several. */
export function actionText({ tool, action = "default" }: NamedTarget): string {
  return action === "default" ? tool : `${tool} · ${action}`;
}

export type DecisionVerbWord = "approve" | "modify" | "deny" | "skip" | "withdraw" | "revoke";

/** Whose names are strangers': drawn as such. */
export function saidOf(verb: DecisionVerbWord, decided: DecidedRequest): string {
  const { status, quorum_left: left } = decided;
  const name = actionText(decided.what);
  if (status === "pending") {
    const yes = verb === "modify" ? "Your edit is counted as your yes" : "Your yes is counted";
    return `${yes}: ${persons(left)} must agree to ${name}.`;
  }
  switch (verb) {
    case "approve":
    case "modify":
      return `Approved${verb === "modify" ? " as you edited it" : ""}. ${name} runs once, with exactly these arguments.`;
    case "deny":
      return `Denied. ${name} does not run; its agent is told so.`;
    case "skip":
      return `Skipped. ${name} does not run; its agent is told to go on without it.`;
    case "withdraw":
      return `Withdrawn. ${name} does not run.`;
    case "revoke":
      return `Revoked. ${name} does not run.`;
  }
}

export const decidedWords = { approve: "approved", deny: "denied", skip: "skipped" } as const;

/** Of many, each of which was decided, was counted, or was not taken. */
export function saidOfMany(
  verb: keyof typeof decidedWords,
  answers: readonly { readonly decided: boolean; readonly approval?: { readonly status: string } | undefined }[],
): string {
  const taken = answers.filter(({ decided }) => decided);
  const open = taken.filter(({ approval }) => approval?.status === "pending").length;
  const said = [
    [taken.length - open, decidedWords[verb]],
    [open, "counted, and more people must agree"],
    [answers.length - taken.length, "not taken"],
  ] as const;
  const parts = said.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`);
  return `${parts.join("; ")}.`;
}

function persons(count: number): string {
  return `${count} more ${count === 1 ? "person" : "people"}`;
}
