import { decisionsText } from "@postern/core";
import { type ReactNode, useMemo, useState } from "react";
import { type ApprovalView, decideMany, idOf, markOf, mayDecide, namesOf } from "../../api/index.ts";
import { Button, type Column, Json, Notice, number, RiskBadge, Table, Text, toast } from "../../kit/index.ts";
import { type Choice, textIn, useChange } from "../dialogs.tsx";
import { batchColumns } from "./batch-columns.ts";
import { WhyAsked } from "./card-parts.tsx";
import { tooEarly, useArmed } from "./deciding.ts";
import { DecisionDialog, Reason } from "./dialogs.tsx";
import { hasPreview, PreviewPart } from "./what-runs.tsx";

const decisions = { approve: "approved", deny: "denied", skip: "skipped" } as const;

/** So many are shown at a time. */
const pageSize = 50;

type BatchDialogProps = Readonly<{
  /** As they are now. */
  alike: readonly ApprovalView[];
  /** How many there are of them, as the server counts. */
  waiting: number;
  tool: string;
  onClose: () => void;
}>;

/** Decides many requests at once, each as it was when the dialog opened. Each has its own record. */
export function BatchDialog({ alike, waiting, tool, onClose }: BatchDialogProps): ReactNode {
  // A request that arrives later is not added: the person has not seen it.
  const [shown, setShown] = useState(() => alike.slice(0, pageSize));
  const now = shown.map((one) => alike.find((other) => idOf(other) === idOf(one)) ?? one);
  const changedCount = now.filter((one, at) => markOf(one) !== markOf(shown[at] ?? one)).length;
  // The button that opened the dialog may be under one of its buttons: a double-click must not press it.
  const armed = useArmed(shown.map(markOf).join());
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(shown.map(idOf)));
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [reason, setReason] = useState("");
  const change = useChange();
  const meant = shown.filter((one) => chosen.has(idOf(one)));
  const closed = meant.filter((one) => hasPreview(one) && !opened.has(markOf(one))).length;
  const decide = (verb: keyof typeof decisions) => () =>
    change(async () => {
      const { answers } = await decideMany(meant, decisions[verb], textIn(reason));
      const failed = answers.find(({ decided }) => !decided);
      const message = decisionsText(verb, answers);
      if (failed === undefined) toast(message);
      else toast(`${message} ${failed.error?.message ?? ""}`, "bad");
    });
  const toggle = (id: string, isIn: boolean): void =>
    setChosen(new Set(isIn ? [...chosen, id] : [...chosen].filter((one) => one !== id)));
  const ready = { isReady: chosen.size > 0 && armed.isArmed, takes: armed.takes };
  const approve = { look: "primary", icon: "check", ...ready, send: decide("approve") } as const;
  const choices: readonly Choice[] = [
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
      title={`${chosen.size} of ${number(Math.max(waiting, shown.length))} requests for ${namesOf(tool).name}`}
      choices={choices}
      wide
      changed={changed || undefined}
      onClose={onClose}
    >
      <p role="status" className="sr-only">
        {!armed.isArmed && tooEarly}
      </p>
      {shown.length === 0 && <p>Each of these is approved alone.</p>}
      {shown.length > 0 && waiting > shown.length && (
        <p className="text-ink-2">
          The first {shown.length} of {number(waiting)} are shown. What you approve is what is shown; open this again
          for the next ones.
        </p>
      )}
      {closed > 0 && (
        <p className="flex flex-wrap items-center gap-2 text-medium">
          {closed === 1 ? "One preview is" : `${closed} previews are`} not open yet: open each to see all that you
          decide.
          <Button size="small" onClick={() => setOpened(new Set(shown.map(markOf)))}>
            Open all
          </Button>
        </p>
      )}
      <BatchTable
        approvals={shown}
        chosen={chosen}
        opened={opened}
        onChoose={toggle}
        onOpen={(mark) => setOpened(new Set([...opened, mark]))}
      />
      <Reason value={reason} onChange={setReason} hint="If you deny or skip, the agent reads it." />
    </DecisionDialog>
  );
}

type BatchTableProps = Readonly<{
  approvals: readonly ApprovalView[];
  /** Their ids. */
  chosen: ReadonlySet<string>;
  onChoose: (id: string, isChosen: boolean) => void;
  /** Their marks. */
  opened: ReadonlySet<string>;
  onOpen: (mark: string) => void;
}>;

/** If more differ, all arguments are in one column. */
const mostColumns = 6;
/** Longer texts, and values of other kinds, are shown as JSON. */
const mostPlain = 200;

/** A column for each argument that differs. What else an approval covers opens under its row. */
function BatchTable({ approvals, chosen, opened, onChoose, onOpen }: BatchTableProps): ReactNode {
  const { shared, differing } = useMemo(() => batchColumns(approvals.map(({ what }) => what.arguments)), [approvals]);
  const columns: readonly Column<ApprovalView>[] = [
    {
      name: "Decide",
      cell: ({ approval_id: id }) => (
        <input
          type="checkbox"
          aria-label={`Decide ${id} with the others`}
          className="accent-accent"
          checked={chosen.has(id)}
          onChange={({ target }) => onChoose(id, target.checked)}
        />
      ),
    },
    ...(differing.length > mostColumns
      ? [{ name: "Arguments", cell: ({ what }: ApprovalView) => <Json value={what.arguments} /> }]
      : differing.map((name) => ({
          name,
          id: `argument ${name}`,
          cell: ({ what }: ApprovalView) => Object.hasOwn(what.arguments, name) && cellOf(what.arguments[name]),
        }))),
    {
      name: "What will happen",
      cell: ({ preview, summary }) => (
        <Text lines>{[...new Set([preview?.summary, summary])].filter((text) => text !== undefined).join("\n")}</Text>
      ),
    },
    {
      name: "More",
      cell: (one) =>
        !opened.has(markOf(one)) && (
          <Button size="small" onClick={() => onOpen(markOf(one))}>
            Preview and reasons
          </Button>
        ),
    },
  ];
  return (
    <>
      <p className="flex items-center gap-2">
        {approvals[0] !== undefined && <RiskBadge risk={approvals[0].risk_level} />} The same in each:
      </p>
      <Json value={shared} />
      <Table
        label="What differs between the requests"
        columns={columns}
        rows={approvals}
        keyOf={idOf}
        detail={(one) =>
          opened.has(markOf(one)) && (
            <div className="grid gap-2">
              <PreviewPart approval={one} label={`What changes with ${idOf(one)}`} />
              <WhyAsked approval={one} />
            </div>
          )
        }
      />
    </>
  );
}

function cellOf(value: unknown): ReactNode {
  const isPlain = typeof value === "string" && value !== "" && value.length <= mostPlain;
  return isPlain ? <Text lines>{value}</Text> : <Json value={value} />;
}
