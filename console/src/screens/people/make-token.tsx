import { type ReactNode, useState } from "react";
import { ask } from "../../api/index.ts";
import { CopyLine, Radios, TextField } from "../../kit/index.ts";
import { ChangeButton } from "../dialogs.tsx";

type MakeTokenProps = Readonly<{
  /** Not only the name, for an agent. */
  isFull?: boolean;
  /** The text of the token that was made. No answer of the server has it again. */
  made: string | undefined;
  onMade: (text: string) => void;
}>;

export function MakeToken({ isFull = false, made, onMade }: MakeTokenProps): ReactNode {
  const [name, setName] = useState("my-agent");
  const [kind, setKind] = useState<"agent" | "person">("agent");
  const [scopes, setScopes] = useState("");
  const make = async (): Promise<void> => {
    const given = scopes.split(/[\s,]+/).filter((one) => one !== "");
    const body = { name: name.trim(), kind, ...(kind === "agent" && { scopes: given }) };
    onMade((await ask("POST /v1/tokens", body)).token);
  };
  if (made !== undefined)
    return (
      <>
        <CopyLine text={made} what="the token" />
        <p className="text-ink-2">Copy it now: no page shows it again. It works for 90 days.</p>
      </>
    );
  return (
    <div className="grid justify-items-start gap-3">
      <TextField label={kind === "agent" ? "Name of the agent" : "Name"} value={name} onChange={setName} />
      {isFull && (
        <Radios
          legend="For"
          value={kind}
          options={[
            ["agent", "an agent: it calls tools, and decides nothing"],
            ["person", "you: a program that decides and reads as you may"],
          ]}
          onChange={setKind}
        />
      )}
      {isFull && kind === "agent" && (
        <TextField label="Scopes" hint="For tools that need one. * is all." value={scopes} onChange={setScopes} />
      )}
      <ChangeButton look="primary" change={make} done="The token was made.">
        Make a token
      </ChangeButton>
    </div>
  );
}
