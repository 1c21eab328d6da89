import { type FormEvent, type ReactNode, useRef, useState } from "react";
import { Button, type ButtonProps } from "../kit/button.tsx";
import { Dialog } from "../kit/dialog.tsx";
import { Notice } from "../kit/states.tsx";
import { Text } from "../kit/text.tsx";

/** One of the words that end the dialog. */
export interface Choice extends Pick<ButtonProps, "look" | "icon" | "title"> {
  readonly word: string;
  readonly isReady?: boolean;
  /** Whether it counts a press that was made then. */
  readonly takes?: (press: Pick<Event, "timeStamp">) => boolean;
  /** Answers why it was not taken: the dialog then stays, with what was written in it. */
  readonly say: () => Promise<string | undefined>;
}

/** Something is said once and for all: what it is, what goes with it, and the words to say it with, one at a time. */
export function ChoiceDialog({
  title,
  choices,
  wide = false,
  byEnter = false,
  onClose,
  children,
}: {
  readonly title: string;
  /** The last one is what the dialog is there for. */
  readonly choices: readonly Choice[];
  readonly wide?: boolean;
  /** Enter in a field says the last one. */
  readonly byEnter?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const underWay = useRef(false);
  const [said, setSaid] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const say = async ({ word, isReady = true, say }: Choice): Promise<void> => {
    if (!isReady || underWay.current) return;
    underWay.current = true;
    setSaid(word);
    const refused = await say();
    underWay.current = false;
    setSaid(undefined);
    setProblem(refused);
    if (refused === undefined) onClose();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const last = choices.at(-1);
    if (byEnter && last !== undefined) void say(last);
  };
  const footer = (
    <>
      {choices.length === 1 && <Button onClick={onClose}>Back</Button>}
      {choices.map((choice) => {
        const { word, isReady = true, takes = always, say: _, ...look } = choice;
        const isOther = said !== undefined && said !== word;
        return (
          <Button
            key={word}
            {...look}
            busy={said === word}
            disabled={!isReady || isOther}
            onClick={(event) => takes(event) && void say(choice)}
          >
            {word}
          </Button>
        );
      })}
    </>
  );
  return (
    <Dialog title={title} open wide={wide} onClose={onClose} footer={footer}>
      <form onSubmit={submit} className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {problem !== undefined && (
          <Notice>
            <Text lines>{problem}</Text>
          </Notice>
        )}
        {children}
      </form>
    </Dialog>
  );
}

function always(): boolean {
  return true;
}
