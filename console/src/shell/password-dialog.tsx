import { type FormEvent, type ReactNode, useState } from "react";
import { changePassword } from "../api/index.ts";
import { Button, Dialog, ErrorNotice, TextField } from "../kit/index.ts";
import { useSending } from "../screens/dialogs.tsx";

/** Every session of the account ends with the change. */
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
        <p className="text-ink-2">This signs you out everywhere, here too. Then sign in with the new password.</p>
        <TextField
          label="Current password"
          type="password"
          autoComplete="current-password"
          first
          required
          value={current}
          onChange={setCurrent}
        />
        <TextField
          label="New password"
          type="password"
          autoComplete="new-password"
          required
          value={next}
          onChange={setNext}
        />
        <ErrorNotice>{problem}</ErrorNotice>
        <Button type="submit" look="primary" className="justify-self-end" busy={isBusy}>
          Change password
        </Button>
      </form>
    </Dialog>
  );
}
