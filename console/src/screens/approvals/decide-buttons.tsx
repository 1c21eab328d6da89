import type { ReactNode } from "react";
import { type Approval, maySay, needsTyping } from "../../api/approvals.ts";
import { Button } from "../../kit/button.tsx";
import { Text } from "../../kit/text.tsx";
import type { Deciding } from "./use-deciding.ts";

export type Open = "approve" | "remember" | "edit" | "deny";

/** While it is not ready they stay in the order of the keyboard, and say that they wait. */
export function DecideButtons({
  approval,
  busy,
  isReady,
  approve,
  open,
  withdraw,
}: {
  readonly approval: Approval;
  readonly busy: Deciding["busy"];
  readonly isReady: boolean;
  readonly approve: () => void;
  readonly open: (which: Open) => void;
  /** For who asked. */
  readonly withdraw: ReactNode;
}): ReactNode {
  const isTyped = needsTyping(approval);
  const mayApprove = maySay(approval, "approve");
  const remembers = mayApprove && approval.remembers_allowed && !isTyped;
  const waits = isReady ? {} : { "aria-disabled": true, "aria-describedby": "decide-waits" };
  const other = { ...waits, disabled: busy !== undefined };
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-2">
      {!mayApprove && approval.viewer?.message !== undefined && (
        <p className="w-full text-ink-2 max-sm:col-span-2">
          <Text>{approval.viewer.message}</Text>
        </p>
      )}
      {maySay(approval, "deny") && (
        <Button
          {...other}
          look="danger"
          icon="cross"
          hint="d"
          className={mayApprove ? "max-sm:h-12 sm:order-3" : "max-sm:col-span-2 max-sm:h-12 sm:order-3"}
          onClick={() => open("deny")}
        >
          Deny…
        </Button>
      )}
      {mayApprove && (
        <Button
          {...waits}
          look="primary"
          icon="check"
          hint={isTyped ? undefined : "a"}
          className="max-sm:h-12 sm:order-4"
          busy={busy !== undefined}
          onClick={approve}
        >
          {isTyped ? "Approve…" : "Approve once"}
        </Button>
      )}
      {maySay(approval, "modify") && (
        <Button
          {...other}
          look="plain"
          icon="pencil"
          hint="e"
          className={remembers ? "max-sm:h-10 sm:order-1" : "max-sm:col-span-2 max-sm:h-10 sm:order-1"}
          onClick={() => open("edit")}
        >
          Edit…
        </Button>
      )}
      {remembers && (
        <Button
          {...other}
          look="plain"
          icon="clock"
          className="max-sm:h-10 sm:order-1"
          onClick={() => open("remember")}
        >
          Remember…
        </Button>
      )}
      <span className="contents max-sm:[&>button]:col-span-2 max-sm:[&>button]:h-10 sm:[&>button]:order-1">
        {withdraw}
      </span>
      <span className="max-sm:hidden sm:order-2 sm:flex-1" />
    </div>
  );
}
