import { type ReactNode, useState } from "react";
import { useMay } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { late } from "../../kit/late.tsx";

const Delegations = late(async () => (await import("./delegations.tsx")).Delegations);
const Grants = late(async () => (await import("./grants.tsx")).Grants);

type Open = "grants" | "delegations" | undefined;

/** Under the list: what was said for longer than one request. */
export function Standing(): ReactNode {
  const may = useMay();
  const [open, setOpen] = useState<Open>();
  const close = (): void => setOpen(undefined);
  return (
    <div className="flex h-11 shrink-0 items-center justify-between gap-1 border-t border-line px-2">
      <Button look="plain" size="small" icon="clock" onClick={() => setOpen("grants")}>
        Remembered
      </Button>
      {may("delegations:end") && (
        <Button look="plain" size="small" icon="person" onClick={() => setOpen("delegations")}>
          Deputies
        </Button>
      )}
      <Dialog title="What needs nobody for a while" open={open === "grants"} wide onClose={close}>
        <Grants onClose={close} />
      </Dialog>
      <Dialog title="Who decides in whose place" open={open === "delegations"} onClose={close}>
        <Delegations onClose={close} />
      </Dialog>
    </div>
  );
}
