import type { ReactNode } from "react";
import type { Approval, Preview } from "../../api/approvals.ts";
import { Card } from "../../kit/card.tsx";
import { Diff } from "../../kit/diff.tsx";
import { Json } from "../../kit/json.tsx";
import { Table } from "../../kit/table.tsx";
import { Text } from "../../kit/text.tsx";

/** What would happen, in the tool's own words. Bound by digest: what was shown is what is checked when it runs. */
export function PreviewPart({ approval }: { readonly approval: Approval }): ReactNode {
  const { preview, summary } = approval;
  if (preview?.supported !== true && summary === undefined) return null;
  return (
    <Card
      title="What will happen"
      actions={<span className="text-[0.8571rem] text-ink-3">as the tool describes it</span>}
    >
      <div className="grid gap-3 px-4 py-3">
        {preview !== undefined && (
          <p className="text-[1.0714rem]">
            <Text lines>{preview.summary}</Text>
          </p>
        )}
        {summary !== undefined && summary !== preview?.summary && (
          <p className="text-high">
            <Text lines>{summary}</Text>
          </p>
        )}
        {preview !== undefined && <PreviewBody preview={preview} />}
        {preview?.problem !== undefined && (
          <p className="text-medium">
            No more of it can be shown: <Text>{preview.problem}</Text>
          </p>
        )}
      </div>
    </Card>
  );
}

function PreviewBody({ preview }: { readonly preview: Preview }): ReactNode {
  const { diff, table, message, details } = preview;
  return (
    <>
      {message !== undefined && <Message message={message} />}
      {diff !== undefined && <Diff text={diff} />}
      {table !== undefined && <Changes table={table} />}
      {details !== undefined && <Json value={details} />}
    </>
  );
}

/** As whoever gets it will read it, as far as text can say: no markup is drawn. */
function Message({ message }: { readonly message: NonNullable<Preview["message"]> }): ReactNode {
  return (
    <div className="overflow-hidden rounded-md border border-line">
      <dl className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-0.5 border-b border-line bg-sunken px-3 py-2">
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
        <Text lines>{message.body}</Text>
      </div>
    </div>
  );
}

function Changes({ table }: { readonly table: NonNullable<Preview["table"]> }): ReactNode {
  const rows = table.rows.slice(0, 200).map((cells, at) => ({ cells, at }));
  return (
    <div className="overflow-hidden rounded-md border border-line">
      <Table
        label="What changes"
        columns={table.columns.map((name, at) => ({
          name,
          cell: ({ cells }: { readonly cells: readonly string[] }) => <Text lines>{cells[at]}</Text>,
        }))}
        rows={rows}
        keyOf={({ at }) => String(at)}
      />
      {table.rows.length > rows.length && (
        <p className="px-3 py-2 text-ink-3">{table.rows.length - rows.length} more rows</p>
      )}
    </div>
  );
}
