import type { TimelineCall } from "@postern/core/contract";
import { type ReactNode, useState } from "react";
import { ask, type Sent, useAnswer } from "../../api/index.ts";
import { Button, Notice, Radios } from "../../kit/index.ts";
import { ChangeButton, ReasonDialog, type WithReason } from "../dialogs.tsx";

type Outcome = Sent<"POST /v1/calls/{id}/settle">["outcome"];

const choices: readonly (readonly [outcome: Outcome, label: string, more: string])[] = [
  ["succeeded", "It happened", "The call counts as done and is never run again."],
  ["failed", "It did not happen", "The call counts as failed."],
  ["retry", "Run it when asked again", "The next time the same call is sent, it runs."],
];

type UnknownProps = Readonly<{ call: Pick<TimelineCall, "call_id" | "tool" | "action">; maySettle: boolean }>;

/** The outcome of the call is not known: says what to do, and takes the answer of a person who has looked. */
export function Unknown({ call, maySettle }: UnknownProps): ReactNode {
  const { call_id: callId, tool, action } = call;
  const { data } = useAnswer("GET /v1/tools/{name}", { name: tool }, { enabled: maySettle });
  const knows = data?.actions.find((one) => one.action === action)?.reconciles === true;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Notice tone="medium">
        <p className="font-medium">It may have happened or not: there was no answer.</p>
        <p>
          Postern stopped, the connection broke, or the time limit passed. Look where the call should have had its
          effect. The same call is refused until a person settles this one.
        </p>
        {maySettle && (
          <div className="mt-2 flex flex-wrap gap-2">
            {knows && (
              <ChangeButton
                size="small"
                change={() => ask("POST /v1/calls/{id}/reconcile", { id: callId })}
                done="The tool knew how the call ended."
              >
                Ask the tool
              </ChangeButton>
            )}
            <Button size="small" onClick={() => setIsOpen(true)}>
              I have looked
            </Button>
          </div>
        )}
      </Notice>
      {isOpen && <SettleDialog callId={callId} onClose={() => setIsOpen(false)} />}
    </>
  );
}

function SettleDialog({ callId, onClose }: Readonly<{ callId: string; onClose: () => void }>): ReactNode {
  const [outcome, setOutcome] = useState<Outcome>();
  const settle = async ({ reason = "" }: WithReason): Promise<void> => {
    if (outcome !== undefined) await ask("POST /v1/calls/{id}/settle", { id: callId, outcome, reason });
  };
  return (
    <ReasonDialog
      title="How did this call end?"
      word="Settle it"
      label="How do you know?"
      needsReason
      isReady={outcome !== undefined}
      onSend={settle}
      done="Settled, and written into the audit log."
      onClose={onClose}
    >
      <Radios
        legend="Outcome"
        value={outcome}
        onChange={setOutcome}
        options={choices.map(([id, label, more]) => [
          id,
          <span key={id}>
            <span className="block font-medium">{label}</span>
            <span className="text-ink-2">{more}</span>
          </span>,
        ])}
      />
    </ReasonDialog>
  );
}
