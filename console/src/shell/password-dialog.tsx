import { type ReactNode, useState } from "react";
import { changePassword } from "../api/index.ts";
import { TextField } from "../kit/index.ts";
import { ChoiceDialog, useChange } from "../screens/dialogs.tsx";

/** Every session of the account ends with the change. */
export function PasswordDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const change = useChange();
  const send = async (): Promise<string | undefined> => {
    const refused = await change(() => changePassword(current, next));
    if (refused === undefined) location.assign("/"); // signed out everywhere
    return refused;
  };
  const isReady = current !== "" && next !== "";
  const choice = { word: "Change password", look: "primary", isReady, send } as const;
  return (
    <ChoiceDialog title="Change your password" choices={[choice]} byEnter onClose={onClose}>
      <p className="text-ink-2">This signs you out everywhere, here too. Then sign in with the new password.</p>
      <TextField
        label="Current password"
        type="password"
        autoComplete="current-password"
        first
        value={current}
        onChange={setCurrent}
      />
      <TextField label="New password" type="password" autoComplete="new-password" value={next} onChange={setNext} />
    </ChoiceDialog>
  );
}
