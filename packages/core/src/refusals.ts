import type { Json } from "./json.ts";

/** What a caller may do after a refusal. `ask-again`: the same call makes a new request; `same-key`: it is safe to send again. */
export type Retry = "never" | "later" | "changed" | "same-key" | "ask-again";

export interface RefusalKind {
  readonly status: "error" | "denied";
  readonly http: number;
  readonly retry: Retry;
  /** What happened, for the model. */
  readonly message: string;
  /** What the caller can do next, if the retry hint alone does not tell it. */
  readonly next?: string;
}

/** What a caller can do next, by its retry hint. */
const nextByRetry: Readonly<Record<Retry, string>> = {
  never: "Do not send it again as it is.",
  later: "Try again later.",
  changed: "Change the arguments and send it again.",
  "same-key": "Send the same call again later.",
  "ask-again": "Send the call again to ask again.",
};

/** Every way a call can end without a result. Callers decide by the codes, so a code never changes its meaning. */
export const refusals = {
  budget_exhausted: {
    status: "error",
    http: 429,
    retry: "never",
    message: "The call budget of this session is used up; finish with what you have.",
    next: "Finish with what you have.",
  },
  run_foreign: {
    status: "denied",
    http: 403,
    retry: "changed",
    message: "This run belongs to another principal; use one of your own.",
    next: "Use one of your own.",
  },
  session_closed: {
    status: "error",
    http: 410,
    retry: "never",
    message: "This session is closed.",
    next: "Finish with what you have.",
  },
  draining: {
    status: "error",
    http: 503,
    retry: "later",
    message: "Postern stops or restarts, so the tool was not run; send the same call again in a few seconds.",
    next: "Send the same call again in a few seconds.",
  },
  paused: {
    status: "error",
    http: 503,
    retry: "later",
    message: "An operator has paused all tool calls; try again later.",
  },
  tool_unknown: {
    status: "error",
    http: 404,
    retry: "never",
    message: "No tool has this name.",
    next: "List the tools to see what there is.",
  },
  tool_unavailable: { status: "error", http: 503, retry: "later", message: "The tool is not available now." },
  tool_not_callable: {
    status: "error",
    http: 422,
    retry: "never",
    message: "This tool cannot be called from here.",
    next: "Do without it.",
  },
  arguments_invalid: {
    status: "error",
    http: 422,
    retry: "changed",
    message: "The arguments do not fit the tool's schema; the tool was not run.",
  },
  artifact_unavailable: {
    status: "error",
    http: 422,
    retry: "changed",
    message: "An artifact in the arguments is missing or not yours; the tool was not run.",
  },
  secret_in_arguments: {
    status: "denied",
    http: 422,
    retry: "changed",
    message: "The arguments hold a secret; name it by reference instead.",
  },
  permission_denied: {
    status: "denied",
    http: 403,
    retry: "never",
    message: "The policy does not allow this call.",
    next: "Do it another way, or tell the user that it is not allowed.",
  },
  scope_missing: {
    status: "denied",
    http: 403,
    retry: "never",
    message: "This agent lacks a scope the tool needs.",
    next: "Do it another way, or tell the user that the scope is missing.",
  },
  blocked: {
    status: "denied",
    http: 403,
    retry: "never",
    message: "This call is blocked; no approval can lift that.",
    next: "Do it another way, or tell the user that it is blocked.",
  },
  antiflap_blocked: {
    status: "denied",
    http: 429,
    retry: "later",
    message: "The same was done a moment ago; it is not repeated so soon.",
  },
  storm_blocked: {
    status: "denied",
    http: 429,
    retry: "later",
    message: "Too many notifications were sent in the last hour; wait, and send fewer.",
  },
  preview_only: {
    status: "denied",
    http: 403,
    retry: "never",
    message: "At this autonomy level the tool is only previewed, not run.",
    next: "Do it another way, or tell the user what it would do.",
  },
  key_required: {
    status: "error",
    http: 422,
    retry: "changed",
    message: "This tool needs an idempotency key.",
    next: "Send it again with an idempotency key.",
  },
  idempotency_conflict: {
    status: "error",
    http: 409,
    retry: "never",
    message: "This idempotency key was used with other arguments.",
    next: "Send it with the arguments it had, or with another key.",
  },
  in_progress: {
    status: "error",
    http: 409,
    retry: "same-key",
    message: "The same call is running now; send it again later for its outcome.",
    next: "Send it again later for its outcome.",
  },
  outcome_unknown: {
    status: "error",
    http: 504,
    retry: "same-key",
    message: "The call may have happened. Check before you repeat it; an operator can settle it.",
    next: "", // the message has the advice: it depends on what is recorded
  },
  approval_unavailable: {
    status: "denied",
    http: 403,
    retry: "never",
    message: "The call needs a person's approval and no person can be asked.",
    next: "Do it another way, or tell the user that it needs a person.",
  },
  approval_timed_out: {
    status: "denied",
    http: 408,
    retry: "same-key",
    message: "The request was not decided in time and is still open. Send the same call again later.",
  },
  approval_denied: {
    status: "denied",
    http: 403,
    retry: "never",
    message: "A person denied this call.",
    next: "Do not ask again; do something else.",
  },
  approval_skipped: {
    status: "denied",
    http: 403,
    retry: "never",
    message: "Skipped: continue without it.",
    next: "Continue without it.",
  },
  approval_expired: {
    status: "denied",
    http: 408,
    retry: "ask-again",
    message: "The approval is not valid any more.",
  },
  approval_withdrawn: {
    status: "denied",
    http: 409,
    retry: "ask-again",
    message: "The request for approval was withdrawn.",
  },
  cancelled: {
    status: "error",
    http: 499,
    retry: "same-key",
    message: "The caller cancelled the call before the tool was run.",
    next: "Go on without it, or ask whether it is still wanted.",
  },
  audit_unavailable: {
    status: "error",
    http: 503,
    retry: "later",
    message: "Nothing can be recorded now, so the tool was not run.",
  },
  store_lost: {
    status: "error",
    http: 503,
    retry: "later",
    message: "The store was removed or replaced while Postern runs, so the tool was not run.",
  },
  overloaded: { status: "error", http: 429, retry: "later", message: "Too much is waiting; try again later." },
  timed_out: { status: "error", http: 504, retry: "same-key", message: "The tool timed out." },
  tool_failed: { status: "error", http: 502, retry: "never", message: "The tool failed." },
  result_unavailable: {
    status: "error",
    http: 507,
    retry: "never",
    message: "The tool ran and succeeded, but its result could not be kept.",
    next: "Do not repeat the call to see it.",
  },
  result_withheld: {
    status: "error",
    http: 403,
    retry: "never",
    message: "The tool ran, but a guardrail withholds what it answered. Do not repeat the call to see it.",
    next: "Do not repeat the call to see it.",
  },
  internal: {
    status: "error",
    http: 500,
    retry: "later",
    message: "Invoker error: the call could not be carried out.",
  },
} as const;
refusals satisfies Record<string, RefusalKind>;

export type RefusalCode = keyof typeof refusals;

export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
  readonly retry: Retry;
  /** Never secrets, never arguments. */
  readonly details?: Json;
}

/** What a caller can do after a refusal, in a sentence. Empty when the message has the advice. */
export function nextStepOf({ code, retry }: Pick<Refusal, "code" | "retry">): string {
  const { next }: RefusalKind = refusals[code];
  return next ?? nextByRetry[retry];
}

/** @param message what was wrong, with the value, and what to do; by default the table's sentence */
export function refusal(code: RefusalCode, message: string = refusals[code].message, details?: Json): Refusal {
  const { retry } = refusals[code];
  return details === undefined ? { code, message, retry } : { code, message, retry, details };
}
