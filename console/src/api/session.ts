/** Who is signed in, and what they may do: one query for all. */

import type { ControlsView, SessionAnswer as Session } from "@postern/core/contract";
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { ask, Problem } from "./client.ts";
import { setCommandName } from "./command-name.ts";
import { keep, kept, proof, proofName, storeProof } from "./proof.ts";
import { useAnswer } from "./queries.ts";

export type { Session };

const key = ["session"] as const;
const isOther = ({ queryKey }: { readonly queryKey: readonly unknown[] }): boolean => queryKey[0] !== key[0];

/** Another person must not see what this one saw. */
let lastUserId: string | undefined;

async function readSession(): Promise<Session | null> {
  try {
    return remember(await ask("GET /v1/session"));
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return remember(null);
    throw error;
  }
}

function remember(session: Session | null): Session | null {
  lastUserId = session?.user.id ?? lastUserId;
  if (session !== null) setCommandName(session.command);
  return session;
}

export function useSession(): {
  readonly session: Session | null | undefined;
  readonly error: unknown;
  readonly again: () => void;
} {
  const { data, error, refetch } = useQuery({ queryKey: key, queryFn: readSession, staleTime: 300_000, retry: 1 });
  return { session: data, error, again: () => void refetch() };
}

/** Whether this person may do it. The server checks again; this only leaves out what it would refuse. */
export function useMay(): (permission: string) => boolean {
  const { session } = useSession();
  return (permission) => session?.permissions.includes(permission) ?? false;
}

/** The pause and the autonomy for all agents. */
export function useControls(): ControlsView | undefined {
  const enabled = useMay()("controls:read");
  return useAnswer("GET /v1/controls", {}, { enabled }).data;
}

/** All that is shown was read after this event. */
export function readSince(client: QueryClient): string | undefined {
  return client.getQueryData<Session | null>(key)?.last_event_id;
}

export function sessionEnded(client: QueryClient): void {
  client.setQueryData(key, remember(null));
}

/** The session may be another person's now: what the one before saw is removed. */
export async function enter(client: QueryClient): Promise<void> {
  const before = lastUserId;
  const session = await readSession();
  await client.cancelQueries();
  if (before !== session?.user.id) client.removeQueries({ predicate: isOther });
  client.setQueryData(key, session);
  await client.invalidateQueries({ predicate: isOther });
}

/** Ends every session of the account. @throws Problem */
export async function changePassword(current: string, password: string): Promise<void> {
  await ask("PUT /v1/session/password", { current, password });
  storeProof(undefined);
}

export function useSignIn(): {
  readonly withPassword: (name: string, password: string) => Promise<void>;
  readonly withLink: (token: string) => Promise<void>;
  readonly out: () => Promise<void>;
} {
  const client = useQueryClient();
  const begin = async (answer: Promise<{ readonly csrf: string }>): Promise<void> => {
    storeProof((await answer).csrf);
    await enter(client);
  };
  return {
    withPassword: (name, password) => begin(ask("POST /v1/session", { name, password })),
    withLink: (token) => begin(ask("POST /v1/session/link", { token })),
    out: async () => {
      await ask("DELETE /v1/session");
      storeProof(undefined);
      sessionEnded(client);
      location.assign("/"); // removes all that was read from this page
    },
  };
}

/** A person signed in or out in another tab. @param listener `isGone`: out */
export function whenProofChanges(listener: (isGone: boolean) => void): void {
  window.addEventListener("storage", ({ key }) => {
    if (key === proofName || key === null) listener(proof() === undefined);
  });
}

const providerKey = "postern.signing-in-elsewhere";
const providerMs = 10 * 60_000;

/** Called on the way to a provider: a proof is taken only from the address of the way back. */
export function goToProvider(): void {
  keep(providerKey, String(Date.now()));
}

/** Removes the proof from the address before anything is drawn. It counts only when this browser went to a provider. */
export function takeProof(): void {
  const word = new URLSearchParams(location.hash.slice(1)).get("csrf");
  if (word === null) return;
  history.replaceState(null, "", `${location.pathname}${location.search}`);
  const began = Number(kept(providerKey) ?? 0);
  keep(providerKey, undefined);
  if (Date.now() - began < providerMs) storeProof(word); // otherwise another site made this link
}
