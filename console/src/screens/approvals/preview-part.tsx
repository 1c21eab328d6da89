import { type ReactNode, useState } from "react";
import type { ApprovalView, PreviewView } from "../../api/index.ts";
import { Button, Card, Diff, Json, Table, Text } from "../../kit/index.ts";

/** Characters: the server keeps no longer preview, and an approval covers all of it. */
const mostOfText = 65_536;

type PreviewPartProps = Readonly<{
  approval: ApprovalView;
  /** The name of its table: it differs when several previews are on one page. */
  label?: string;
}>;

/** What would happen, as the tool describes it. The arguments decide what runs; the preview must be the same then, unless the tool says that it may differ. */
export function PreviewPart({ approval, label = "What changes" }: PreviewPartProps): ReactNode {
  const { preview, summary, asked_preview: before } = approval;
  const isNothing = preview?.supported !== true && preview?.problem === undefined;
  if (isNothing && summary === undefined && before === undefined) return null;
  return (
    <Card
      title="What will happen"
      actions={<span className="text-[0.8571rem] text-ink-3">as the tool describes it</span>}
    >
      <div className="grid gap-3 px-4 py-3">
        {preview !== undefined && (
          <p className="text-[1.0714rem]">
            <Text lines limit={mostOfText}>
              {preview.summary}
            </Text>
          </p>
        )}
        {summary !== undefined && summary !== preview?.summary && (
          <p className="text-high">
            <Text lines>{summary}</Text>
          </p>
        )}
        {preview !== undefined && <PreviewBody preview={preview} label={label} />}
        {preview?.problem !== undefined && (
          <p className="text-medium">
            No more of it can be shown: <Text>{preview.problem}</Text>
          </p>
        )}
        {preview?.supported === true && approval.preview_binds === false && (
          <p className="text-medium">This preview may differ when the call runs: its tool says so.</p>
        )}
        {before !== undefined && <Before preview={before} isShownAnew={!isNothing} />}
      </div>
    </Card>
  );
}

/** The preview before the arguments were edited. */
function Before({ preview, isShownAnew }: { readonly preview: PreviewView; readonly isShownAnew: boolean }): ReactNode {
  return (
    <details>
      <summary className="cursor-pointer text-ink-2">
        {isShownAnew ? "Before the edit" : "Nothing is shown of the edit. Before it"}
      </summary>
      <div className="mt-2 grid gap-3 border-l-2 border-line pl-3">
        <p>
          <Text lines limit={mostOfText}>
            {preview.summary}
          </Text>
        </p>
        <PreviewBody preview={preview} label="What would have changed" />
      </div>
    </details>
  );
}

function PreviewBody({ preview, label }: { readonly preview: PreviewView; readonly label: string }): ReactNode {
  const { diff, table, message, details } = preview;
  return (
    <>
      {message !== undefined && <Message message={message} />}
      {diff !== undefined && <Diff text={diff} />}
      {table !== undefined && <Changes table={table} label={label} />}
      {details !== undefined && <Json value={details} />}
    </>
  );
}

/** As its reader will see it, as plain text. */
function Message({ message }: { readonly message: NonNullable<PreviewView["message"]> }): ReactNode {
  return (
    <div className="overflow-hidden rounded-md border border-line">
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-0.5 border-b border-line bg-sunken px-3 py-2">
        {message.to !== undefined && (
          <>
            <dt className="text-ink-3">To</dt>
            <dd>
              <Text>{message.to.join(", ")}</Text>
            </dd>
          </>
        )}
        {message.subject !== undefined && (
          <>
            <dt className="text-ink-3">Subject</dt>
            <dd className="font-medium">
              <Text>{message.subject}</Text>
            </dd>
          </>
        )}
      </dl>
      <div className="px-3 py-2.5">
        <Text lines limit={mostOfText}>
          {message.body}
        </Text>
      </div>
    </div>
  );
}

/** Rows shown at first. */
const mostRows = 200;

function Changes({ table, label }: Readonly<{ table: NonNullable<PreviewView["table"]>; label: string }>): ReactNode {
  const [isWhole, setIsWhole] = useState(table.rows.length <= mostRows);
  const rows = table.rows.slice(0, isWhole ? undefined : mostRows).map((cells, at) => ({ cells, at }));
  return (
    <div className="overflow-hidden rounded-md border border-line">
      <Table
        label={label}
        columns={table.columns.map((name, at) => ({
          name,
          cell: ({ cells }: { readonly cells: readonly string[] }) => (
            <Text lines limit={mostOfText}>
              {cells[at]}
            </Text>
          ),
        }))}
        rows={rows}
        keyOf={({ at }) => String(at)}
      />
      {table.rows.length > rows.length && (
        <p className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line px-3 py-2 text-medium">
          {rows.length} of {table.rows.length} rows are shown.
          <Button size="small" onClick={() => setIsWhole(true)}>
            Show all {table.rows.length}
          </Button>
        </p>
      )}
    </div>
  );
}
