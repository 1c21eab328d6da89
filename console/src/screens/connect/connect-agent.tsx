/** How an agent is connected: the address, a token, the configuration of its client, and a request to try. */
import { type ClientServer, clientFileText, clientServers, editFor, ownServer, tokenVariable } from "@postern/core";
import type { OutcomeView } from "@postern/core/contract";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { problemOf, refusalText, send, sentenceOf, useMay, useSession } from "../../api/index.ts";
import { Button, Copy, CopyLine, Part, Preformatted, SharedValue, Tabs, toast, useShared } from "../../kit/index.ts";
import { MakeToken } from "../people/make-token.tsx";

/** The token that was made on this page, for the person who made it. */
const made = new SharedValue<{ readonly by: string | undefined; readonly text: string } | undefined>(undefined);

export function ConnectAgent({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { session } = useSession();
  const mayCall = useMay()("calls:make");
  const by = session?.user.id;
  const token = useShared(made, (one) => (one?.by === by ? one?.text : undefined));
  const url = session?.mcp_url ?? `${location.origin}/mcp`;
  return (
    <div className="grid gap-5">
      <Part label="1. The address, for every client of the Model Context Protocol">
        <CopyLine text={url} what="the address" />
      </Part>
      <Part label="2. A token, by which Postern knows the agent">
        {mayCall && <MakeToken made={token} onMade={(text) => made.set({ by, text })} />}
        <p className="text-ink-3 empty:hidden">
          {!mayCall && "A token of yours could call no tool: that needs the role operator. "}
          {token === undefined &&
            "An agent on the machine of Postern may share the token in the file agent.token of its data folder."}
        </p>
      </Part>
      <Part label="3. The configuration of the client">
        <Configurations url={url} token={token} />
      </Part>
      {token !== undefined && (
        <Part label="4. Try it">
          <Sample token={token} onClose={onClose} />
        </Part>
      )}
    </div>
  );
}

type Speaking = ClientServer & Required<Pick<ClientServer, "http">>;
const speaking: readonly Speaking[] = clientServers.filter((one) => "http" in one);
const tabs = [...speaking.map(({ id, title: label }) => ({ id, label })), { id: "other", label: "JSON" }];

/** The texts that `postern connect` writes. */
function Configurations({ url, token = "TOKEN" }: Readonly<{ url: string; token: string | undefined }>): ReactNode {
  const [id, setId] = useState(tabs[0]?.id ?? "");
  const client = speaking.find((one) => one.id === id);
  const headers = { Authorization: `Bearer ${token}` };
  const edit =
    client === undefined
      ? { servers: "mcpServers", name: ownServer, entry: { type: "http", url, headers } }
      : editFor(client, client.http(url));
  const text = clientFileText(client ?? { format: "json" }, edit);
  return (
    <Tabs label="Client" tabs={tabs} selected={id} onSelect={setId}>
      <div className="grid gap-2">
        <p className="text-ink-2">
          {client === undefined
            ? "Many other clients read this. It holds the token: keep it to yourself."
            : `In ${client.file}${client.file.startsWith("~") ? "" : ", in the folder of your project"}.`}
          {client?.token === "prompt" && " The client asks for the token when it connects."}
        </p>
        <Preformatted label={`Configuration of ${client?.title ?? "other clients"}`} lines>
          {text.trimEnd()}
        </Preformatted>
        <div>
          <Copy text={text} label="Copy the configuration" word="Copy" />
        </div>
        {client?.token === "variable" && (
          <>
            <p className="text-ink-2">Where the client starts, it finds the token in a variable:</p>
            <CopyLine text={`export ${tokenVariable}="${token}"`} what="the variable" />
          </>
        )}
      </div>
    </Tabs>
  );
}

/** A script that calls no tool. At the lowest level of autonomy that runs anything, it needs approval. */
const sample = {
  tool: "tool_chain",
  arguments: { language: "javascript", code: 'return "Hello. This sample called no tool and changed nothing.";' },
  autonomy: "A1",
  patience: "wait",
  reason: "A sample: it changes nothing.",
};

/** Not as the person who is signed in, so that they may approve it. A refused call has an outcome too. @throws Problem */
async function callAs(token: string): Promise<OutcomeView> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await send("POST", "/v1/calls", { body: JSON.stringify(sample), headers });
  const body: unknown = await answer.clone().json();
  if (typeof body === "object" && body !== null && "call_id" in body) return body as OutcomeView; // a problem has no call id
  throw await problemOf(answer);
}

/** A call as the agent makes it: it waits for the decision as long as this page is open. */
function Sample({ token, onClose }: Readonly<{ token: string; onClose: () => void }>): ReactNode {
  const navigate = useNavigate();
  const make = (): void => {
    void callAs(token).then(
      ({ status, text, refusal }) =>
        status === "ok"
          ? toast(`The sample ran ok: ${text}`)
          : toast(refusal === undefined ? text : refusalText(refusal.code, refusal.message), "bad"),
      (error: unknown) => toast(sentenceOf(error), "bad"),
    );
    onClose();
    void navigate({ to: "/approvals/{-$request}" });
  };
  return (
    <>
      <p className="text-ink-2">A call with the token above, which asks for approval. Approved, it prints a line.</p>
      <div>
        <Button look="primary" icon="play" onClick={make}>
          Make a sample request
        </Button>
      </div>
    </>
  );
}
