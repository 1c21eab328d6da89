import { type ReactNode, useState } from "react";
import { ask, type Sent } from "../../api/index.ts";
import { Button, Notice, Radios, Text, toast } from "../../kit/index.ts";
import { ReasonDialog, useSending, type WithReason } from "../dialogs.tsx";

type Word = Sent<"POST /v1/calls/{id}/settle">["outcome"];

const choices: readonly (readonly [word: Word, label: string, more: string])[] = [
  ["succeeded", "It happened", "The call counts as done and is never run again."],
  ["failed", "It did not happen", "The call counts as failed."],
  ["retry", "Run it when asked again", "The next time the same call is sent, it runs."],
];

type UnknownProps = Readonly<{ callId: string; maySettle: boolean }>;

/** The outcome of the call is not known: says what to do, and takes the answer of a person who has looked. */
export function Unknown({ callId, maySettle }: UnknownProps): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const { isBusy, problem, send } = useSending();
  const reconcile = async (): Promise<void> => {
    if (await send(() => ask("POST /v1/calls/{id}/reconcile", { id: callId })))
      toast("The tool knew how the call ended.");
  };
  return (
    <>
      <Notice tone="medium">
        <p className="font-medium">It may have happened or not: there was no answer.</p>
        <p>
          Postern stopped, the connection broke, or the time limit passed. Look where the call should have had its
          effect. The same call is refused until a person settles this one.
        </p>
        {problem !== undefined && <Text className="block text-critical">{problem}</Text>}
        {maySettle && (
          <p className="mt-2 flex flex-wrap gap-2">
            <Button size="small" busy={isBusy} onClick={() => void reconcile()}>
              Ask the tool
            </Button>
            <Button size="small" onClick={() => setIsOpen(true)}>
              I have looked
            </Button>
          </p>
        )}
      </Notice>
      {isOpen && <SettleDialog callId={callId} onClose={() => setIsOpen(false)} />}
    </>
  );
}

type SettleDialogProps = Readonly<{ callId: string; onClose: () => void }>;

function SettleDialog({ callId, onClose }: SettleDialogProps): ReactNode {
  const [outcome, setOutcome] = useState<Word>();
  const settle = async ({ reason = "" }: WithReason): Promise<void> => {
    if (outcome !== undefined) await ask("POST /v1/calls/{id}/settle", { id: callId, outcome, reason });
    toast("Settled, and written into the audit log.");
  };
  return (
    <ReasonDialog
      title="How did this call end?"
      word="Settle it"
      label="How do you know?"
      needsReason
      isReady={outcome !== undefined}
      onSend={settle}
      onClose={onClose}
    >
      <Radios
        legend="Outcome"
        value={outcome}
        onChange={setOutcome}
        options={choices.map(([word, label, more]) => [
          word,
          <span key={word}>
            <span className="block font-medium">{label}</span>
            <span className="text-ink-2">{more}</span>
          </span>,
        ])}
      />
    </ReasonDialog>
  );
}
