import { isRole, type Role, roles } from "@postern/core";
import type { AccountAnswer } from "@postern/core/contract";
import { type ReactNode, useState } from "react";
import { type Answer, ask, plainSentence } from "../../api/index.ts";
import { Check, CopyLine, Group, Part, TextField, Time } from "../../kit/index.ts";
import { ChangeButton, ChoiceDialog, useFields } from "../dialogs.tsx";

const tasks: Readonly<Record<Role, string>> = {
  viewer: "reads",
  approver: "decides requests",
  operator: "calls and pauses tools, changes the policy",
  auditor: "reads and exports the audit log",
  admin: "gives accounts, roles and tokens",
};

type PersonDialogProps = Readonly<{
  /** Undefined: a person is added. */
  account: AccountAnswer | undefined;
  /** No person has an account yet. */
  isFirst?: boolean;
  onAdded?: (name: string) => void;
  onClose: () => void;
}>;

export function PersonDialog({ account, isFirst = false, onAdded, onClose }: PersonDialogProps): ReactNode {
  const [name, setName] = useState(account?.name ?? "");
  const [displayName, setDisplayName] = useState(account?.display_name ?? "");
  const [held, setHeld] = useState<readonly Role[]>(account?.roles.filter(isRole) ?? (isFirst ? roles : ["viewer"]));
  const [groups, setGroups] = useState(account?.groups.join(", ") ?? "");
  const [disabled, setDisabled] = useState(account?.disabled ?? false);
  const { errors, send } = useFields(["name", "display_name", "groups"]);
  const words = groups.split(",").map((word) => word.trim());
  const about = {
    ...{ name, display_name: displayName.trim() || name, roles: [...held] },
    groups: words.filter((word) => word !== ""),
  };
  const save = (): Promise<string | undefined> =>
    send(async () => {
      if (account !== undefined) return ask("PATCH /v1/accounts/{name}", { ...about, disabled });
      await ask("POST /v1/accounts", about);
      return onAdded?.(name);
    });
  return (
    <ChoiceDialog
      title={account?.display_name ?? "Add a person"}
      choices={[{ word: account === undefined ? "Add" : "Save", look: "primary", isReady: name !== "", send: save }]}
      onClose={onClose}
    >
      {account === undefined && (
        <TextField
          label="Name to sign in with"
          hint="It stays as it is."
          first
          autoCapitalize="none"
          value={name}
          onChange={setName}
          error={errors["name"]}
        />
      )}
      <TextField
        label="Name that people read"
        value={displayName}
        onChange={setDisplayName}
        error={errors["display_name"]}
      />
      <Group legend="Roles">
        {roles.map((role) => (
          <Check
            key={role}
            isOn={held.includes(role)}
            onChange={(isOn) => setHeld(roles.filter((one) => (one === role ? isOn : held.includes(one))))}
          >
            {`${role}: ${tasks[role]}`}
          </Check>
        ))}
      </Group>
      <TextField
        label="Groups"
        hint="With commas between."
        value={groups}
        onChange={setGroups}
        error={errors["groups"]}
      />
      {account === undefined && (
        <p className="text-ink-2">
          {isFirst
            ? plainSentence(
                `Your session ends then, because from the first person on only people sign in. In a terminal, \`postern accounts link ${name || "NAME"}\` makes a link for this one.`,
              )
            : "Then you make a link for the person, or set a password."}
        </p>
      )}
      {account !== undefined && (
        <>
          <Check isOn={disabled} onChange={setDisabled}>
            Disabled: may not sign in, and tokens of theirs do not work
          </Check>
          <SignIn account={account} />
        </>
      )}
    </ChoiceDialog>
  );
}

/** Each button acts at once. */
function SignIn({ account: { name, signs_in: way, disabled } }: { readonly account: AccountAnswer }): ReactNode {
  const [link, setLink] = useState<Answer<"POST /v1/accounts/{name}/link">>();
  const [password, setPassword] = useState("");
  return (
    <Part label="Sign-in">
      {link !== undefined && (
        <>
          <CopyLine text={link.url} what="the link" />
          <p className="text-ink-2">
            Send it to the person. It signs in once, and ends <Time at={link.expires_at} />. No page shows it again.
          </p>
        </>
      )}
      <div className="flex flex-wrap gap-2">
        {!disabled && (
          <ChangeButton
            change={async () => setLink(await ask("POST /v1/accounts/{name}/link", { name }))}
            done="The link was made."
          >
            Make a link
          </ChangeButton>
        )}
        <ChangeButton change={() => ask("POST /v1/accounts/{name}/sign-out", { name })} done="Signed out everywhere.">
          Sign out everywhere
        </ChangeButton>
      </div>
      {way !== "openid" && (
        <div className="grid justify-items-start gap-2">
          <TextField
            label="New password"
            type="password"
            autoComplete="new-password"
            value={password}
            onChange={setPassword}
          />
          <ChangeButton
            change={() => ask("PUT /v1/accounts/{name}/password", { name, password })}
            done="The password was set. Sessions of the person ended."
          >
            Set the password
          </ChangeButton>
        </div>
      )}
    </Part>
  );
}
