/** Dialogs that end with a choice, and how a change is sent to the server. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useId, useRef, useState } from "react";
import { Problem, sentenceOf } from "../api/index.ts";
import { Button, type ButtonProps, Dialog, ErrorNotice, TextField, toast } from "../kit/index.ts";

/** One of the buttons that end the dialog. */
export interface Choice extends Pick<ButtonProps, "look" | "icon" | "title"> {
  readonly word: string;
  readonly isReady?: boolean;
  /** Whether a press made at that time counts. */
  readonly takes?: (press: Pick<Event, "timeStamp">) => boolean;
  /** Returns why it was refused, empty when a field says it: then the dialog stays, with what was written in it. */
  readonly send: () => Promise<string | undefined>;
}

type ChoiceDialogProps = Readonly<{
  title: string;
  /** The last one is what the dialog is for. */
  choices: readonly Choice[];
  wide?: boolean;
  /** Enter in a field takes the last one. */
  byEnter?: boolean;
  onClose: () => void;
  children: ReactNode;
}>;

/** Takes one choice at a time, and closes when the server accepted it. */
export function ChoiceDialog(props: ChoiceDialogProps): ReactNode {
  const { title, choices, wide = false, byEnter = false, onClose, children } = props;
  const formId = useId();
  const isSending = useRef(false);
  const [sent, setSent] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const take = async ({ word, isReady = true, send }: Choice): Promise<void> => {
    if (!isReady || isSending.current) return;
    isSending.current = true;
    setSent(word);
    const refused = await send();
    isSending.current = false;
    setSent(undefined);
    setProblem(refused);
    if (refused === undefined) onClose();
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const last = choices.at(-1);
    if (byEnter && last !== undefined) void take(last);
  };
  const footer = (
    <>
      {choices.length === 1 && <Button onClick={onClose}>Back</Button>}
      {choices.map((choice) => {
        const { word, isReady = true, takes = () => true, send: _, ...look } = choice;
        const submits = byEnter && choice === choices.at(-1);
        return (
          <Button
            key={word}
            {...look}
            busy={sent === word}
            disabled={!isReady || (sent !== undefined && sent !== word)}
            {...(submits
              ? { type: "submit", form: formId }
              : { onClick: (event) => takes(event) && void take(choice) })}
          >
            {word}
          </Button>
        );
      })}
    </>
  );
  return (
    <Dialog title={title} open wide={wide} onClose={onClose} footer={footer}>
      <form id={formId} onSubmit={submit} className="grid gap-4">
        <ErrorNotice>{problem || undefined}</ErrorNotice>
        {children}
      </form>
    </Dialog>
  );
}

/** Spread into the body: empty when no reason was written. */
export interface WithReason {
  readonly reason?: string;
}

type ReasonDialogProps = Readonly<{
  title: string;
  /** Of the button. */
  word: string;
  look?: "primary" | "danger";
  wide?: boolean;
  label?: string;
  needsReason?: boolean;
  isReady?: boolean;
  onSend: (reason: WithReason) => Promise<unknown>;
  /** Shown when the server accepted it. */
  done?: string;
  onClose: () => void;
  children: ReactNode;
}>;

/** A change that is written into the audit log with a reason. */
export function ReasonDialog(props: ReasonDialogProps): ReactNode {
  const { title, word, look = "primary", wide, label = "Reason", needsReason, isReady = true, onClose } = props;
  const [reason, setReason] = useState("");
  const change = useChange();
  const text = textIn(reason);
  const send = async (): Promise<string | undefined> => {
    const refused = await change(() => props.onSend(text === undefined ? {} : { reason: text }));
    if (refused === undefined && props.done !== undefined) toast(props.done);
    return refused;
  };
  const choice = { word, look, isReady: isReady && (needsReason !== true || text !== undefined), send };
  return (
    <ChoiceDialog title={title} wide={wide === true} choices={[choice]} onClose={onClose}>
      {props.children}
      <TextField
        label={label}
        hint="Kept in the audit log, with your name."
        rows={2}
        first
        value={reason}
        onChange={setReason}
      />
    </ChoiceDialog>
  );
}

/** Undefined when nothing was written. */
export function textIn(text: string): string | undefined {
  return text.trim() === "" ? undefined : text.trim();
}

/** Sends a change and returns why it was refused. Either way, what is shown live is read again. */
export function useChange(): (change: () => Promise<unknown>) => Promise<string | undefined> {
  const client = useQueryClient();
  return async (change) => {
    try {
      await change();
      return undefined;
    } catch (error) {
      return sentenceOf(error);
    } finally {
      void client.invalidateQueries({ queryKey: ["live"] });
    }
  };
}

/** For a form: a refusal stands at the field that it is about, or under the empty name. @param fields as the route has them */
export function useFields(fields: readonly string[]): {
  readonly errors: Readonly<Record<string, string>>;
  /** For `Choice`. */
  readonly send: (change: () => Promise<unknown>) => Promise<string | undefined>;
} {
  const change = useChange();
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const send = async (made: () => Promise<unknown>): Promise<string | undefined> => {
    let field = "";
    const refused = await change(() =>
      made().catch((error: unknown) => {
        field = fields.find((name) => name === fieldOf(error)) ?? "";
        throw error;
      }),
    );
    setErrors(refused === undefined ? {} : { [field]: refused });
    return field === "" ? refused : "";
  };
  return { errors, send };
}

/** The path of what does not fit, or the name that the sentence begins with. */
function fieldOf(error: unknown): string | undefined {
  if (!(error instanceof Problem)) return undefined;
  if (error.code === "account_exists") return "name";
  const [, path] = /"path":"(\w+)/.exec(JSON.stringify(error.body)) ?? [];
  return path ?? /^(?:“|A (?=password))(\w+)/.exec(error.message)?.[1];
}

/** One change at a time, outside of a dialog. `send` returns whether it was accepted. */
export function useSending(): {
  readonly isBusy: boolean;
  /** Why the last one was refused. */
  readonly problem: string | undefined;
  readonly send: (change: () => Promise<unknown>) => Promise<boolean>;
} {
  const change = useChange();
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const send = async (made: () => Promise<unknown>): Promise<boolean> => {
    setIsBusy(true);
    setProblem(undefined);
    const refused = await change(made);
    setProblem(refused);
    setIsBusy(false);
    return refused === undefined;
  };
  return { isBusy, problem, send };
}

type ChangeButtonProps = Pick<ButtonProps, "look" | "size" | "className" | "children"> &
  Readonly<{ change: () => Promise<unknown>; done: string; onEnd?: () => void }>;

/** A button that sends a change. In its row, or below, it shows why the server refused it. */
export function ChangeButton({ change, done, onEnd, ...button }: ChangeButtonProps): ReactNode {
  const { isBusy, problem, send } = useSending();
  const press = async (): Promise<void> => {
    if (await send(change)) toast(done);
    onEnd?.();
  };
  return (
    <>
      <Button {...button} busy={isBusy} onClick={() => void press()} />
      <div className="order-last w-full empty:hidden">
        <ErrorNotice>{problem}</ErrorNotice>
      </div>
    </>
  );
}
