import type { ReactNode } from "react";
import { ask, useAnswer, useMay } from "../../api/index.ts";
import { actorText, Diff, Facts, Hash, Notice, NotYet, Part, Text, Time } from "../../kit/index.ts";
import { ChangeButton } from "../dialogs.tsx";

function useChanges(name: string) {
  return useAnswer("GET /v1/tools/{name}/changes", { name });
}

/** The same for the page that MCP clients show for a tool. It is empty until a client has read the page. */
export function PageDefinition({ tool }: { readonly tool: string }): ReactNode {
  const page = `${tool}.ui`;
  if (useChanges(page).data === undefined) return null;
  return (
    <Part label="The page that MCP clients show for it">
      <DefinitionTab tool={page} />
    </Part>
  );
}

/** Whether a server's tool is still the one that was approved; if not, what differs, and the button that approves it. */
export function DefinitionTab({ tool }: { readonly tool: string }): ReactNode {
  const { data, error, refetch } = useChanges(tool);
  if (data === undefined) return <NotYet error={error} again={refetch} rows={4} />;
  const { state, pinned, offered, differences } = data;
  return (
    <div className="grid gap-5">
      {state === "pinned" ? (
        <Notice tone="safe">The server offers the approved definition.</Notice>
      ) : (
        <Notice tone="medium">
          {state === "new"
            ? "This is not approved yet. It cannot be used."
            : "The server's definition has changed since it was approved. It cannot be used until a person has compared the two."}
        </Notice>
      )}
      <Facts
        rows={{
          Approved: pinned && (
            <>
              <Hash value={pinned.definition} /> <Time at={pinned.at} />,{" "}
              {pinned.by === undefined ? (
                "automatically, when it was first offered"
              ) : (
                <Text>{`by ${actorText(pinned.by, pinned.via)}`}</Text>
              )}
            </>
          ),
          Offered: offered && (
            <>
              <Hash value={offered.definition} /> <Time at={offered.at} />
            </>
          ),
        }}
      />
      {differences.map(({ field, path = "", rows }) => (
        <Part key={`${field}${path}`} label={<Text className="mono">{`${field}${path}`}</Text>}>
          <Diff text={rows.join("\n")} />
        </Part>
      ))}
      {state !== "pinned" && offered !== undefined && (
        <Approve tool={tool} definition={offered.definition} onEnd={() => void refetch()} />
      )}
    </div>
  );
}

/** `onEnd` is called after a refusal too: the definition may have changed again. */
type ApproveProps = Readonly<{ tool: string; definition: string; onEnd: () => void }>;

function Approve({ tool, definition, onEnd }: ApproveProps): ReactNode {
  const may = useMay();
  if (!may("tools:approve")) return null;
  return (
    <div className="flex flex-wrap items-center gap-3">
      <ChangeButton
        look="primary"
        change={() => ask("POST /v1/tools/{name}/approve", { name: tool, definition })}
        done="Approved. It can be used."
        onEnd={onEnd}
      >
        Approve this definition
      </ChangeButton>
      <span className="text-ink-2">Exactly the one above; a later change needs approval again.</span>
    </div>
  );
}
