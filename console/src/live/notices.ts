/**
 * Requests that are told of while nobody looks at a page of this browser: by the one page that has the line, and only
 * of what the person here may decide. Never arguments: what it is stands on the card.
 */
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { type ApprovalView, readApproval } from "../api/approvals.ts";
import { keep, kept } from "../api/kept.ts";
import { toast } from "../kit/toast.tsx";
import { isTeller, useFeed } from "./feed.ts";

const place = "postern.notices";

/** What a request is told of by. */
const titles = new Map([
  ["gate.required", "A request waits for you"],
  ["approval.reminder", "A request waits for you still"],
  ["approval.escalated", "A request has come to you"],
]);

export type Noticing = "on" | "off" | "refused" | "impossible";

function noticing(): Noticing {
  if (!("Notification" in window)) return "impossible"; // over plain HTTP no page may
  if (Notification.permission === "denied") return "refused";
  return Notification.permission === "granted" && kept(place) === "on" ? "on" : "off";
}

/** Whether this browser notifies, and how that is changed; the browser asks the person itself. */
export function useNoticing(): { readonly noticing: Noticing; readonly change: () => Promise<void> } {
  const [state, setState] = useState(noticing);
  const change = async (): Promise<void> => {
    if (state === "on") keep(place, undefined);
    else if ((await Notification.requestPermission()) === "granted") keep(place, "on");
    setState(noticing());
  };
  return { noticing: state, change };
}

/** Once for the page. */
export function useNotices(): void {
  const navigate = useNavigate();
  useEffect(holdWhileSeen, []);
  useFeed(
    ({ type, approval_id: id }) => {
      const title = titles.get(type);
      if (title === undefined || id === undefined) return;
      const open = (): void => void navigate({ to: "/approvals/$id", params: { id } });
      if (!document.hidden) {
        if (type !== "gate.required") void told(id, ({ what }) => toast(`${title}: ${plain(what.tool)}.`));
      } else if (isTeller() && noticing() === "on") void told(id, (approval) => notify(title, approval, open));
    },
    () => undefined,
  );
}

/** Held by every page that is looked at. */
const seen = "postern-seen";

function holdWhileSeen(): () => void {
  if (!("locks" in navigator)) return () => undefined;
  let letGo: (() => void) | undefined;
  const look = (): void => {
    letGo?.();
    letGo = undefined;
    if (document.hidden) return;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    void navigator.locks.request(seen, { mode: "shared" }, () => held);
  };
  look();
  document.addEventListener("visibilitychange", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    letGo?.();
  };
}

/** A page that has just been opened or turned to has asked for it, and may not hold it yet. */
async function isSeen(): Promise<boolean> {
  const { held = [], pending = [] } = await navigator.locks.query();
  return [...held, ...pending].some(({ name }) => name === seen);
}

async function told(id: string, tell: (approval: ApprovalView) => void): Promise<void> {
  try {
    const approval = await readApproval(id);
    if (approval.status === "pending" && (approval.viewer?.may.length ?? 0) > 0) tell(approval);
  } catch {
    // Gone, or Postern is away: the list tells when it is there again.
  }
}

async function notify(title: string, approval: ApprovalView, open: () => void): Promise<void> {
  if (await isSeen()) return;
  const { approval_id: tag, what, risk_level: risk, requested_by: by } = approval;
  const body = `${plain(what.tool)} (${risk}), asked by ${plain(by.agent)}`;
  const notification = new Notification(title, { body, tag, icon: "/postern.svg" });
  notification.onclick = () => {
    window.focus();
    open();
    notification.close();
  };
}

/** Outside of the page nothing marks what cannot be seen: it is left out. */
function plain(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, 100);
}
