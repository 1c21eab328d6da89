import { type ReactNode, useState } from "react";
import { ask, useMay } from "../../api/index.ts";
import { Button, Text, toast } from "../../kit/index.ts";
import { ReasonDialog, type WithReason } from "../dialogs.tsx";

type ToolSwitchProps = Readonly<{ kind: "tools" | "servers"; name: string; isOff: boolean }>;

/** Switches a tool or a server off for all callers, with a reason for the audit log. */
export function ToolSwitch({ kind, name, isOff }: ToolSwitchProps): ReactNode {
  const may = useMay();
  const [isOpen, setIsOpen] = useState(false);
  const word = isOff ? "Switch on" : "Switch off";
  if (!may("tools:switch")) return isOff ? <span className="text-critical">off</span> : null;
  const change = async (reason: WithReason): Promise<void> => {
    await ask(`POST /v1/controls/${kind}/{name}`, { name, enabled: isOff, ...reason });
    toast(isOff ? "It can be called again." : "It cannot be called now.");
  };
  const look = isOff ? "primary" : "danger";
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
          title={`${word} ${kind === "tools" ? "this tool" : "this server with all its tools"}?`}
          word={word}
          look={look}
          onSend={change}
          onClose={() => setIsOpen(false)}
        >
          <p>
            <Text className="mono font-medium">{name}</Text>{" "}
            {isOff
              ? "can be called again, as the policy says."
              : "is refused to all callers at once; calls that run now finish."}
          </p>
        </ReasonDialog>
      )}
    </>
  );
}
