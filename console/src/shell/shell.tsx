import { Outlet } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { useSession } from "../api/index.ts";
import { ErrorState, Icon, Notice, Text, TextLink, Toasts } from "../kit/index.ts";
import { useLiveState } from "../live/feed.ts";
import { useFreshness } from "../live/freshness.ts";
import { useNotifications } from "../live/notifications.ts";
import { useProgressKept } from "../live/progress.ts";
import { StoppedBar } from "../screens/brakes.tsx";
import { useNeeds } from "../screens/needs/use-needs.ts";
import { SignInAgain, SignInScreen, WithoutRoles } from "../screens/sign-in/sign-in-screen.tsx";
import { Navigation } from "./navigation.tsx";
import { Shortcuts } from "./shortcuts.tsx";
import { TopBar } from "./top-bar.tsx";

/** The frame of all screens. A person who was signed in keeps the page while they sign in again. */
export function Shell(): ReactNode {
  const { session, error, again } = useSession();
  const [wasHere, setWasHere] = useState<string>();
  const userId = session?.user.id;
  useEffect(() => {
    if (userId !== undefined) setWasHere(userId);
  }, [userId]);
  if (session === undefined) return error === null ? null : <ErrorState error={error} retry={again} />;
  if (session === null && wasHere === undefined) return <SignInScreen />;
  if (session?.permissions.includes("approvals:read") === false)
    return <WithoutRoles session={session} again={again} />;
  return (
    // Another person gets another page: nothing of the first one stays.
    <Page key={session?.user.id ?? wasHere} userId={userId} />
  );
}

function Page({ userId }: { readonly userId: string | undefined }): ReactNode {
  const isSignedIn = userId !== undefined;
  useNotifications();
  useFreshness(userId);
  useProgressKept();
  return (
    <div className="flex h-full flex-col lg:flex-row">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2">
        Skip to the content
      </a>
      <Navigation />
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <TopBar />
        <NotConnected />
        <StoppedBar />
        <NotNotified />
        <main id="content" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto outline-none">
          <Outlet />
        </main>
      </div>
      <Shortcuts />
      <Toasts />
      {!isSignedIn && <SignInAgain />}
    </div>
  );
}

/** A short break is not shown. */
const shownAfterMs = 1_500;

/** Above every screen while Postern does not answer. */
function NotConnected(): ReactNode {
  const isBroken = useLiveState() === "reconnecting";
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    if (!isBroken) return setIsShown(false);
    const timer = setTimeout(() => setIsShown(true), shownAfterMs);
    return () => clearTimeout(timer);
  }, [isBroken]);
  return (
    <div role="status" className="bg-medium-tint text-medium empty:hidden">
      {isShown && (
        <p className="flex items-start gap-2 px-4 py-2">
          <span className="mt-0.5">
            <Icon name="warning" />
          </span>
          Postern does not answer; this page keeps trying. What you see may be old. Decisions are neither lost nor made
          twice.
        </p>
      )}
    </div>
  );
}

/** Above every screen while notices were given up. */
function NotNotified(): ReactNode {
  const failed = useNeeds().data?.needs.find(({ kind }) => kind === "channels");
  if (failed === undefined) return null;
  return (
    <Notice tone="medium">
      Notifications of <Text>{failed.items.map(({ name }) => name).join(", ")}</Text> fail: people may not know what
      waits. <TextLink to="/needs">See why</TextLink>
    </Notice>
  );
}
