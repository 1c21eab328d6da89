import { useRef, useState } from "react";
import { saidOf } from "../../../../src/cli/said.ts";
import { type ApprovalView, decide, needsTyping, type Said } from "../../api/approvals.ts";
import { Problem, sentenceOf } from "../../api/problem.ts";
import { useMay } from "../../api/session.ts";
import { toast } from "../../kit/toast.tsx";

export interface Deciding {
  /** An approval that nobody has used yet. */
  readonly mayRevoke: boolean;
  /** What is being said right now. */
  readonly busy: Said["verb"] | undefined;
  /** The tool's name is typed for a yes: as the card says, or because the server wants it of what was said. */
  readonly needsName: boolean;
  /** Answers the server's sentence when it did not take it. */
  readonly say: (said: Said) => Promise<string | undefined>;
}

export interface DecidingOptions {
  /** What the person saw and means: of this the digest is sent. */
  readonly meant: ApprovalView;
  /** It is another one now, and they have not said that they know. */
  readonly isHeld: boolean;
  /** How it stands after their own word. */
  readonly onSaid: (approval: ApprovalView) => void;
  readonly onFresh: (approval: ApprovalView) => void;
  readonly onStale: () => void;
  /** What was said needs the tool's name, which the card did not tell: an edit may be of a higher risk. */
  readonly onNameNeeded: () => void;
}

/**
 * One word at a time: a second click while the first is under way is not sent at all. Should two come through all the
 * same (two tabs, two people), the server takes one and tells the other.
 */
export function useDeciding({ meant, isHeld, onSaid, ...answers }: DecidingOptions): Deciding {
  const may = useMay();
  const underWay = useRef(false);
  const [busy, setBusy] = useState<Said["verb"]>();
  const [nameFor, setNameFor] = useState<string>();
  const say = async (said: Said): Promise<string | undefined> => {
    if (underWay.current) return undefined;
    if (isHeld) return "It changed while you looked at it. Press “Understood” first.";
    underWay.current = true;
    setBusy(said.verb);
    try {
      const fresh = await decide(meant, said);
      onSaid(fresh);
      toast(saidOf(said.verb, fresh));
      return undefined;
    } catch (error) {
      if (error instanceof Problem && error.code === "confirmation_needed") {
        setNameFor(meant.approval_id);
        answers.onNameNeeded();
      }
      return refused(error, answers);
    } finally {
      underWay.current = false;
      setBusy(undefined);
    }
  };
  return {
    mayRevoke: may("approvals:decide"),
    busy,
    needsName: needsTyping(meant) || nameFor === meant.approval_id,
    say,
  };
}

function refused(error: unknown, { onFresh, onStale }: Pick<DecidingOptions, "onFresh" | "onStale">): string {
  if (!(error instanceof Problem)) return sentenceOf(error);
  const beside = approvalIn(error.body);
  if (beside !== undefined) onFresh(beside);
  // Somebody was quicker, or it changed: the card shows how things stand, and nothing was decided here.
  if (error.status === 409 || error.status === 410 || error.status === 404) onStale();
  return error.message;
}

function approvalIn(body: unknown): ApprovalView | undefined {
  if (typeof body !== "object" || body === null || !("approval" in body)) return undefined;
  const { approval } = body;
  // The door answers a whole approval beside the error, or none.
  return typeof approval === "object" && approval !== null ? (approval as ApprovalView) : undefined;
}
