import { type ReactNode, useState } from "react";
import { post } from "../../api/client.ts";
import { Button } from "../../kit/button.tsx";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { toast } from "../../kit/toast.tsx";
import { ReasonDialog } from "../reason-dialog.tsx";
import { useSending } from "../use-sending.ts";

type Word = "succeeded" | "failed" | "retry";

const choices: readonly (readonly [word: Word, label: string, more: string])[] = [
  ["succeeded", "It happened", "The call counts as done and is never run again."],
  ["failed", "It did not happen", "The call counts as failed."],
  ["retry", "Run it when asked again", "The next time the same call is sent, it runs."],
];

/** Nobody knows whether it happened. Says what to do, and takes the word of a person who has looked. */
export function Unknown({ callId, maySettle }: { readonly callId: string; readonly maySettle: boolean }): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const { isBusy, problem, send } = useSending();
  const ask = async (): Promise<void> => {
    if (await send(() => post(`/v1/calls/${callId}/reconcile`))) toast("The tool knew what became of it.");
  };
  return (
    <Notice tone="medium">
      <p className="font-medium">It may have happened, or not: no answer came.</p>
      <p>
        Postern stopped meanwhile, the line broke, or its time ran out. Look where it should have had its effect. Until
        somebody says what is so, the same call is refused.
      </p>
      {problem !== undefined && <Text className="block text-critical">{problem}</Text>}
      {maySettle && (
        <p className="mt-2 flex flex-wrap gap-2">
          <Button size="small" busy={isBusy} onClick={() => void ask()}>
            Ask the tool
          </Button>
          <Button size="small" onClick={() => setIsOpen(true)}>
            I have looked
          </Button>
        </p>
      )}
      {isOpen && <Settle callId={callId} onClose={() => setIsOpen(false)} />}
    </Notice>
  );
}

function Settle({ callId, onClose }: { readonly callId: string; readonly onClose: () => void }): ReactNode {
  const [word, setWord] = useState<Word>();
  const settle = async (said: object): Promise<void> => {
    await post(`/v1/calls/${callId}/settle`, { outcome: word, ...said });
    toast("Settled, and written into the audit log.");
  };
  return (
    <ReasonDialog
      title="What became of this call?"
      word="Settle it"
      label="How do you know?"
      needsReason
      isReady={word !== undefined}
      onSend={settle}
      onClose={onClose}
    >
      <Choices chosen={word} onChoose={setWord} />
    </ReasonDialog>
  );
}

function Choices({
  chosen,
  onChoose,
}: {
  readonly chosen: Word | undefined;
  readonly onChoose: (word: Word) => void;
}): ReactNode {
  return (
    <fieldset className="grid gap-2 text-ink">
      <legend className="sr-only">Outcome</legend>
      {choices.map(([value, label, more]) => (
        <label key={value} className="flex items-start gap-2">
          <input
            type="radio"
            name="outcome"
            className="mt-1"
            checked={chosen === value}
            onChange={() => onChoose(value)}
          />
          <span>
            <span className="block font-medium">{label}</span>
            <span className="text-ink-2">{more}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
