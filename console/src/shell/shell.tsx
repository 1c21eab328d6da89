import { useQueryClient } from "@tanstack/react-query";
import { Outlet } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { readSince, sessionEnded, useSession } from "../api/session.ts";
import { ErrorState } from "../kit/states.tsx";
import { Toasts } from "../kit/toast.tsx";
import { openFeed, useFeed } from "../live/feed.ts";
import { useNotices } from "../live/notices.ts";
import { useProgressKept } from "../live/progress.ts";
import { useInboxKept } from "../screens/approvals/inbox.ts";
import { SignInAgain, SignInScreen } from "../screens/sign-in/sign-in-screen.tsx";
import { WithoutRoles } from "../screens/sign-in/without-roles.tsx";
import { Away } from "./away.tsx";
import { Navigation } from "./navigation.tsx";
import { TopBar } from "./top-bar.tsx";

/** Everything stands in here. Nobody is shown anything before they are known; who was, keeps the page while signing in again. */
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
    // Another person gets another page: nothing of the one before stays.
    <Page key={session?.user.id ?? wasHere} userId={userId} />
  );
}

function Page({ userId }: { readonly userId: string | undefined }): ReactNode {
  const isSignedIn = userId !== undefined;
  useNotices();
  useLine(userId);
  useInboxKept(userId);
  useProgressKept();
  return (
    <div className="flex h-full flex-col lg:flex-row">
      <a href="#content" className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-surface focus:p-2">
        Skip to the content
      </a>
      <Navigation />
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <TopBar />
        <Away />
        <main id="content" tabIndex={-1} className="min-h-0 flex-1 overflow-y-auto outline-none">
          <Outlet />
        </main>
      </div>
      <Toasts />
      {!isSignedIn && <SignInAgain />}
    </div>
  );
}

/** What the line tells makes shown things fresh: a few times a second at most, and not while nobody looks. */
function useLine(userId: string | undefined): void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const isAll = useRef(false);
  useEffect(() => {
    if (userId === undefined) return undefined;
    return openFeed({ userId, since: readSince(client) }, () => sessionEnded(client));
  }, [userId, client]);
  const refresh = (all: boolean): void => {
    isAll.current ||= all;
    timer.current ??= setTimeout(async () => {
      await whenSeen();
      const everything = isAll.current;
      timer.current = undefined;
      isAll.current = false;
      void client.invalidateQueries({
        predicate: ({ queryKey: [first] }) => first === "live" || (everything && first !== "session"),
      });
    }, 500);
  };
  useFeed(
    // Progress is told whole: there is nothing to ask for.
    ({ type }) => type !== "tool_call.progressed" && refresh(false),
    () => refresh(true),
  );
}

function whenSeen(): Promise<void> | undefined {
  if (!document.hidden) return undefined;
  return new Promise((resolve) => document.addEventListener("visibilitychange", () => resolve(), { once: true }));
}
