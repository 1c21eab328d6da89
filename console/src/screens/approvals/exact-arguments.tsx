import { type ReactNode, useState } from "react";
import type { ApprovalView, ArtifactView } from "../../api/approvals.ts";
import { type Doubts, exactText } from "../../api/checked.ts";
import { keepText } from "../../api/save.ts";
import { actorText } from "../../kit/actor.ts";
import { Button } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Copy } from "../../kit/copy.tsx";
import { Diff } from "../../kit/diff.tsx";
import { hunks } from "../../kit/hunks.ts";
import { Icon } from "../../kit/icons.tsx";
import { Json } from "../../kit/json.tsx";
import { Tabs } from "../../kit/tabs.tsx";
import { Text } from "../../kit/text.tsx";
import { Time } from "../../kit/time.tsx";

/** The arguments that would run, and their exact bytes: this browser hashes what it shows and compares. */
export function ExactArguments({
  approval,
  doubts,
}: {
  readonly approval: ApprovalView;
  /** Undefined: not known. */
  readonly doubts: Doubts;
}): ReactNode {
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
          {tab === "bytes" ? (
            <Bytes text={text} />
          ) : tab === "edit" && asked !== undefined ? (
            <>
              {edited !== undefined && (
                <p className="mb-2 text-ink-2">
                  By <Text className="text-ink">{actorText(edited.by, edited.via)}</Text>, <Time at={edited.at} />
                </p>
              )}
              <Diff text={hunks(JSON.stringify(asked, null, 2), JSON.stringify(what.arguments, null, 2))} />
            </>
          ) : (
            <Json value={what.arguments} />
          )}
        </Tabs>
        {what.artifacts?.map((artifact) => (
          <Held key={artifact.path} artifact={artifact} />
        ))}
      </div>
    </Card>
  );
}

/** The content of an artifact that an argument names: the tool gets this, and not the reference. */
function Held({ artifact: { path, bytes, text } }: { readonly artifact: ArtifactView }): ReactNode {
  return (
    <section aria-label={`Content of ${path}`} className="mt-3 grid gap-1">
      <p className="text-ink-2">
        <Text className="mono text-ink">{path}</Text> is an artifact of {bytes.toLocaleString("en")} bytes.
        {text === undefined ? " It is too large to look at: nothing has checked its content." : " The tool gets:"}
      </p>
      {text !== undefined && (
        <pre className="mono max-h-96 overflow-auto rounded-md bg-sunken px-3 py-2 whitespace-pre-wrap">
          <Text lines limit={100_000}>
            {text}
          </Text>
        </pre>
      )}
    </section>
  );
}

function Bytes({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="grid gap-2">
      <p className="text-ink-2">The text that is hashed (RFC 8785). An approval holds for these bytes and no others.</p>
      <pre className="mono max-h-96 overflow-auto rounded-md bg-sunken px-3 py-2 whitespace-pre-wrap">
        <Text limit={100_000}>{text}</Text>
      </pre>
    </div>
  );
}

/** Says whether the digest of what is shown is the digest that an approval would bind. */
function Verified({
  text,
  digest,
  isSame,
}: {
  readonly text: string;
  readonly digest: string;
  readonly isSame: boolean | undefined;
}): ReactNode {
  return (
    <span className="flex items-center gap-1 text-[0.8571rem] text-ink-2">
      {isSame !== undefined &&
        (isSame ? (
          <span
            data-verified="yes"
            className="flex items-center gap-1 text-safe"
            title={`SHA-256 ${digest}, computed in this browser from what is shown`}
          >
            <Icon name="lock" size={13} /> these exact bytes
          </span>
        ) : (
          <span data-verified="no" className="flex items-center gap-1 text-critical">
            <Icon name="warning" size={13} /> not what would be approved
          </span>
        ))}
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
        onClick={() => keepText(text, "arguments.json")}
      />
    </span>
  );
}
