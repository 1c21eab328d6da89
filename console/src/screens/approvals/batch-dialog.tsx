import { decisionsText } from "@postern/core";
import { type ReactNode, useState } from "react";
import {
  type ApprovalView,
  decideMany,
  denyAll,
  idOf,
  markOf,
  mayDecide,
  namesOf,
  serverNow,
} from "../../api/index.ts";
import { Button, Json, Notice, number, RiskBadge, Text, toast } from "../../kit/index.ts";
import { type Choice, textIn, useChange } from "../dialogs.tsx";
import { WhyAsked } from "./card-parts.tsx";
import { tooEarly, useArmed } from "./deciding.ts";
import { DecisionDialog, Reason } from "./dialogs.tsx";
import { PreviewPart } from "./what-runs.tsx";

const decisions = { approve: "approved", deny: "denied", skip: "skipped" } as const;

/** So many are shown at a time. */
const pageSize = 50;

type BatchDialogProps = Readonly<{
  /** As they are now. */
  alike: readonly ApprovalView[];
  /** How many there are of them, as the server counts. */
  waiting: number;
  where: Parameters<typeof denyAll>[0];
  onClose: () => void;
}>;

/** Decides many requests at once, each as it was when the dialog opened. Each has its own record. */
export function BatchDialog({ alike, waiting, where, onClose }: BatchDialogProps): ReactNode {
  // A request that arrives later is not added: the person has not seen it.
  const [shown, setShown] = useState(() => alike.slice(0, pageSize));
  const [openedMs] = useState(serverNow);
  const now = shown.map((one) => alike.find((other) => idOf(other) === idOf(one)) ?? one);
  const changedCount = now.filter((one, at) => markOf(one) !== markOf(shown[at] ?? one)).length;
  // The button that opened the dialog may be under one of its buttons: a double-click must not press it.
  const armed = useArmed(shown.map(markOf).join());
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(shown.map(idOf)));
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [reason, setReason] = useState("");
  const change = useChange();
  const meant = shown.filter((one) => chosen.has(idOf(one)));
  const closed = meant.filter((one) => !opened.has(markOf(one))).length;
  const decide = (verb: keyof typeof decisions) => () =>
    change(async () => {
      const { answers } = await decideMany(meant, decisions[verb], textIn(reason));
      const failed = answers.find(({ decided }) => !decided);
      const message = decisionsText(verb, answers);
      if (failed === undefined) toast(message);
      else toast(`${message} ${failed.error?.message ?? ""}`, "bad");
    });
  const denyEach = (): Promise<string | undefined> =>
    change(async () => {
      const { denied, problem } = await denyAll(where, openedMs, textIn(reason));
      toast(
        `${number(denied)} denied.${problem === undefined ? "" : ` ${problem}`}`,
        problem === undefined ? "good" : "bad",
      );
    });
  const toggle = (id: string, isIn: boolean): void =>
    setChosen(new Set(isIn ? [...chosen, id] : [...chosen].filter((one) => one !== id)));
  const ready = { isReady: chosen.size > 0 && armed.isArmed, takes: armed.takes };
  const approve = { look: "primary", icon: "check", ...ready, send: decide("approve") } as const;
  const all: readonly Choice[] =
    waiting > shown.length
      ? [
          {
            word: `Deny all ${number(waiting)}`,
            look: "danger",
            title: "Also those that are not shown here; none that comes later",
            isReady: armed.isArmed,
            takes: armed.takes,
            send: denyEach,
          },
        ]
      : [];
  const choices: readonly Choice[] = [
    ...all,
    { word: `Skip ${chosen.size}`, title: "The agent continues without them", ...ready, send: decide("skip") },
    { word: `Deny ${chosen.size}`, look: "danger", icon: "cross", ...ready, send: decide("deny") },
    ...(shown.every((one) => mayDecide(one, "approve"))
      ? [{ word: `Approve ${chosen.size}, each once`, ...approve }]
      : []),
  ];
  const changed = changedCount > 0 && (
    <Notice tone="medium">
      {changedCount} of these changed while you looked at them. What you see is not what would run now.{" "}
      <Button size="small" onClick={() => setShown(now)}>
        Show them as they are
      </Button>
    </Notice>
  );
  return (
    <DecisionDialog
      title={`${chosen.size} of ${number(Math.max(waiting, shown.length))} requests for ${namesOf(where.tool).name}`}
      choices={choices}
      wide
      changed={changed || undefined}
      onClose={onClose}
    >
      <p role="status" className="sr-only">
        {!armed.isArmed && tooEarly}
      </p>
      {waiting > shown.length && (
        <p className="text-ink-2">
          The first {shown.length} of {number(waiting)} are shown. What you approve is what is shown; open this again
          for the next ones.
        </p>
      )}
      {closed > 0 && (
        <p className="text-medium">
          {closed === 1 ? "One preview is" : `${closed} previews are`} not open yet: open each to see all that you
          decide.
        </p>
      )}
      <ul className="grid gap-2">
        {shown.map((one) => (
          <BatchLine
            key={idOf(one)}
            approval={one}
            isChosen={chosen.has(idOf(one))}
            onChoose={(isIn) => toggle(idOf(one), isIn)}
            onOpen={() => setOpened((before) => new Set([...before, markOf(one)]))}
          />
        ))}
      </ul>
      <Reason value={reason} onChange={setReason} hint="If you deny or skip, the agent reads it." />
    </DecisionDialog>
  );
}

type BatchLineProps = Readonly<{
  approval: ApprovalView;
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
  onOpen: () => void;
}>;

/** Shows the arguments at once, and everything else that an approval covers when it is opened. */
function BatchLine({ approval, isChosen, onChoose, onOpen }: BatchLineProps): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const toggle = (isIn: boolean): void => {
    setIsOpen(isIn);
    if (isIn) onOpen();
  };
  const { approval_id: id, what, preview, summary, risk_level: risk } = approval;
  return (
    <li className="grid gap-1 border-b border-line pb-2 last:border-0">
      <div className="flex items-start gap-2.5">
        <input
          id={`batch-${id}`}
          type="checkbox"
          aria-label={`Decide ${id} with the others`}
          className="mt-1 accent-accent"
          checked={isChosen}
          onChange={({ target }) => onChoose(target.checked)}
        />
        <label htmlFor={`batch-${id}`} className="grid min-w-0 flex-1 gap-1">
          <span className="flex flex-wrap items-baseline gap-2">
            <RiskBadge risk={risk} />
            {preview !== undefined && <Text>{preview.summary}</Text>}
          </span>
          {summary !== undefined && summary !== preview?.summary && <Text className="text-high">{summary}</Text>}
          <Json value={what.arguments} />
        </label>
      </div>
      <details className="pl-6" onToggle={({ currentTarget }) => toggle(currentTarget.open)}>
        <summary className="cursor-pointer text-ink-2">Preview and reasons</summary>
        {isOpen && (
          <div className="mt-2 grid gap-2">
            <PreviewPart approval={approval} label={`What changes with ${id}`} />
            <WhyAsked approval={approval} />
          </div>
        )}
      </details>
    </li>
  );
}
