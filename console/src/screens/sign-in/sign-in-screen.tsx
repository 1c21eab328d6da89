import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import type { SignInWays } from "../../../../src/server/contract/session.ts";
import { get } from "../../api/client.ts";
import { Problem } from "../../api/problem.ts";
import { goElsewhere, isProofLost } from "../../api/proof.ts";
import { useSignIn } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { Dialog } from "../../kit/dialog.tsx";
import { Field } from "../../kit/field.tsx";
import { Notice } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";

/** The one page for those who are nobody yet. Their address stays, so that a link to a request leads there after. */
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

/** The session ended under an open page: the page waits, as it was. */
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
    queryFn: () => get<SignInWays>("/v1/session/ways"),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (link.busy) {
    return (
      <p role="status" className="text-center text-ink-2">
        Opening your link…
      </p>
    );
  }
  return (
    <div className="grid gap-4">
      {link.error !== undefined && <Notice>{link.error}</Notice>}
      {isProofLost() && (
        <Notice tone="accent">
          This browser has your session but not what this page kept for it, which was cleared. Sign in again.
        </Notice>
      )}
      <Refused />
      {ways?.password === true && <PasswordForm />}
      {ways?.openid !== undefined && (
        <a
          href={`/v1/session/openid?to=${encodeURIComponent(pageToComeBackTo())}`}
          onClick={goElsewhere}
          onAuxClick={goElsewhere}
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

/** Why the way through a provider ended here, as the address says it. Words of strangers in it say nothing. */
const problems = new Map([
  [
    "openid_refused",
    "The provider's answer does not sign anybody in here. Your account there may not be known here, or the sign-in took too long: try again, or ask whoever runs Postern.",
  ],
]);

function Refused(): ReactNode {
  const problem = problems.get(new URLSearchParams(location.search).get("problem") ?? "");
  return problem === undefined ? null : <Notice>{problem}</Notice>;
}

function pageToComeBackTo(): string {
  return location.pathname === "/sign-in" ? "/approvals" : `${location.pathname}${location.search}`;
}

function PasswordForm(): ReactNode {
  const { withPassword } = useSignIn();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string>();
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setError(undefined);
    try {
      await withPassword(String(form.get("name")), String(form.get("password")));
    } catch (problem) {
      setError(problem instanceof Problem ? problem.message : String(problem));
      setBusy(false);
    }
  };
  return (
    <form
      onSubmit={(event) => void submit(event)}
      className="grid gap-3.5 rounded-lg border border-line bg-surface p-5 shadow-raised"
    >
      {error !== undefined && <Notice>{error}</Notice>}
      <Field label="Name">
        {(wired) => (
          <input
            {...wired}
            data-first
            name="name"
            required
            autoComplete="username"
            autoCapitalize="none"
            className="input"
          />
        )}
      </Field>
      <Field label="Password">
        {(wired) => (
          <input
            {...wired}
            name="password"
            type="password"
            required
            autoComplete="current-password"
            className="input"
          />
        )}
      </Field>
      <Button type="submit" look="primary" size="large" busy={busy}>
        {busy ? "Signing in…" : "Sign in"}
      </Button>
    </form>
  );
}

/** Before there are accounts, whoever can read the data folder is the operator: a link from there is the way in. */
function LinkHint({ isOnly, command }: { readonly isOnly: boolean; readonly command: string }): ReactNode {
  if (!isOnly) {
    return (
      <p className="grid justify-items-center gap-1 text-ink-2">
        Or by a link that works once:
        <code className="mono rounded bg-sunken px-2 py-0.5">{`${command} accounts link NAME`}</code>
      </p>
    );
  }
  return (
    <div className="grid gap-2 rounded-lg border border-line bg-surface p-5 text-center shadow-raised">
      <p>On the machine where Postern runs, this prints a link that signs you in once:</p>
      <code className="mono rounded-md bg-sunken px-3 py-2">{`${command} accounts link`}</code>
    </div>
  );
}

/** `/sign-in#link=TOKEN`: a part of the address that is never sent or logged. It is taken out of sight before it is used, once. */
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
      .then(() => navigate({ to: "/approvals" }))
      .catch((problem: Error) => setError(problem.message));
  }, [token, withLink, navigate]);
  return { busy: token !== undefined && error === undefined, error };
}
