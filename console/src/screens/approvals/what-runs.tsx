import { type ReactNode, useState } from "react";
import { type ApprovalView, type ArtifactView, exactText, type Mismatches, type PreviewView } from "../../api/index.ts";
import {
  actorText,
  Card,
  Diff,
  Facts,
  hunks,
  Icon,
  Json,
  number,
  Preformatted,
  Table,
  Tabs,
  Text,
  TextActions,
  Time,
  useFirst,
} from "../../kit/index.ts";

/** Characters: the server keeps no longer preview, and an approval covers all of it. */
const mostOfText = 65_536;

function hasRun({ status }: ApprovalView): boolean {
  return status === "used";
}

/** In the tense of the request. */
const verifiedWords = new Map<string, string>([
  ["pending", "verified: this is what runs"],
  ["approved", "verified: this is what runs"],
  ["used", "verified: exactly this was approved"],
]);

type PreviewPartProps = Readonly<{
  approval: ApprovalView;
  /** The name of its table: it differs when several previews are on one page. */
  label?: string;
}>;

/** Whether the tool says what will happen, or why it cannot say it. */
export function hasPreview({ preview, summary, asked_preview: before }: ApprovalView): boolean {
  return isShown(preview) || summary !== undefined || before !== undefined;
}

function isShown(preview: PreviewView | undefined): boolean {
  return preview?.supported === true || preview?.problem !== undefined;
}

/** What would happen, as the tool describes it. The arguments decide what runs; the preview must be the same then, unless the tool says that it may differ. */
export function PreviewPart({ approval, label = "What changes" }: PreviewPartProps): ReactNode {
  const { preview, summary, asked_preview: before, status } = approval;
  if (!hasPreview(approval)) return null;
  return (
    <Card
      title={
        hasRun(approval)
          ? "What was approved"
          : status === "pending" || status === "approved"
            ? "What will happen"
            : "What would have happened"
      }
      actions={<span className="text-[0.8571rem] text-ink-3">as the tool describes it</span>}
      body="grid gap-3"
    >
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
      {before !== undefined && <Before preview={before} isOnly={!isShown(preview)} />}
    </Card>
  );
}

/** The preview before the arguments were edited. */
function Before({ preview, isOnly }: Readonly<{ preview: PreviewView; isOnly: boolean }>): ReactNode {
  return (
    <details>
      <summary className="cursor-pointer text-ink-2">
        {isOnly ? "The edited call has no preview. Before the edit" : "Before the edit"}
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
  const { to, subject, body } = message;
  return (
    <div className="overflow-hidden rounded-md border border-line">
      <div className="border-b border-line bg-sunken px-3 py-2">
        <Facts
          rows={{
            To: to && <Text>{to.join(", ")}</Text>,
            Subject: subject !== undefined && <Text className="font-medium">{subject}</Text>,
          }}
        />
      </div>
      <div className="px-3 py-2.5">
        <Text lines limit={mostOfText}>
          {body}
        </Text>
      </div>
    </div>
  );
}

function Changes({ table, label }: Readonly<{ table: NonNullable<PreviewView["table"]>; label: string }>): ReactNode {
  const [shown, more] = useFirst(table.rows, { noun: "rows", first: 200 });
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
        rows={shown.map((cells, at) => ({ cells, at }))}
        keyOf={({ at }) => String(at)}
      />
      {more !== undefined && <div className="border-t border-line px-3 py-2">{more}</div>}
    </div>
  );
}

type ExactArgumentsProps = Readonly<{
  approval: ApprovalView;
  /** Undefined until they are known. */
  mismatches: Mismatches;
}>;

/** The arguments that would run, and their exact bytes: this browser hashes what it shows and compares. */
export function ExactArguments({ approval, mismatches }: ExactArgumentsProps): ReactNode {
  const { what, asked, edited } = approval;
  const [tab, setTab] = useState("tree");
  const text = exactText(approval);
  const isSame = mismatches && !mismatches.includes("arguments");
  const tabs = [
    { id: "tree", label: "Readable" },
    { id: "bytes", label: "Exact bytes" },
    ...(asked === undefined ? [] : [{ id: "edit", label: "What the edit changed" }]),
  ];
  return (
    <Card title="Arguments" actions={<Verified approval={approval} text={text} isSame={isSame} />} body="">
      <Tabs label="Arguments" tabs={tabs} selected={tab} onSelect={setTab}>
        {tab === "tree" && <Json value={what.arguments} />}
        {tab === "bytes" && (
          <div className="grid gap-2">
            <p className="text-ink-2">
              The text that is hashed (RFC 8785). An approval holds for these bytes and no others.
            </p>
            <Preformatted label="The exact arguments">{text}</Preformatted>
          </div>
        )}
        {tab === "edit" && (
          <>
            {edited !== undefined && (
              <p className="mb-2 text-ink-2">
                By <Text className="text-ink">{actorText(edited.by, edited.via)}</Text>, <Time at={edited.at} />
              </p>
            )}
            <Diff text={hunks(JSON.stringify(asked, null, 2), JSON.stringify(what.arguments, null, 2))} />
          </>
        )}
      </Tabs>
      {what.artifacts?.map((artifact) => (
        <ArtifactContent key={artifact.path} artifact={artifact} />
      ))}
    </Card>
  );
}

/** The content of an artifact that an argument names: the tool gets the content, not the reference. */
function ArtifactContent({ artifact: { path, bytes, text } }: { readonly artifact: ArtifactView }): ReactNode {
  return (
    <div className="mt-3 grid gap-1">
      <p className="text-ink-2">
        <Text className="mono text-ink">{path}</Text> is an artifact of {number(bytes)} bytes.
        {text === undefined ? " It is too large to show: its content is not checked." : " The tool gets:"}
      </p>
      {text !== undefined && (
        <Preformatted label={`Content of ${path}`} lines>
          {text}
        </Preformatted>
      )}
    </div>
  );
}

type VerifiedProps = Readonly<{ approval: ApprovalView; text: string; isSame: boolean | undefined }>;

/** Whether what is shown has the digest that an approval is bound to. */
function Verified({ approval: { digest, status }, text, isSame }: VerifiedProps): ReactNode {
  return (
    <span className="flex items-center gap-1 text-[0.8571rem] text-ink-2">
      {isSame === true && (
        <span
          data-verified="yes"
          className="flex items-center gap-1 text-safe"
          title={`SHA-256 ${digest}, computed in this browser from what is shown`}
        >
          <Icon name="lock" size={13} /> {verifiedWords.get(status) ?? "verified: exactly this was asked"}
        </span>
      )}
      {isSame === false && (
        <span data-verified="no" className="flex items-center gap-1 text-critical">
          <Icon name="warning" size={13} /> not what would be approved
        </span>
      )}
      <code className="mono hidden sm:inline" title={digest}>
        {digest.slice(0, 10)}
      </code>
      <TextActions text={text} what="the exact arguments" fileName="arguments.json" />
    </span>
  );
}
