import { type ReactNode, useState } from "react";
import { post } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { Text } from "../../kit/text.tsx";
import { toast } from "../../kit/toast.tsx";
import { ReasonDialog } from "../reason-dialog.tsx";

interface SwitchProps {
  readonly kind: "tools" | "servers";
  readonly name: string;
  readonly isOff: boolean;
  readonly what: string;
}

export function ServerSwitch({ server, isOff }: { readonly server: string; readonly isOff: boolean }): ReactNode {
  return <Switch kind="servers" name={server} isOff={isOff} what="this server with all its tools" />;
}

export function ToolSwitch({ tool, isOff }: { readonly tool: string; readonly isOff: boolean }): ReactNode {
  return <Switch kind="tools" name={tool} isOff={isOff} what="this tool" />;
}

/** On and off for everybody, at once, with a reason: it is written into the audit log. */
function Switch({ kind, name, isOff, what }: SwitchProps): ReactNode {
  const may = useMay();
  const [isOpen, setIsOpen] = useState(false);
  const word = isOff ? "Switch on" : "Switch off";
  if (!may("tools:switch")) return isOff ? <span className="text-critical">off</span> : null;
  const turn = async (said: object): Promise<void> => {
    await post(`/v1/controls/${kind}/${encodeURIComponent(name)}`, { enabled: isOff, ...said });
    toast(isOff ? "It can be called again." : "Nobody can call it now.");
  };
  return (
    <>
      <Button
        size="small"
        look={isOff ? "primary" : "quiet"}
        onClick={() => setIsOpen(true)}
        aria-label={`${word}: ${name}`}
      >
        {word}
      </Button>
      {isOpen && (
        <ReasonDialog
          title={`${word} ${what}?`}
          word={word}
          look={isOff ? "primary" : "danger"}
          onSend={turn}
          onClose={() => setIsOpen(false)}
        >
          <p>
            <Text className="mono font-medium">{name}</Text> {isOff ? meanings.on : meanings.off}
          </p>
        </ReasonDialog>
      )}
    </>
  );
}

const meanings = {
  on: "can be called again, as policy says.",
  off: "is refused to everybody at once; calls that run go on to their end.",
} as const;
