import { type ReactNode, useState } from "react";
import { type ApprovalView, type ArtifactView, type Doubts, exactText, saveText } from "../../api/index.ts";
import {
  actorText,
  Button,
  Card,
  Copy,
  Diff,
  hunks,
  Icon,
  Json,
  number,
  Preformatted,
  Tabs,
  Text,
  Time,
} from "../../kit/index.ts";

type ExactArgumentsProps = Readonly<{
  approval: ApprovalView;
  /** Undefined until they are known. */
  doubts: Doubts;
}>;

/** The arguments that would run, and their exact bytes: this browser hashes what it shows and compares. */
export function ExactArguments({ approval, doubts }: ExactArgumentsProps): ReactNode {
  const { what, asked, edited, digest } = approval;
  const [tab, setTab] = useState("tree");
  const text = exactText(approval);
  const isSame = doubts && !doubts.includes("arguments");
  const tabs = [
    { id: "tree", label: "Readable" },
    { id: "bytes", label: "Exact bytes" },
    ...(asked === undefined ? [] : [{ id: "edit", label: "What the edit changed" }]),
  ];
  return (
    <Card title="Arguments" actions={<Verified text={text} digest={digest} isSame={isSame} />}>
      <div className="px-4 py-3">
        <Tabs label="Arguments" tabs={tabs} selected={tab} onSelect={setTab}>
          {tab === "tree" && <Json value={what.arguments} />}
          {tab === "bytes" && (
            <div className="grid gap-2">
              <p className="text-ink-2">
                The text that is hashed (RFC 8785). An approval holds for these bytes and no others.
              </p>
              <Preformatted>{text}</Preformatted>
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
      </div>
    </Card>
  );
}

/** The content of an artifact that an argument names: the tool gets the content, not the reference. */
function ArtifactContent({ artifact: { path, bytes, text } }: { readonly artifact: ArtifactView }): ReactNode {
  return (
    <section aria-label={`Content of ${path}`} className="mt-3 grid gap-1">
      <p className="text-ink-2">
        <Text className="mono text-ink">{path}</Text> is an artifact of {number(bytes)} bytes.
        {text === undefined ? " It is too large to show: its content is not checked." : " The tool gets:"}
      </p>
      {text !== undefined && <Preformatted lines>{text}</Preformatted>}
    </section>
  );
}

type VerifiedProps = Readonly<{ text: string; digest: string; isSame: boolean | undefined }>;

/** Whether what is shown has the digest that an approval is bound to. */
function Verified({ text, digest, isSame }: VerifiedProps): ReactNode {
  return (
    <span className="flex items-center gap-1 text-[0.8571rem] text-ink-2">
      {isSame === true && (
        <span
          data-verified="yes"
          className="flex items-center gap-1 text-safe"
          title={`SHA-256 ${digest}, computed in this browser from what is shown`}
        >
          <Icon name="lock" size={13} /> verified: this is what runs
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
      <Copy text={text} label="Copy the exact arguments" />
      <Button
        look="plain"
        size="small"
        icon="down_tray"
        aria-label="Download the exact arguments"
        className="-my-1"
        onClick={() => saveText(text, "arguments.json")}
      />
    </span>
  );
}
