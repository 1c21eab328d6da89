import {
  deepFrozen,
  type Json,
  type Preview,
  type Refusal,
  type RefusalCode,
  refusal,
  refusals,
  refusedOutcome,
  type ToolOutcome,
  type Weighing,
} from "@postern/core";

/** How a call ends before its tool runs. Not every ending is a refusal. */
export type Ending = OneEnding & {
  /** The policy decision, if the call got that far. */
  readonly weighing?: Weighing | undefined;
  /** The budget gate refused it, so no budget counts such refusals. */
  readonly uncounted?: true;
  /** What the model reads first. */
  readonly notes?: readonly string[];
};

type OneEnding =
  | { readonly ending: "refused"; readonly refusal: Refusal }
  /** `key`: the recorded call that answers. */
  | { readonly ending: "replayed"; readonly outcome: ToolOutcome; readonly key: string }
  | { readonly ending: "previewed"; readonly preview: Preview }
  /** `asked`: this arrival made the request, so `gate.required` is its terminal event. */
  | {
      readonly ending: "pending";
      readonly approvalId: string;
      readonly expiresAt: number;
      readonly asked: boolean;
      readonly text: string;
    };

/** The outcome of an earlier arrival. A refusal says itself what happened; a result must not be taken for a new one. */
function replayed(outcome: ToolOutcome, callId: string): ToolOutcome {
  const isResult = outcome.status === "ok" || outcome.refusal?.code === "tool_failed";
  if (!isResult) return { ...outcome, callId, replayed: true };
  const note = `This is the answer of the same call made before (\`${outcome.callId}\`); the tool did not run again.`;
  return { ...outcome, callId, replayed: true, notes: [note, ...(outcome.notes ?? [])] };
}

export function isEnding(value: object): value is Ending {
  return "ending" in value;
}

export function refuse(code: RefusalCode, message?: string, details?: Json): Ending {
  return { ending: "refused", refusal: refusal(code, message, details) };
}

/** Frozen, because callers get it and the store keeps it. */
export function outcomeOf(callId: string, end: Ending): ToolOutcome {
  const { notes = [] } = end;
  const outcome = outcomeFor(callId, end);
  return deepFrozen(notes.length === 0 ? outcome : { ...outcome, notes });
}

function outcomeFor(callId: string, end: Ending): ToolOutcome {
  switch (end.ending) {
    case "refused":
      return refusedOutcome(callId, refusals[end.refusal.code].status, end.refusal);
    case "replayed":
      return replayed(end.outcome, callId);
    case "previewed": {
      const text = `Not run, previewed: ${end.preview.summary}`;
      return { status: "preview", callId, content: [{ type: "text", text }], text, preview: end.preview };
    }
    case "pending": {
      const { approvalId, expiresAt, text } = end;
      return { status: "pending", callId, content: [{ type: "text", text }], text, approvalId, expiresAt };
    }
  }
}
