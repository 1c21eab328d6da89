import type { ReactNode } from "react";
import { type Session, useSignIn } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { Icon } from "../../kit/icons.tsx";
import { Text } from "../../kit/text.tsx";
import { Toasts, toast } from "../../kit/toast.tsx";

/** Somebody with an account and no role: who they are, whom to ask for what, and the ways on. */
export function WithoutRoles({ session, again }: { readonly session: Session; readonly again: () => void }): ReactNode {
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
          You are signed in as <Text className="font-medium">{display_name}</Text>, and that is all your account may do.
          Ask somebody who administers accounts for a role: a <em>viewer</em> looks on, an <em>approver</em> decides.
        </p>
        <div className="grid gap-1.5 text-ink-2">
          On the machine where Postern runs, this gives you the first one:
          <code className="mono overflow-x-auto rounded-md bg-sunken px-3 py-2">
            <Text>{`${session.command ?? "postern"} accounts roles ${name} viewer`}</Text>
          </code>
        </div>
        <p className="text-ink-2">
          Where roles come with your sign-in from another provider, they are read when you sign in: sign out, and in
          again.
        </p>
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={() => void out().catch((error: Error) => toast(error.message, "bad"))}>Sign out</Button>
          <Button look="primary" onClick={again}>
            Look again
          </Button>
        </div>
      </div>
      <Toasts />
    </main>
  );
}
