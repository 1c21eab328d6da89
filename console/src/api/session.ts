/** Who is here, and what they may do. One query; everything that needs to know asks it. */
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import type { SessionAnswer as Session, SignedInAnswer } from "../../../src/server/contract/session.ts";
import { get, post, request } from "./client.ts";
import { Problem } from "./problem.ts";
import { keepProof } from "./proof.ts";
import { typeAs } from "./typed.ts";

export type { Session };

const key = ["session"] as const;

/** Who was here last: what another person saw is not shown to the next. */
let lastUserId: string | undefined;

async function readSession(): Promise<Session | null> {
  try {
    return keep(await get<Session>("/v1/session"));
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return keep(null);
    throw error;
  }
}

function keep(session: Session | null): Session | null {
  lastUserId = session?.user.id ?? lastUserId;
  if (session !== null) typeAs(session.command);
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

/** Whether the person here may do it; the server is asked anyway, this only leaves out what would be refused. */
export function useMay(): (permission: string) => boolean {
  const { session } = useSession();
  return (permission) => session?.permissions.includes(permission) ?? false;
}

/** Whatever is shown was read after it. */
export function readSince(client: QueryClient): string | undefined {
  return client.getQueryData<Session | null>(key)?.last_event_id;
}

/** All but the session itself, which the page is watching. */
function forget(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== key[0] });
}

export function sessionEnded(client: QueryClient): void {
  client.setQueryData(key, keep(null));
}

/** Somebody may be another person now: nothing that the one before saw is shown to them. */
export async function enter(client: QueryClient): Promise<void> {
  const before = lastUserId;
  const session = await readSession();
  await client.cancelQueries();
  if (before !== session?.user.id) forget(client);
  client.setQueryData(key, session);
  await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
}

/** Every session of the account ends. @throws Problem */
export async function changePassword(current: string, password: string): Promise<void> {
  await request("PUT", "/v1/session/password", { body: { current, password } });
  keepProof(undefined);
}

export function useSignIn(): {
  readonly withPassword: (name: string, password: string) => Promise<void>;
  readonly withLink: (token: string) => Promise<void>;
  readonly out: () => Promise<void>;
} {
  const client = useQueryClient();
  const by = async (path: string, said: object): Promise<void> => {
    keepProof((await post<SignedInAnswer>(path, said)).csrf);
    await enter(client);
  };
  return {
    withPassword: (name, password) => by("/v1/session", { name, password }),
    withLink: (token) => by("/v1/session/link", { token }),
    out: async () => {
      await request("DELETE", "/v1/session");
      keepProof(undefined);
      sessionEnded(client);
      location.assign("/"); // nothing that was read stays in this page
    },
  };
}
