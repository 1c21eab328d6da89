import { type ReactNode, useState } from "react";
import { saidOfMany } from "../../../../src/cli/said.ts";
import { type ApprovalView, decideMany, maySay, namesOf } from "../../api/approvals.ts";
import { Button } from "../../kit/button.tsx";
import { Notice } from "../../kit/states.tsx";
import { toast } from "../../kit/toast.tsx";
import type { Choice } from "../choice-dialog.tsx";
import { useTelling } from "../use-sending.ts";
import { BatchLine } from "./batch-line.tsx";
import { DecisionDialog, Why, wordsIn } from "./decision-fields.tsx";
import { useInbox } from "./inbox.ts";
import { TooEarly } from "./too-early.tsx";
import { markOf } from "./use-acknowledged.ts";
import { useArmed } from "./use-armed.ts";

const decisions = { approve: "approved", deny: "denied", skip: "skipped" } as const;

/** Many at once, each as it was when this was opened, and each recorded by itself. */
export function BatchDialog({
  alike,
  onClose,
}: {
  readonly alike: readonly ApprovalView[];
  readonly onClose: () => void;
}): ReactNode {
  const { approvals, reload } = useInbox();
  // What was there when it was opened: one that arrives later is not decided unseen.
  const [shown, setShown] = useState(alike);
  const now = shown.map((one) => approvals.find(({ approval_id }) => approval_id === one.approval_id) ?? one);
  const others = now.filter((one, at) => markOf(one) !== markOf(shown[at] ?? one)).length;
  // The button that opened this may lie under one of these.
  const armed = useArmed(shown.map(markOf).join());
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(alike.map(({ approval_id }) => approval_id)));
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const folded = shown.filter((one) => chosen.has(one.approval_id) && !opened.has(markOf(one))).length;
  const [reason, setReason] = useState("");
  const tell = useTelling();
  const meant = shown.filter(({ approval_id }) => chosen.has(approval_id));
  const decide = (verb: "approve" | "deny" | "skip") => () =>
    tell(async () => {
      const { answers } = await decideMany(meant, decisions[verb], wordsIn(reason));
      const failed = answers.find(({ decided }) => !decided);
      const said = saidOfMany(verb, answers);
      toast(
        failed === undefined ? said : `${said} ${failed.error?.message ?? ""}`,
        failed === undefined ? "good" : "bad",
      );
      reload();
    });
  const toggle = (id: string, isIn: boolean): void => {
    const next = new Set(chosen);
    if (isIn) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const ready = { isReady: chosen.size > 0 && armed.isArmed, takes: armed.takes };
  const changed =
    others === 0 ? undefined : (
      <Notice tone="medium">
        {others} of these changed while you looked at them. What you see is what you would have decided.{" "}
        <Button size="small" onClick={() => setShown(now)}>
          Show them as they are
        </Button>
      </Notice>
    );
  const choices: readonly Choice[] = [
    { word: `Skip ${chosen.size}`, title: "The agent is told to go on without them", ...ready, say: decide("skip") },
    { word: `Deny ${chosen.size}`, look: "danger", icon: "cross", ...ready, say: decide("deny") },
    ...(shown.every((one) => maySay(one, "approve"))
      ? [
          {
            word: `Approve ${chosen.size}, each once`,
            look: "primary",
            icon: "check",
            ...ready,
            say: decide("approve"),
          } as const,
        ]
      : []),
  ];
  return (
    <DecisionDialog
      title={`${chosen.size} of ${shown.length} requests for ${namesOf(alike[0]?.what.tool ?? "").name}`}
      choices={choices}
      wide
      changed={changed}
      onClose={onClose}
    >
      <TooEarly armed={armed} />
      {folded > 0 && (
        <p className="text-medium">
          {folded === 1 ? "One line is" : `${folded} lines are`} folded still: open each to see all that you decide.
        </p>
      )}
      <ul className="grid gap-2">
        {shown.map((one) => (
          <BatchLine
            key={one.approval_id}
            approval={one}
            isChosen={chosen.has(one.approval_id)}
            onChoose={(isIn) => toggle(one.approval_id, isIn)}
            onOpen={() => setOpened((before) => new Set([...before, markOf(one)]))}
          />
        ))}
      </ul>
      <Why value={reason} onChange={setReason} hint="If you deny or skip, the agent reads it." />
    </DecisionDialog>
  );
}
