import { type ReactNode, useState } from "react";
import { type ApprovalView, maySay } from "../../api/approvals.ts";
import { late } from "../../kit/late.tsx";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { useIsOver } from "../../kit/use-now.ts";
import { ApproveDialog } from "./approve-dialog.tsx";
import { DecideButtons, type Open } from "./decide-buttons.tsx";
import { Closed, Withdraw } from "./decide-closed.tsx";
import type { DecideDialogProps } from "./decision-fields.tsx";
import { DenyDialog } from "./deny-dialog.tsx";
import { tooEarly } from "./too-early.tsx";
import { markOf } from "./use-acknowledged.ts";
import { type Armed, type Press, useArmed } from "./use-armed.ts";
import { type Deciding, type DecidingOptions, useDeciding } from "./use-deciding.ts";
import { useKeys } from "./use-keys.ts";

const EditDialog = late(async () => (await import("./edit-dialog.tsx")).EditDialog);
const RememberDialog = late(async () => (await import("./remember-dialog.tsx")).RememberDialog);

interface DecideBarProps extends Omit<DecidingOptions, "isHeld" | "onNameNeeded"> {
  /** As it stands now. */
  readonly approval: ApprovalView;
  /** What is another now than what was seen. */
  readonly changed: ReactNode;
  /** Why no yes is said to what is shown: it is not what would be approved. */
  readonly doubt: string | undefined;
}

/** Always in sight. Deny is as near as approve; what cannot be undone easily is asked for once more. */
export function DecideBar(props: DecideBarProps): ReactNode {
  const { approval, meant, changed, doubt } = props;
  const { deciding, isExpired, isOpen, isReady, isHeld, armed, problem, open, setOpen, press } = useBar(props);
  const withdraw = (
    <Withdraw approval={approval} deciding={deciding} isReady={isReady} onPress={(by) => press("withdraw", by)} />
  );
  return (
    <footer data-armed={isReady ? "yes" : "no"} className="relative border-t border-line bg-surface px-4 py-3 lg:px-6">
      <Waiting armed={armed} isHeld={isHeld} />
      {[isOpen ? doubt : undefined, problem].map(
        (told, at) =>
          told !== undefined && (
            <div key={at} className="mb-2">
              <Notice>
                <Text>{told}</Text>
              </Notice>
            </div>
          ),
      )}
      {isOpen ? (
        <DecideButtons
          approval={approval}
          busy={deciding.busy}
          isTyped={deciding.needsName}
          isReady={isReady}
          isYesReady={isReady && doubt === undefined}
          withdraw={withdraw}
          approve={(by) => press("approve", by)}
          open={press}
        />
      ) : (
        <Closed
          approval={approval}
          deciding={deciding}
          isExpired={isExpired}
          isReady={isReady}
          onRevoke={(by) => press("revoke", by)}
        >
          {!isExpired && withdraw}
        </Closed>
      )}
      <OpenDialog
        open={open}
        approval={meant}
        deciding={deciding}
        changed={changed}
        onClose={() => setOpen(undefined)}
      />
    </footer>
  );
}

type Word = "approve" | "edit" | "deny" | "remember" | "withdraw" | "revoke";

interface Bar {
  readonly deciding: Deciding;
  readonly isExpired: boolean;
  /** Something can be decided here. */
  readonly isOpen: boolean;
  /** A press counts. */
  readonly isReady: boolean;
  readonly isHeld: boolean;
  readonly armed: Armed;
  readonly problem: string | undefined;
  readonly open: Open | undefined;
  readonly setOpen: (open: Open | undefined) => void;
  readonly press: (what: Word, by: Press) => void;
}

/** Nothing in the bar takes a press that was meant for what stood there a moment before. */
function useBar({ approval, changed, doubt, ...options }: DecideBarProps): Bar {
  const { meant } = options;
  const isHeld = changed !== undefined;
  const [open, setOpen] = useState<Open>();
  const onNameNeeded = (): void => setOpen((now) => (now === "edit" ? now : "approve"));
  const deciding = useDeciding({ ...options, isHeld, onNameNeeded });
  const [problem, setProblem] = useState<string>();
  const isExpired = useIsOver(approval.expires_at);
  const isOpen = approval.status === "pending" && !isExpired && (approval.viewer?.may.length ?? 0) > 0;
  const armed = useArmed(`${approval.status} ${markOf(meant)}`);
  const isReady = armed.isArmed && !isHeld;
  const press = (what: Word, by: Press): void => {
    setProblem(undefined);
    if (doubt !== undefined && (what === "approve" || what === "edit" || what === "remember")) return;
    if (isHeld || !armed.takes(by)) armed.tooEarly();
    else if (what === "edit" || what === "deny" || what === "remember") setOpen(what);
    else if (what === "approve" && deciding.needsName) setOpen("approve");
    else void deciding.say({ verb: what }).then(setProblem);
  };
  useKeys(
    isOpen && open === undefined
      ? {
          a: maySay(approval, "approve") ? (by) => press("approve", by) : undefined,
          e: maySay(approval, "modify") ? (by) => press("edit", by) : undefined,
          d: maySay(approval, "deny") ? (by) => press("deny", by) : undefined,
        }
      : {},
  );
  return { deciding, isExpired, isOpen, isReady, isHeld, armed, problem, open, setOpen, press };
}

function OpenDialog({ open, ...dialog }: DecideDialogProps & { readonly open: Open | undefined }): ReactNode {
  switch (open) {
    case "approve":
      return <ApproveDialog {...dialog} />;
    case "remember":
      return <RememberDialog {...dialog} />;
    case "edit":
      return <EditDialog {...dialog} />;
    case "deny":
      return <DenyDialog {...dialog} />;
    default:
      return null;
  }
}

/** Why the buttons do nothing yet: seen as a line that fills, heard as a sentence. */
function Waiting({
  armed: { isArmed, round },
  isHeld,
}: {
  readonly armed: Armed;
  readonly isHeld: boolean;
}): ReactNode {
  return (
    <>
      {!isArmed && (
        <span
          key={round}
          aria-hidden="true"
          className="absolute inset-x-0 top-0 h-0.5 origin-left animate-arm bg-accent"
        />
      )}
      <p id="decide-waits" role="status" className={isHeld ? "mb-2 text-medium" : "sr-only"}>
        {isHeld ? "It changed. Read what is new, then press “Understood” to decide." : !isArmed && tooEarly}
      </p>
    </>
  );
}
