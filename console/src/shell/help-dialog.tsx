import type { ReactNode } from "react";
import { useSession } from "../api/index.ts";
import { Dialog, Facts, Part, Text } from "../kit/index.ts";
import { ConnectAgent } from "../screens/connect/connect-agent.tsx";

const keys = {
  "Ctrl K, ⌘ K": "Go to a screen, a tool, a run or a request, or do something",
  "/": "Search on this screen",
  "?": "This help",
  "j, k": "The next and the previous request",
  a: "Approve the open request",
  e: "Edit it",
  d: "Deny it",
  r: "Write to its agent, without a decision",
  "↑ ↓ Home End": "Move in a list; Enter opens",
} as const;

export function HelpDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { session } = useSession();
  return (
    <Dialog title="Help" open wide onClose={onClose}>
      <Part label="Keys, while you are not typing">
        <Facts rows={Object.fromEntries(Object.entries(keys).map(([key, does]) => [key, does]))} />
      </Part>
      <section className="grid gap-4 border-t border-line pt-4">
        <h3 className="font-semibold">Connect an agent</h3>
        <ConnectAgent onClose={onClose} />
      </section>
      <p className="border-t border-line pt-4 text-ink-2">
        <Text>{`Postern ${session?.version ?? ""}. `}</Text>
        The guides are in the folder docs of its package; programs read{" "}
        <a className="text-accent underline" href="/openapi.json" target="_blank" rel="noreferrer">
          the description of its interface
        </a>
        .
      </p>
    </Dialog>
  );
}
