import type { ComponentProps, ReactNode } from "react";
import type { ApprovalView } from "../../api/approvals.ts";
import { Field } from "../../kit/field.tsx";
import { Text } from "../../kit/text.tsx";
import { ChoiceDialog } from "../choice-dialog.tsx";
import type { Deciding } from "./use-deciding.ts";

export interface DecideDialogProps {
  readonly approval: ApprovalView;
  readonly deciding: Deciding;
  /** What became another since this was opened, to be understood first. */
  readonly changed: ReactNode;
  readonly onClose: () => void;
}

/** Nothing is said in it to what changed meanwhile, before that is understood. */
export function DecisionDialog({
  choices,
  changed,
  children,
  ...rest
}: ComponentProps<typeof ChoiceDialog> & Pick<DecideDialogProps, "changed">): ReactNode {
  const isHeld = changed !== undefined;
  return (
    <ChoiceDialog {...rest} choices={choices.map((one) => (isHeld ? { ...one, isReady: false } : one))}>
      {changed}
      {children}
    </ChoiceDialog>
  );
}

interface WrittenProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** It has the keyboard at once. */
  readonly first?: boolean;
}

/** Why somebody decides as they do: kept with the decision. */
export function Why({
  label = "Why? (may stay empty)",
  hint,
  value,
  onChange,
  first = false,
}: WrittenProps & { readonly label?: string; readonly hint?: ReactNode }): ReactNode {
  return (
    <Field label={label} hint={hint}>
      {(wired) => (
        <input
          {...wired}
          data-first={first || undefined}
          maxLength={2_000}
          autoComplete="off"
          className="input"
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}

/** What was written, if anything was. */
export function wordsIn(text: string): string | undefined {
  const words = text.trim();
  return words === "" ? undefined : words;
}

/** For what is critical: the tool's name is typed, so that no habit of the hand approves it. */
export function TypedName({
  tool,
  value,
  onChange,
  first = false,
}: WrittenProps & { readonly tool: string }): ReactNode {
  return (
    <Field
      label={
        <>
          Type <Text className="mono font-semibold">{tool}</Text> to approve it
        </>
      }
    >
      {(wired) => (
        <input
          {...wired}
          data-first={first || undefined}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          className="input mono"
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}
