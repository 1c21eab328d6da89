import { useLocation } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { useMay, useSession, useSignIn } from "../api/index.ts";
import {
  Button,
  Dialog,
  Hint,
  Icon,
  type IconName,
  late,
  number,
  Text,
  TextLink,
  toast,
  useShared,
} from "../kit/index.ts";
import { type LiveState, useLiveState } from "../live/feed.ts";
import { useNotifying } from "../live/notifications.ts";
import { screens, unlisted } from "../routes.ts";
import { useAlarms } from "../screens/alarms/use-alarms.ts";
import { usePendingCount } from "../screens/approvals/requests.ts";
import { overlay } from "./overlay.ts";
import { changeTheme, shownTheme } from "./theme.ts";

const AlarmList = late(async () => (await import("../screens/alarms/alarms.tsx")).AlarmList);
const PasswordDialog = late(async () => (await import("./password-dialog.tsx")).PasswordDialog);

export function TopBar(): ReactNode {
  const { pathname } = useLocation();
  const here = [...screens, ...unlisted].find(({ path }) => pathname === path || pathname.startsWith(`${path}/`));
  const pending = usePendingCount();
  useEffect(() => {
    const count = pending === undefined || pending === 0 ? "" : `(${number(pending)}) `;
    document.title = `${count}${here?.label ?? "Postern"} · Postern`;
  }, [pending, here]);
  return (
    <header className="flex h-12 shrink-0 items-center justify-between gap-3 border-b border-line bg-surface px-4 max-sm:px-3">
      <div className="flex min-w-0 items-center gap-3">
        <h1 className="truncate text-[1.0714rem] font-semibold">{here?.label ?? "Postern"}</h1>
        <Live />
      </div>
      <div className="flex shrink-0 items-center gap-1">
        <IconButton
          icon="search"
          title="Go to, or do (Ctrl K)"
          label="Go to, or do"
          onClick={() => overlay.set("menu")}
        />
        <AlarmsButton />
        <IconButton icon="help" title="Help (?)" label="Help" onClick={() => overlay.set("help")} />
        <ThemeButton />
        <Account />
      </div>
    </header>
  );
}

const words: Readonly<Record<LiveState, readonly [word: string, more: string]>> = {
  connecting: ["Connecting", "The connection to Postern is being opened."],
  live: ["Live", ""],
  reconnecting: [
    "Reconnecting",
    "Postern does not answer. What you see may be old. Decisions are neither lost nor made twice.",
  ],
  crowded: ["Not live", "Too many pages are connected to Postern. What you see is read again every few seconds."],
};

function Live(): ReactNode {
  const state = useLiveState();
  const [word, more] = words[state];
  const look = state === "live" ? "size-1.5 rounded-full bg-safe" : "size-1.5 animate-breathe rounded-full bg-medium";
  return (
    <span role="status" data-live={state} className="inline-flex items-center gap-1.5 text-[0.8571rem] text-ink-2">
      <span aria-hidden="true" className={look} />
      {state === "live" ? word : <Hint hint={more}>{word}</Hint>}
    </span>
  );
}

type IconButtonProps = Readonly<{
  icon: IconName;
  label: string;
  title?: string;
  onClick: () => void;
  children?: ReactNode;
}>;

function IconButton({ icon, label, title, onClick, children }: IconButtonProps): ReactNode {
  return (
    <button
      type="button"
      onClick={onClick}
      title={title}
      aria-label={label}
      className="relative grid size-8 place-items-center rounded-md text-ink-2 hover:bg-hover hover:text-ink"
    >
      <Icon name={icon} />
      {children}
    </button>
  );
}

function AlarmsButton(): ReactNode {
  const may = useMay();
  const [isOpen, setIsOpen] = useState(false);
  const list = useAlarms();
  if (!may("alarms:read")) return null;
  const count = list.rows?.filter(({ state }) => state === "open").length ?? 0;
  const word = count === 0 ? "none" : count > 99 ? "more than 99" : count;
  const close = (): void => setIsOpen(false);
  return (
    <>
      <IconButton icon="alarms" label={`Alarms: ${word} open`} onClick={() => setIsOpen(true)}>
        {count > 0 && (
          <span
            aria-hidden="true"
            className="tabular absolute top-0 right-0 rounded-full bg-critical px-1 text-[0.7143rem] leading-[1rem] font-semibold text-surface"
          >
            {count > 99 ? "99+" : count}
          </span>
        )}
      </IconButton>
      <Dialog title="Alarms" open={isOpen} wide onClose={close}>
        <AlarmList alarms={list} onClose={close} />
      </Dialog>
    </>
  );
}

const themeIcons = { system: "contrast", light: "sun", dark: "moon" } as const;

function ThemeButton(): ReactNode {
  const theme = useShared(shownTheme, (one) => one);
  const title = `Theme: ${theme}`;
  return <IconButton icon={themeIcons[theme]} title={title} label={`${title}. Change it.`} onClick={changeTheme} />;
}

/** The browser's own popover: Escape and a press outside close it. */
function Account(): ReactNode {
  const { session } = useSession();
  const may = useMay();
  const { out } = useSignIn();
  const { notifying, change } = useNotifying();
  const [isChanging, setIsChanging] = useState(false);
  if (session === null || session === undefined) return null;
  const { display_name } = session.user;
  return (
    <>
      <button
        type="button"
        popoverTarget="account"
        className="flex h-8 items-center gap-1.5 rounded-md px-2 text-ink-2 hover:bg-hover hover:text-ink"
      >
        <Icon name="person" />
        <Text className="max-w-36 truncate max-sm:hidden">{display_name}</Text>
        <span className="sr-only">Your account</span>
      </button>
      <div
        id="account"
        popover="auto"
        className="fixed inset-auto top-12 right-3 m-0 w-60 gap-2 rounded-lg border border-line bg-raised p-3 text-ink shadow-over open:grid grid-cols-[minmax(0,1fr)] max-sm:[&_button]:h-11"
      >
        <div>
          <Text className="font-medium">{display_name}</Text>
          <p className="text-ink-2">
            {session.roles.join(", ") || "no roles"} · {session.tenant}
          </p>
        </div>
        {notifying === "refused" && (
          <p className="text-ink-3">Your browser blocks notifications of this page: allow them in its settings.</p>
        )}
        {(notifying === "on" || notifying === "off") && (
          <Button aria-pressed={notifying === "on"} onClick={() => void change()}>
            {notifying === "on" ? "Turn notifications off" : "Notify me of requests"}
          </Button>
        )}
        {may("tokens:own") && (
          <TextLink
            to="/connections/{-$server}"
            params={{ server: undefined }}
            onClick={() => document.getElementById("account")?.hidePopover()}
          >
            Your connections
          </TextLink>
        )}
        {may("tokens:own") && (
          <TextLink
            to="/people/{-$tab}"
            params={{ tab: undefined }}
            onClick={() => document.getElementById("account")?.hidePopover()}
          >
            {may("accounts:admin") ? "People, groups and tokens" : "Your tokens"}
          </TextLink>
        )}
        <Button onClick={() => setIsChanging(true)}>Change your password…</Button>
        <Button onClick={() => void out().catch(({ message }: Error) => toast(message, "bad"))}>Sign out</Button>
      </div>
      {isChanging && <PasswordDialog onClose={() => setIsChanging(false)} />}
    </>
  );
}
