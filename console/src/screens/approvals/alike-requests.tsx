import { type ReactNode, useState } from "react";
import { type Approval, decideMany, isAlike } from "../../api/approvals.ts";
import { useMay } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Json } from "../../kit/json.tsx";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { toast } from "../../kit/toast.tsx";
import { useInbox } from "./inbox.ts";

/** Many requests of one run that differ in their arguments alone: seen together, decided together, recorded each by itself. */
export function AlikeRequests({ approval }: { readonly approval: Approval }): ReactNode {
  const { approvals } = useInbox();
  const may = useMay();
  const [open, setOpen] = useState(false);
  const alike = approvals.filter((one) => isAlike(approval, one));
  if (alike.length < 2 || !may("approvals:decide")) return null;
  return (
    <Card>
      <div className="flex flex-wrap items-center justify-between gap-3 px-4 py-3">
        <p>
          <strong className="font-semibold">{alike.length} alike requests</strong> of this run wait, each with arguments
          of its own.
        </p>
        <Button onClick={() => setOpen(true)}>Decide them together…</Button>
      </div>
      {open && <BatchDialog alike={alike} onClose={() => setOpen(false)} />}
    </Card>
  );
}

function BatchDialog({
  alike,
  onClose,
}: {
  readonly alike: readonly Approval[];
  readonly onClose: () => void;
}): ReactNode {
  const { reload } = useInbox();
  // What was there when it was opened: one that arrives later is not decided unseen.
  const [shown] = useState(alike);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(alike.map(({ approval_id }) => approval_id)));
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const decide = async (decision: "approved" | "denied"): Promise<void> => {
    setBusy(true);
    try {
      const { answers } = await decideMany(
        shown.filter(({ approval_id }) => chosen.has(approval_id)),
        decision,
        undefined,
      );
      const failed = answers.filter(({ decided }) => !decided);
      toast(
        failed.length === 0
          ? `${answers.length} ${decision}.`
          : `${answers.length - failed.length} ${decision}, ${failed.length} not: ${failed[0]?.error?.message ?? ""}`,
        failed.length === 0 ? "good" : "bad",
      );
      reload();
      onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const toggle = (id: string, isIn: boolean): void => {
    const next = new Set(chosen);
    if (isIn) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  return (
    <Dialog
      title={`${chosen.size} of ${shown.length} requests`}
      open
      wide
      onClose={onClose}
      footer={
        <>
          <Button
            look="danger"
            icon="cross"
            disabled={chosen.size === 0}
            busy={busy}
            onClick={() => void decide("denied")}
          >
            Deny {chosen.size}
          </Button>
          <Button
            look="primary"
            icon="check"
            disabled={chosen.size === 0}
            busy={busy}
            onClick={() => void decide("approved")}
          >
            Approve {chosen.size}, each once
          </Button>
        </>
      }
    >
      {problem !== undefined && (
        <Notice>
          <Text>{problem}</Text>
        </Notice>
      )}
      <ul className="grid gap-2">
        {shown.map(({ approval_id, what, preview }) => (
          <li key={approval_id}>
            <label className="flex items-start gap-2.5">
              <input
                type="checkbox"
                className="mt-1 accent-accent"
                checked={chosen.has(approval_id)}
                onChange={({ target }) => toggle(approval_id, target.checked)}
              />
              <span className="min-w-0 flex-1">
                {preview?.supported === true && <Text>{preview.summary}</Text>}
                <Json value={what.arguments} />
              </span>
            </label>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
