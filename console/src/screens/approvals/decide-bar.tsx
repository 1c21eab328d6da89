import { type ReactNode, useState } from "react";
import { needsTyping } from "../../api/approvals.ts";
import { StateBadge } from "../../kit/badge.tsx";
import { Button } from "../../kit/button.tsx";
import { late } from "../../kit/late.tsx";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { useNow } from "../../kit/use-now.ts";
import { ApproveDialog } from "./approve-dialog.tsx";
import { DenyDialog } from "./deny-dialog.tsx";
import { type Deciding, type DecidingOptions, useDeciding } from "./use-deciding.ts";
import { useKeys } from "./use-keys.ts";

const EditDialog = late(async () => (await import("./edit-dialog.tsx")).EditDialog);
const RememberDialog = late(async () => (await import("./remember-dialog.tsx")).RememberDialog);

type Open = "approve" | "remember" | "edit" | "deny" | undefined;

/** Always in sight. Deny is as near as approve; what cannot be undone easily is asked for once more. */
export function DecideBar(options: DecidingOptions): ReactNode {
  const { approval } = options;
  const deciding = useDeciding(options);
  const [open, setOpen] = useState<Open>();
  const [problem, setProblem] = useState<string>();
  const isExpired = Date.parse(approval.expires_at) <= useNow();
  const isOpen = approval.status === "pending" && !isExpired && deciding.mayDecide;
  const approve = (): void => {
    setProblem(undefined);
    if (needsTyping(approval)) setOpen("approve");
    else void deciding.say({ verb: "approve" }).then(setProblem);
  };
  useKeys(isOpen && open === undefined ? { a: approve, e: () => setOpen("edit"), d: () => setOpen("deny") } : {});
  const close = (): void => setOpen(undefined);
  const dialog = { approval, deciding, onClose: close };
  return (
    <footer className="border-t border-line bg-surface px-4 py-3 lg:px-6">
      {problem !== undefined && (
        <div className="mb-2">
          <Notice>
            <Text>{problem}</Text>
          </Notice>
        </div>
      )}
      {isOpen ? (
        <Buttons approval={approval} deciding={deciding} approve={approve} open={setOpen} />
      ) : (
        <Closed approval={approval} deciding={deciding} isExpired={isExpired} onProblem={setProblem} />
      )}
      {open === "approve" && <ApproveDialog {...dialog} />}
      {open === "remember" && <RememberDialog {...dialog} />}
      {open === "edit" && <EditDialog {...dialog} />}
      {open === "deny" && <DenyDialog {...dialog} />}
    </footer>
  );
}

function Buttons({
  approval,
  deciding: { busy },
  approve,
  open,
}: {
  readonly approval: DecidingOptions["approval"];
  readonly deciding: Deciding;
  readonly approve: () => void;
  readonly open: (which: Open) => void;
}): ReactNode {
  const isTyped = needsTyping(approval);
  const isBusy = busy !== undefined;
  const remembers = approval.remembers_allowed && !isTyped;
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-2">
      <Button
        look="danger"
        icon="cross"
        hint="d"
        className="max-sm:h-12 sm:order-3"
        disabled={isBusy}
        onClick={() => open("deny")}
      >
        Deny…
      </Button>
      <Button
        look="primary"
        icon="check"
        hint={isTyped ? undefined : "a"}
        className="max-sm:h-12 sm:order-4"
        busy={isBusy}
        onClick={approve}
      >
        {isTyped ? "Approve…" : "Approve once"}
      </Button>
      <Button
        look="plain"
        icon="pencil"
        hint="e"
        className={remembers ? "max-sm:h-10 sm:order-1" : "max-sm:col-span-2 max-sm:h-10 sm:order-1"}
        disabled={isBusy}
        onClick={() => open("edit")}
      >
        Edit…
      </Button>
      {remembers && (
        <Button
          look="plain"
          icon="clock"
          className="max-sm:h-10 sm:order-1"
          disabled={isBusy}
          onClick={() => open("remember")}
        >
          Remember…
        </Button>
      )}
      <span className="max-sm:hidden sm:order-2 sm:flex-1" />
    </div>
  );
}

/** It is over, or not for this person: how it stands, in one line. */
function Closed({
  approval: { status, decision, expires_at },
  deciding: { mayDecide, busy, say },
  isExpired,
  onProblem,
}: {
  readonly approval: DecidingOptions["approval"];
  readonly deciding: Deciding;
  readonly onProblem: (problem: string | undefined) => void;
  readonly isExpired: boolean;
}): ReactNode {
  if (status === "pending") {
    return (
      <p className="text-ink-2">
        {isExpired ? (
          <>
            Nobody answered in time: it expired <Time at={expires_at} /> and the tool does not run.
          </>
        ) : (
          !mayDecide && "You may look at requests, not decide them: that takes the role approver."
        )}
      </p>
    );
  }
  return (
    <p className="flex flex-wrap items-center gap-2" role="status">
      <StateBadge state={status} />
      {decision !== undefined && (
        <span>
          {decision.as} by <Text className="font-medium">{decision.by}</Text> <Time at={decision.at} />
          {decision.reason !== undefined && <Text className="text-ink-2">{` “${decision.reason}”`}</Text>}
        </span>
      )}
      {status === "approved" && mayDecide && (
        <Button
          look="danger"
          size="small"
          className="ml-auto"
          busy={busy !== undefined}
          onClick={() => void say({ verb: "revoke" }).then(onProblem)}
        >
          Take it back
        </Button>
      )}
    </p>
  );
}
