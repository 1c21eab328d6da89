import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { ToolChangesView } from "../../../../src/server/contract/tools.ts";
import { get, post } from "../../api/client.ts";
import { useMay } from "../../api/session.ts";
import { actorText } from "../../kit/actor.ts";
import { Button } from "../../kit/button.tsx";
import { Facts, Part } from "../../kit/card.tsx";
import { Hash } from "../../kit/copy.tsx";
import { Diff } from "../../kit/diff.tsx";
import { Notice, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";
import { toast } from "../../kit/toast.tsx";
import { useSending } from "../use-sending.ts";

function useChanges(tool: string) {
  return useQuery({
    queryKey: ["live", "changes", tool],
    queryFn: () => get<ToolChangesView>(`/v1/tools/${encodeURIComponent(tool)}/changes`),
  });
}

/** The same of the page that clients show for a tool; nothing before a client has read it. */
export function PageDefinition({ tool }: { readonly tool: string }): ReactNode {
  const page = `${tool}.ui`;
  if (useChanges(page).data === undefined) return null;
  return (
    <Part label="The page that MCP clients show for it">
      <DefinitionTab tool={page} />
    </Part>
  );
}

/** Whether a server's tool is still what somebody trusted; if not, what is other, and the word that trusts it. */
export function DefinitionTab({ tool }: { readonly tool: string }): ReactNode {
  const { data, error, refetch } = useChanges(tool);
  if (data === undefined) return <NotYet error={error} again={refetch} rows={4} />;
  const { state, pinned, offered, differences } = data;
  return (
    <div className="grid gap-5">
      {state === "pinned" ? (
        <Notice tone="safe">The server offers what is trusted.</Notice>
      ) : (
        <Notice tone="medium">
          {state === "new"
            ? "This is not approved yet. It cannot be used."
            : "The server describes this otherwise than when it was trusted. It cannot be used until somebody has read what is other."}
        </Notice>
      )}
      <Facts
        rows={[
          pinned && [
            "Trusted",
            <span key="pinned">
              <Hash value={pinned.definition} /> <Time at={pinned.at} />,{" "}
              {pinned.by === undefined ? (
                "as it was first seen"
              ) : (
                <>
                  by <Text>{actorText(pinned.by, pinned.via)}</Text>
                </>
              )}
            </span>,
          ],
          offered && [
            "Offered",
            <span key="offered">
              <Hash value={offered.definition} /> <Time at={offered.at} />
            </span>,
          ],
        ]}
      />
      {differences.map(({ field, path, rows }) => (
        <Part key={`${field}${path ?? ""}`} label={<Text className="mono">{`${field}${path ?? ""}`}</Text>}>
          <Diff text={rows.join("\n")} />
        </Part>
      ))}
      {state !== "pinned" && offered !== undefined && (
        <Approve tool={tool} definition={offered.definition} onDone={() => void refetch()} />
      )}
    </div>
  );
}

function Approve({
  tool,
  definition,
  onDone,
}: {
  readonly tool: string;
  readonly definition: string;
  readonly onDone: () => void;
}): ReactNode {
  const may = useMay();
  const { isBusy, problem, send } = useSending();
  if (!may("tools:approve")) return null;
  const approve = async (): Promise<void> => {
    const isDone = await send(() => post(`/v1/tools/${encodeURIComponent(tool)}/approve`, { definition }));
    if (isDone) toast("Trusted. It can be used.");
    onDone(); // also when somebody changed it since it was read: what is shown is read anew
  };
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button look="primary" busy={isBusy} onClick={() => void approve()}>
        Trust this definition
      </Button>
      <span className="text-ink-2">Exactly the one above; anything that comes after is asked about again.</span>
      {problem !== undefined && <Text className="text-critical">{problem}</Text>}
    </div>
  );
}
