/** The small dialogs that decide a request, and the fields that the larger ones share with them. */
import { type ComponentProps, type ReactNode, useState } from "react";
import type { ApprovalView } from "../../api/index.ts";
import { Button, Text, TextField } from "../../kit/index.ts";
import { type Choice, ChoiceDialog, textIn } from "../dialogs.tsx";
import { CallSentence } from "./about-call.tsx";
import type { Deciding } from "./deciding.ts";

export interface DecideDialogProps {
  readonly approval: ApprovalView;
  readonly deciding: Deciding;
  /** What changed since the dialog opened, to be acknowledged first. */
  readonly changed: ReactNode;
  readonly onClose: () => void;
}

type DecisionDialogProps = ComponentProps<typeof ChoiceDialog> & Pick<DecideDialogProps, "changed">;

/** Its buttons are disabled until a change is acknowledged. */
export function DecisionDialog({ choices, changed, children, ...rest }: DecisionDialogProps): ReactNode {
  const hasChanged = changed !== undefined;
  return (
    <ChoiceDialog {...rest} choices={choices.map((one) => (hasChanged ? { ...one, isReady: false } : one))}>
      {changed}
      {children}
    </ChoiceDialog>
  );
}

type TextProps = Pick<ComponentProps<typeof TextField>, "value" | "onChange" | "first" | "hint">;

/** The reason of a decision, kept with it. */
export function Reason({ label = "Reason (optional)", ...rest }: TextProps & { readonly label?: string }): ReactNode {
  return <TextField label={label} maxLength={2_000} {...rest} />;
}

/** A critical call needs the tool's name typed, so that it is not approved by habit. */
export function TypedName({ tool, ...rest }: TextProps & { readonly tool: string }): ReactNode {
  const label = (
    <>
      Type <Text className="mono font-semibold">{tool}</Text> to approve it
    </>
  );
  return <TextField label={label} mono autoCapitalize="none" {...rest} />;
}

/** For a request that needs the tool's name typed. */
export function ApproveDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const [typed, setTyped] = useState("");
  const { what, routed, quorum_left, preview } = approval;
  const approve = {
    word: "Approve once",
    look: "primary",
    icon: "check",
    isReady: typed === what.tool,
    send: () => deciding.send({ verb: "approve", confirmation: typed }),
  } as const;
  const title = `Approve a call of ${approval.risk_level} risk`;
  return (
    <DecisionDialog title={title} choices={[approve]} byEnter changed={changed} onClose={onClose}>
      <p className="font-medium">
        <CallSentence approval={approval} />
      </p>
      {preview?.supported === true && (
        <p>
          As the tool describes it:{" "}
          <Text lines limit={1_000}>
            {preview.summary}
          </Text>
        </p>
      )}
      <p className="text-ink-2">
        It runs once, with exactly the arguments on the card.
        {routed.quorum > 1 && ` ${quorum_left} of ${routed.quorum} people must still approve.`}
      </p>
      <TypedName tool={what.tool} value={typed} onChange={setTyped} first />
    </DecisionDialog>
  );
}

const commonReasons = ["Not needed", "Wrong target", "Too broad", "Ask me first"];

/** The agent reads the reason and can do better. Enter denies, so that it is quick. */
export function DenyDialog({ approval, deciding, changed, onClose }: DecideDialogProps): ReactNode {
  const [reason, setReason] = useState("");
  const send = (verb: "deny" | "skip") => () => deciding.send({ verb, reason: textIn(reason) });
  const choices: readonly Choice[] = [
    { word: "Skip", title: "The agent continues without it", send: send("skip") },
    { word: "Deny", look: "danger", icon: "cross", send: send("deny") },
  ];
  const hint = (
    <>
      The agent reads the reason. <Text>{approval.what.tool}</Text> does not run.
    </>
  );
  return (
    <DecisionDialog title="Deny this call" choices={choices} byEnter changed={changed} onClose={onClose}>
      <Reason value={reason} onChange={setReason} first hint={hint} />
      <div className="flex flex-wrap gap-1.5">
        {commonReasons.map((one) => (
          <Button key={one} size="small" onClick={() => setReason(one)}>
            {one}
          </Button>
        ))}
      </div>
    </DecisionDialog>
  );
}
