import { largestBatch } from "@postern/core";
import { type ReactNode, useMemo, useState } from "react";
import { type ApprovalView, denyAll, isAlike, mayDecide, namesOf, serverNow, useMay } from "../../api/index.ts";
import { Button, late, number, Text, toast } from "../../kit/index.ts";
import { BrakeButton } from "../brakes.tsx";
import { ReasonDialog } from "../dialogs.tsx";
import { useRequests } from "./requests.ts";

const BatchDialog = late(async () => (await import("./batch-dialog.tsx")).BatchDialog);

type GroupActionsProps = Readonly<{
  where: Parameters<typeof denyAll>[0];
  agent: string;
  /** As the server counts them. */
  waiting: number;
  /** Those that are alike to this one are decided together; without it, to the first. */
  approval?: ApprovalView;
}>;

/** What can be done about requests of one run for the same tool and risk. Critical ones are approved alone. */
export function GroupActions({ where, agent, waiting, approval }: GroupActionsProps): ReactNode {
  const decides = useMay()("approvals:decide");
  const [open, setOpen] = useState<"batch" | "deny">();
  const close = (): void => setOpen(undefined);
  return (
    <div className="flex flex-wrap gap-1">
      {decides && where.risk !== "critical" && (
        <Button size="small" onClick={() => setOpen("batch")}>
          Review…
        </Button>
      )}
      {decides && (
        <Button size="small" look="danger" onClick={() => setOpen("deny")}>
          Deny all…
        </Button>
      )}
      <BrakeButton kind="agent" name={agent} />
      {open === "batch" && <Batch approval={approval} waiting={waiting} where={where} onClose={close} />}
      {open === "deny" && <DenyAll waiting={waiting} where={where} onClose={close} />}
    </div>
  );
}

type BatchProps = Pick<GroupActionsProps, "where" | "waiting"> &
  Readonly<{ approval: ApprovalView | undefined; onClose: () => void }>;

/** Reads the first page of them; the dialog opens when it is here. */
function Batch({ approval, waiting, where, onClose }: BatchProps): ReactNode {
  const { rows } = useRequests(where, largestBatch);
  const alike = useMemo(() => {
    const like = approval ?? rows?.[0];
    return rows?.filter(
      (one) => like !== undefined && isAlike(like, one) && (mayDecide(one, "approve") || mayDecide(one, "deny")),
    );
  }, [rows, approval]);
  if (alike === undefined) return null;
  return <BatchDialog alike={alike} waiting={waiting} tool={where.tool} onClose={onClose} />;
}

/** Denies those that it counted when it opened, and none that comes later. */
function DenyAll({ where, waiting, onClose }: Omit<BatchProps, "approval">): ReactNode {
  const [opened] = useState(() => ({ ms: serverNow(), word: `Deny all ${number(waiting)}` }));
  const deny = async (reason: string | undefined): Promise<void> => {
    const { denied, problem } = await denyAll(where, opened.ms, reason);
    toast(
      `${number(denied)} denied.${problem === undefined ? "" : ` ${problem}`}`,
      problem === undefined ? "good" : "bad",
    );
  };
  return (
    <ReasonDialog
      title={`${opened.word}?`}
      word={opened.word}
      look="danger"
      onSend={({ reason }) => deny(reason)}
      onClose={onClose}
    >
      <p>
        Each request of {where.risk} risk for <Text className="font-medium">{namesOf(where.tool).name}</Text> in the run{" "}
        <Text className="mono">{where.run_id}</Text> that waits now is denied, also those that are not shown; none that
        comes later. The agent reads the reason.
      </p>
    </ReasonDialog>
  );
}
