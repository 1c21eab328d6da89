/** The rules of the bar and the dialogs that decide a request: what a press counts for, and what is sent. */

import { decisionText } from "@postern/core";
import { createElement, useEffect, useRef, useState } from "react";
import {
  type ApprovalView,
  type Decision,
  decide,
  type Mismatches,
  markOf,
  mismatchesOf,
  needsTyping,
  Problem,
  sentenceOf,
  useMay,
} from "../../api/index.ts";
import { type Press, toast } from "../../kit/index.ts";
import { AfterApproval } from "./after-approval.tsx";
import { approvedText } from "./call-sentence.ts";

/** Longer than a slow double-click. */
const quietMs = 1_000;
export const tooEarly = "This has just appeared: its buttons and keys work in a second.";

interface Armed {
  readonly isArmed: boolean;
  /** Whether this press was made since then. */
  readonly takes: (press: Press) => boolean;
  /** Differs whenever the wait begins again. */
  readonly round: string;
  /** Begins the wait again, after a press that came too early. */
  readonly tooEarly: () => void;
}

/**
 * Buttons that have just appeared accept no press for a second: the press may be meant for what was shown before.
 * @param what when it changes, the wait begins again
 */
export function useArmed(what: string): Armed {
  const [tries, setTries] = useState(0);
  const [armed, setArmed] = useState<{ readonly round: string; readonly at: number }>();
  const round = `${tries} ${what}`;
  useEffect(() => {
    const timer = setTimeout(() => setArmed({ round, at: performance.now() }), quietMs);
    return () => clearTimeout(timer);
  }, [round]);
  const since = armed?.round === round ? armed.at : Number.POSITIVE_INFINITY;
  return {
    isArmed: since < Number.POSITIVE_INFINITY,
    takes: ({ timeStamp }) => timeStamp >= since,
    round,
    tooEarly: () => setTries((count) => count + 1),
  };
}

export interface Acknowledged {
  /** The version that the person has seen: a decision applies to it. */
  readonly meant: ApprovalView | undefined;
  /** Whether the call that would run differs from what they saw. */
  readonly isChanged: boolean;
  /** The person has seen this one now. */
  readonly acknowledge: (approval: ApprovalView) => void;
}

/** A request may change while a person looks at it. A decision applies to what they saw, until they acknowledge the change. */
export function useAcknowledged(now: ApprovalView | undefined): Acknowledged {
  const [seen, setSeen] = useState(now);
  if (seen === undefined && now !== undefined) setSeen(now);
  const isChanged = seen !== undefined && now?.status === "pending" && markOf(seen) !== markOf(now);
  return { meant: isChanged ? seen : now, isChanged, acknowledge: setSeen };
}

/** The parts of the card that do not have their digest. `decide` computes it too before it sends an approval. */
export function useMismatches(approval: ApprovalView | undefined): Mismatches {
  const [found, setFound] = useState<{ readonly id: string; readonly mismatches: Mismatches }>();
  useEffect(() => {
    let isCurrent = true;
    if (approval !== undefined)
      void mismatchesOf(approval).then((mismatches) => {
        if (isCurrent) setFound({ id: approval.approval_id, mismatches });
      });
    return () => {
      isCurrent = false;
    };
  }, [approval]);
  return found?.id === approval?.approval_id ? found?.mismatches : undefined;
}

export interface Deciding {
  readonly mayRevoke: boolean;
  /** What is being sent right now. */
  readonly busy: Decision["verb"] | undefined;
  /** Whether an approval needs the tool's name typed: the card says so, or the server asked for it. */
  readonly needsName: boolean;
  /** Returns the server's sentence when it refused. */
  readonly send: (decision: Decision) => Promise<string | undefined>;
}

export interface DecidingOptions {
  /** What the person saw: its digest is sent. */
  readonly meant: ApprovalView;
  /** It has changed since, and the person has not acknowledged it. */
  readonly hasChanged: boolean;
  /** The request after this person's decision. */
  readonly onDecided: (approval: ApprovalView) => void;
  /** The request as the server shows it beside a refusal. */
  readonly onFresh: (approval: ApprovalView) => void;
  readonly onStale: () => void;
  /** The decision needs the tool's name, which the card did not say: an edit may raise the risk. */
  readonly onNameNeeded: () => void;
}

/** Sends one decision at a time. If two come through (two tabs, two people), the server takes one and refuses the other. */
export function useDeciding({ meant, hasChanged, onDecided, ...options }: DecidingOptions): Deciding {
  const may = useMay();
  const isSending = useRef(false);
  const [busy, setBusy] = useState<Decision["verb"]>();
  const [nameFor, setNameFor] = useState<string>();
  const send = async (decision: Decision): Promise<string | undefined> => {
    if (isSending.current) return undefined;
    if (hasChanged) return "It changed while you looked at it. Press “Understood” first.";
    isSending.current = true;
    setBusy(decision.verb);
    try {
      const fresh = await decide(meant, decision);
      onDecided(fresh);
      if (fresh.status === "approved")
        toast(approvedText(fresh), "good", createElement(AfterApproval, { approval: fresh }));
      else toast(decisionText(decision.verb, fresh));
      return undefined;
    } catch (error) {
      if (error instanceof Problem && error.code === "confirmation_needed") {
        setNameFor(meant.approval_id);
        options.onNameNeeded();
      }
      return refused(error, options);
    } finally {
      isSending.current = false;
      setBusy(undefined);
    }
  };
  const needsName = needsTyping(meant) || nameFor === meant.approval_id;
  return { mayRevoke: may("approvals:decide"), busy, needsName, send };
}

function refused(error: unknown, { onFresh, onStale }: Pick<DecidingOptions, "onFresh" | "onStale">): string {
  if (!(error instanceof Problem)) return sentenceOf(error);
  const { body, status, message } = error;
  const beside = typeof body === "object" && body !== null && "approval" in body ? body.approval : undefined;
  if (typeof beside === "object" && beside !== null) onFresh(beside as ApprovalView); // the contract has it whole or not at all
  // Another person decided first, or it changed: the card is read again.
  if (status === 409 || status === 410 || status === 404) onStale();
  return message;
}
