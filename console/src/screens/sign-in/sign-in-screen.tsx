import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { ask, goToProvider, isProofLost, type Session, sentenceOf, useSignIn } from "../../api/index.ts";
import { Button, Dialog, ErrorNotice, Icon, Notice, Text, TextField, Toasts, toast } from "../../kit/index.ts";

/** The address stays, so that a link to a request leads there after the sign-in. */
export function SignInScreen(): ReactNode {
  return (
    <main className="grid min-h-full place-items-center px-4 py-10">
      <div className="grid w-full max-w-sm gap-6">
        <div className="grid justify-items-center gap-3">
          <img src="/postern.svg" alt="" width={44} height={44} />
          <h1 className="text-[1.4286rem] font-semibold tracking-tight">Sign in to Postern</h1>
        </div>
        <SignInForm />
      </div>
    </main>
  );
}

/** The session ended while a page was open: the page stays as it is. */
export function SignInAgain(): ReactNode {
  return (
    <Dialog title="Your session has ended" open stays onClose={() => undefined}>
      <p className="text-ink-2">Sign in again; the page behind stays as it is.</p>
      <SignInForm />
    </Dialog>
  );
}

function SignInForm(): ReactNode {
  const link = useLink();
  const { data: ways } = useQuery({
    queryKey: ["sign-in-ways"],
    queryFn: () => ask("GET /v1/session/ways"),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (link.busy)
    return (
      <p role="status" className="text-center text-ink-2">
        Opening your link…
      </p>
    );
  const problem = problems.get(new URLSearchParams(location.search).get("problem") ?? "");
  return (
    <div className="grid gap-4">
      <ErrorNotice>{link.error}</ErrorNotice>
      {isProofLost() && (
        <Notice tone="accent">
          This browser has your session, but what this page stored for it was cleared. Sign in again.
        </Notice>
      )}
      <ErrorNotice>{problem}</ErrorNotice>
      {ways?.password === true && <PasswordForm />}
      {ways?.openid !== undefined && (
        <a
          href={`/v1/session/openid?to=${encodeURIComponent(returnPath())}`}
          onClick={goToProvider}
          onAuxClick={goToProvider}
          className="inline-flex h-11 items-center justify-center rounded-md border border-line-strong bg-surface font-medium hover:bg-hover"
        >
          Continue with <Text className="ml-1">{ways.openid.name}</Text>
        </a>
      )}
      {ways !== undefined && (
        <LinkHint isOnly={!ways.password && ways.openid === undefined} command={ways.command ?? "postern"} />
      )}
    </div>
  );
}

/** Codes in the address after a sign-in through a provider. Any other text there is ignored: another site may have written it. */
const problems = new Map([
  [
    "openid_refused",
    "The provider's answer does not sign you in here. Your account there may not be known here, or the sign-in took too long: try again, or ask the operator of Postern.",
  ],
]);

function returnPath(): string {
  return location.pathname === "/sign-in" ? "/approvals" : `${location.pathname}${location.search}`;
}

function PasswordForm(): ReactNode {
  const { withPassword } = useSignIn();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    await withPassword(name, password).catch((problem: unknown) => {
      setError(sentenceOf(problem));
      setBusy(false);
    });
  };
  return (
    <form
      onSubmit={(event) => void submit(event)}
      className="grid gap-3.5 rounded-lg border border-line bg-surface p-5 shadow-raised"
    >
      <ErrorNotice>{error}</ErrorNotice>
      <TextField
        label="Name"
        first
        required
        autoComplete="username"
        autoCapitalize="none"
        value={name}
        onChange={setName}
      />
      <TextField
        label="Password"
        type="password"
        required
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
      />
      <Button type="submit" look="primary" size="large" busy={busy}>
        {busy ? "Signing in…" : "Sign in"}
      </Button>
    </form>
  );
}

/** Before there are accounts, the operator signs in with a link that the command line prints. */
function LinkHint({ isOnly, command }: Readonly<{ isOnly: boolean; command: string }>): ReactNode {
  if (!isOnly)
    return (
      <p className="grid justify-items-center gap-1 text-ink-2">
        Or by a link that works once:
        <code className="mono rounded bg-sunken px-2 py-0.5">{`${command} accounts link NAME`}</code>
      </p>
    );
  return (
    <div className="grid gap-2 rounded-lg border border-line bg-surface p-5 text-center shadow-raised">
      <p>On the machine where Postern runs, this prints a link that signs you in once:</p>
      <code className="mono rounded-md bg-sunken px-3 py-2">{`${command} accounts link`}</code>
    </div>
  );
}

/** `/sign-in#link=TOKEN`: this part of an address is never sent or logged. It is removed before it is used, once. */
function useLink(): { readonly busy: boolean; readonly error: string | undefined } {
  const { withLink } = useSignIn();
  const navigate = useNavigate();
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get("link") ?? undefined);
  const [error, setError] = useState<string>();
  const used = useRef(false);
  useEffect(() => {
    if (token === undefined || used.current) return;
    used.current = true;
    history.replaceState(null, "", location.pathname);
    withLink(token)
      .then(() => navigate({ to: "/approvals/{-$request}" }))
      .catch((problem: Error) => setError(problem.message));
  }, [token, withLink, navigate]);
  return { busy: token !== undefined && error === undefined, error };
}

/** For a person with an account and no role: who gives roles, and how. */
export function WithoutRoles({ session, again }: Readonly<{ session: Session; again: () => void }>): ReactNode {
  const { out } = useSignIn();
  const { name, display_name } = session.user;
  return (
    <main className="grid min-h-full place-items-center px-4 py-10">
      <div className="grid w-full max-w-md gap-5 rounded-lg border border-line bg-surface p-6 shadow-raised">
        <div className="flex items-center gap-3">
          <span className="grid size-10 shrink-0 place-items-center rounded-full bg-medium-tint text-medium">
            <Icon name="person" size={20} />
          </span>
          <h1 className="min-w-0 text-[1.2143rem] font-semibold tracking-tight">You have no role here yet</h1>
        </div>
        <p>
          You are signed in as <Text className="font-medium">{display_name}</Text>, but your account may do nothing yet.
          Ask an administrator for a role: a <em>viewer</em> reads, an <em>approver</em> decides.
        </p>
        <div className="grid gap-1.5 text-ink-2">
          On the machine where Postern runs, this gives you the first one:
          <code className="mono overflow-x-auto rounded-md bg-sunken px-3 py-2">
            <Text>{`${session.command ?? "postern"} accounts roles ${name} viewer`}</Text>
          </code>
        </div>
        <p className="text-ink-2">
          If your roles come from another provider, they are read when you sign in: sign out, and in again.
        </p>
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={() => void out().catch(({ message }: Error) => toast(message, "bad"))}>Sign out</Button>
          <Button look="primary" onClick={again}>
            Try again
          </Button>
        </div>
      </div>
      <Toasts />
    </main>
  );
}
