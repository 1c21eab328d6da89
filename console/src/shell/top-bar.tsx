import { useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { useSession, useSignIn } from "../api/session.ts";
import { Button } from "../kit/button.tsx";
import { Icon } from "../kit/icons.tsx";
import { late } from "../kit/late.tsx";
import { Text } from "../kit/text.tsx";
import { toast } from "../kit/toast.tsx";
import { type LiveState, useLiveState } from "../live/feed.ts";
import { useNoticing } from "../live/notices.ts";
import { screens } from "../routes.tsx";
import { usePendingCount } from "../screens/approvals/inbox.ts";
import { AlarmsBell } from "./alarms-bell.tsx";
import { PausedBadge } from "./paused-badge.tsx";
import { chooseTheme, chosenTheme, type Theme } from "./theme.ts";

const PasswordDialog = late(async () => (await import("./password-dialog.tsx")).PasswordDialog);

export function TopBar(): ReactNode {
  const { pathname } = useLocation();
  const here = screens.find(({ path }) => pathname === path || pathname.startsWith(`${path}/`));
  const pending = usePendingCount();
  useEffect(() => {
    const count = pending === undefined || pending === "0" ? "" : `(${pending}) `;
    document.title = `${count}${here?.label ?? "Postern"} · Postern`;
  }, [pending, here]);
  return (
    <header className="flex h-12 shrink-0 items-center justify-between gap-3 border-b border-line bg-surface px-4">
      <div className="flex items-center gap-3">
        <h1 className="text-[1.0714rem] font-semibold">{here?.label ?? "Postern"}</h1>
        <Live />
        <PausedBadge />
      </div>
      <div className="flex items-center gap-1">
        <AlarmsBell />
        <ThemeButton />
        <Person />
      </div>
    </header>
  );
}

const words: Readonly<Record<LiveState, readonly [word: string, more: string]>> = {
  connecting: ["Connecting", "The line to Postern is being opened."],
  live: ["Live", "What happens is shown as it happens."],
  reconnecting: [
    "Reconnecting",
    "Postern does not answer. What you see may be old; nothing you decide is lost or done twice.",
  ],
  crowded: ["Not live", "Too many pages follow Postern already. What you see is read anew every few seconds."],
};

function Live(): ReactNode {
  const state = useLiveState();
  const [word, more] = words[state];
  return (
    <span
      role="status"
      title={more}
      data-live={state}
      className="inline-flex items-center gap-1.5 text-[0.8571rem] text-ink-2"
    >
      <span
        aria-hidden="true"
        className={
          state === "live" ? "size-1.5 rounded-full bg-safe" : "size-1.5 animate-breathe rounded-full bg-medium"
        }
      />
      {word}
    </span>
  );
}

const nextTheme: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };

function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(chosenTheme);
  const change = (): void => {
    const next = nextTheme[theme];
    chooseTheme(next);
    setTheme(next);
  };
  return (
    <button
      type="button"
      onClick={change}
      title={`Theme: ${theme}`}
      aria-label={`Theme: ${theme}. Change it.`}
      className="grid size-8 place-items-center rounded-md text-ink-2 hover:bg-hover hover:text-ink"
    >
      <Icon name={theme === "dark" ? "moon" : theme === "light" ? "sun" : "contrast"} />
    </button>
  );
}

function Person(): ReactNode {
  const { session } = useSession();
  const { out } = useSignIn();
  const [isChanging, setIsChanging] = useState(false);
  if (session === null || session === undefined) return null;
  const { display_name } = session.user;
  return (
    <details className="relative">
      <summary className="flex h-8 list-none items-center gap-1.5 rounded-md px-2 text-ink-2 hover:bg-hover hover:text-ink">
        <Icon name="person" />
        <Text className="max-w-36 truncate max-sm:hidden">{display_name}</Text>
        <span className="sr-only">Your account</span>
      </summary>
      <div className="absolute right-0 z-40 mt-1 grid w-60 gap-2 rounded-lg border border-line bg-raised p-3 shadow-over">
        <div>
          <Text className="font-medium">{display_name}</Text>
          <p className="text-ink-2">
            {session.roles.join(", ") || "no roles"} · {session.tenant}
          </p>
        </div>
        <Notices />
        <Button onClick={() => setIsChanging(true)}>Change your password…</Button>
        <Button onClick={() => void out().catch((error: Error) => toast(error.message, "bad"))}>Sign out</Button>
      </div>
      {isChanging && <PasswordDialog onClose={() => setIsChanging(false)} />}
    </details>
  );
}

/** What waits is told by the browser itself while nobody looks at a page of Postern. */
function Notices(): ReactNode {
  const { noticing, change } = useNoticing();
  if (noticing === "impossible") return null;
  if (noticing === "refused")
    return <p className="text-ink-3">Your browser lets this page notify nobody: allow it in its settings.</p>;
  return (
    <Button aria-pressed={noticing === "on"} onClick={() => void change()}>
      {noticing === "on" ? "Notify me no more" : "Notify me of requests"}
    </Button>
  );
}
