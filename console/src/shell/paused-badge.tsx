import type { ReactNode } from "react";
import { useControls } from "../api/controls.ts";
import { Badge } from "../kit/badge.tsx";

/** At the head of every screen: nobody should have to look for why nothing runs. */
export function PausedBadge(): ReactNode {
  const { paused = false, paused_by: by } = useControls() ?? {};
  if (!paused) return null;
  const title = by && `By ${by.by}${by.reason === undefined ? "" : `: ${by.reason}`}`;
  return (
    <Badge tone="critical" title={title}>
      Paused
    </Badge>
  );
}
