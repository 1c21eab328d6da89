import type { ReactNode } from "react";
import { useControls } from "../api/controls.ts";
import { Badge } from "../kit/badge.tsx";

/** At the head of every screen: nobody should have to look for why nothing runs. */
export function PausedBadge(): ReactNode {
  return useControls()?.paused === true ? <Badge tone="critical">Paused</Badge> : null;
}
