/** Who is here, and what they may do. One query; everything that needs to know asks it. */
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { get, keepCsrf, post, request } from "./client.ts";
import { Problem } from "./problem.ts";
import type { Session } from "./who.ts";

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
  keepCsrf(session?.csrf ?? undefined);
  lastUserId = session?.user.id ?? lastUserId;
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

/** All but the session itself, which the page is watching. */
function forget(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== key[0] });
}

export function sessionEnded(client: QueryClient): void {
  client.setQueryData(key, keep(null));
}

export function useSignIn(): {
  readonly withPassword: (name: string, password: string) => Promise<void>;
  readonly withLink: (token: string) => Promise<void>;
  readonly out: () => Promise<void>;
} {
  const client = useQueryClient();
  const enter = async (): Promise<void> => {
    const before = lastUserId;
    const session = await readSession();
    await client.cancelQueries();
    if (before !== session?.user.id) forget(client);
    client.setQueryData(key, session);
    await client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
  };
  return {
    withPassword: async (name, password) => {
      await post("/v1/session", { name, password });
      await enter();
    },
    withLink: async (token) => {
      await post("/v1/session/link", { token });
      await enter();
    },
    out: async () => {
      await request("DELETE", "/v1/session");
      sessionEnded(client);
      location.assign("/"); // nothing that was read stays in this page
    },
  };
}
