import type { ReactNode } from "react";
import { type Approval, needsTyping } from "../../api/approvals.ts";
import { Button } from "../../kit/button.tsx";
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
  const remembers = approval.remembers_allowed && !isTyped;
  const waits = isReady ? {} : { "aria-disabled": true, "aria-describedby": "decide-waits" };
  const other = { ...waits, disabled: busy !== undefined };
  return (
    <div className="flex flex-wrap items-center gap-2 max-sm:grid max-sm:grid-cols-2">
      <Button
        {...other}
        look="danger"
        icon="cross"
        hint="d"
        className="max-sm:h-12 sm:order-3"
        onClick={() => open("deny")}
      >
        Deny…
      </Button>
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
