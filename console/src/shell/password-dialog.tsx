import { type FormEvent, type ReactNode, useState } from "react";
import { changePassword } from "../api/session.ts";
import { Button } from "../kit/button.tsx";
import { Dialog } from "../kit/dialog.tsx";
import { Field } from "../kit/field.tsx";
import { Notice } from "../kit/states.tsx";
import { Text } from "../kit/text.tsx";
import { useSending } from "../screens/use-sending.ts";

/** One's own password, by whoever knows the one before. Every session of the account ends with it. */
export function PasswordDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const { isBusy, problem, send } = useSending();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (await send(() => changePassword(current, next))) location.assign("/"); // signed out everywhere
  };
  return (
    <Dialog title="Change your password" open onClose={onClose}>
      <form className="grid gap-3.5" onSubmit={(event) => void submit(event)}>
        <p className="text-ink-2">You are signed out everywhere then, here too, and sign in with the new one.</p>
        <Password
          label="The one you have"
          autoComplete="current-password"
          first
          value={current}
          onChange={setCurrent}
        />
        <Password label="The new one" autoComplete="new-password" value={next} onChange={setNext} />
        {problem !== undefined && (
          <Notice>
            <Text>{problem}</Text>
          </Notice>
        )}
        <Button type="submit" look="primary" className="justify-self-end" busy={isBusy}>
          Change it
        </Button>
      </form>
    </Dialog>
  );
}

function Password({
  label,
  autoComplete,
  first = false,
  value,
  onChange,
}: {
  readonly label: string;
  readonly autoComplete: "current-password" | "new-password";
  /** It has the keyboard at once. */
  readonly first?: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  return (
    <Field label={label}>
      {(wired) => (
        <input
          {...wired}
          data-first={first || undefined}
          required
          type="password"
          autoComplete={autoComplete}
          className="input"
          value={value}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Field>
  );
}
