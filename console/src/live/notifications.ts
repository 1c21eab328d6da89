/**
 * Notifies of requests that this person may decide. A visible page shows a message. When no page of this browser is
 * visible, the page that has the connection sends a notification. It never contains arguments.
 */
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { type ApprovalView, keep, kept, readApproval } from "../api/index.ts";
import { toast } from "../kit/index.ts";
import { hasConnection, useFeed } from "./feed.ts";

const key = "postern.notices";

const titles = new Map([
  ["gate.required", "A request waits for you"],
  ["approval.reminder", "A request still waits for you"],
  ["approval.escalated", "A request was escalated to you"],
]);

type Notifying = "on" | "off" | "refused" | "impossible";

function notifyingNow(): Notifying {
  if (!("Notification" in window)) return "impossible"; // no page may over plain HTTP
  if (Notification.permission === "denied") return "refused";
  return Notification.permission === "granted" && kept(key) === "on" ? "on" : "off";
}

/** Whether this browser notifies, and how to change it; the browser itself asks the person. */
export function useNotifying(): { readonly notifying: Notifying; readonly change: () => Promise<void> } {
  const [notifying, setNotifying] = useState(notifyingNow);
  const change = async (): Promise<void> => {
    if (notifying === "on") keep(key, undefined);
    else if ((await Notification.requestPermission()) === "granted") keep(key, "on");
    setNotifying(notifyingNow());
  };
  return { notifying, change };
}

/** Once for the page. */
export function useNotifications(): void {
  const navigate = useNavigate();
  useEffect(holdLockWhileVisible, []);
  useFeed(
    ({ type, approval_id: id }) => {
      const title = titles.get(type);
      if (title === undefined || id === undefined) return;
      const open = (): void => void navigate({ to: "/approvals/{-$request}", params: { request: id } });
      if (!document.hidden) {
        if (type !== "gate.required") void ifMine(id, ({ what }) => toast(`${title}: ${plain(what.tool)}.`));
      } else if (hasConnection() && notifyingNow() === "on")
        void ifMine(id, (approval) => notify(title, approval, open));
    },
    () => undefined,
  );
}

/** Held by every page that is visible. */
const visibleLock = "postern-seen";

function holdLockWhileVisible(): () => void {
  if (!("locks" in navigator)) return () => undefined;
  let release: (() => void) | undefined;
  const update = (): void => {
    release?.();
    release = undefined;
    if (document.hidden) return;
    const hidden = new Promise<void>((resolve) => {
      release = resolve;
    });
    void navigator.locks.request(visibleLock, { mode: "shared" }, () => hidden);
  };
  update();
  document.addEventListener("visibilitychange", update);
  return () => {
    document.removeEventListener("visibilitychange", update);
    release?.();
  };
}

/** A page that was just opened has asked for the lock, and may not have it yet. */
async function isAnyVisible(): Promise<boolean> {
  const { held = [], pending = [] } = await navigator.locks.query();
  return [...held, ...pending].some(({ name }) => name === visibleLock);
}

async function ifMine(id: string, act: (approval: ApprovalView) => void): Promise<void> {
  try {
    const approval = await readApproval(id);
    if (approval.status === "pending" && (approval.viewer?.may.length ?? 0) > 0) act(approval);
  } catch {
    // The request is gone or Postern does not answer: the list will show it.
  }
}

async function notify(title: string, approval: ApprovalView, open: () => void): Promise<void> {
  if (await isAnyVisible()) return;
  const { approval_id: tag, what, risk_level: risk, requested_by: by } = approval;
  const body = `${plain(what.tool)} (${risk}), asked by ${plain(by.agent)}`;
  const notification = new Notification(title, { body, tag, icon: "/postern.svg" });
  notification.onclick = () => {
    window.focus();
    open();
    notification.close();
  };
}

/** A notification cannot mark invisible characters, so they are removed. */
function plain(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, 100);
}
