import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import type { PolicyTextView } from "../../../../src/server/contract/policy.ts";
import { get } from "../../api/client.ts";
import { Problem } from "../../api/problem.ts";
import { keepText } from "../../api/save.ts";
import { useMay } from "../../api/session.ts";
import { Button } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Copy } from "../../kit/copy.tsx";
import { Diff } from "../../kit/diff.tsx";
import { hunks } from "../../kit/hunks.ts";
import { EmptyState, Notice, NotYet } from "../../kit/states.tsx";
import { Text } from "../../kit/text.tsx";
import { AskBar } from "./ask-bar.tsx";
import { type Asked, AskedResult } from "./asked.tsx";
import { draftOf, keepDraft } from "./draft.ts";
import { Editor } from "./editor.tsx";
import { SaveDialog } from "./save-dialog.tsx";

export function ChangeTab(): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["policy-text"],
    queryFn: () => get<PolicyTextView>("/v1/policy/text"),
    staleTime: Number.POSITIVE_INFINITY, // what is being edited is not pulled away
  });
  if (error instanceof Problem && error.code === "policy_file_off")
    return (
      <EmptyState icon="policy" title="This policy came from code, not from a file">
        {error.message}
      </EmptyState>
    );
  if (data === undefined) return <NotYet error={error} again={refetch} rows={8} />;
  const document = draftOf()?.document ?? data; // what was begun is gone on with
  const again = (): void => {
    keepDraft(undefined);
    void refetch();
  };
  return <Change key={document.digest} document={document} isOld={document.digest !== data.digest} again={again} />;
}

/** The text, what it would have decided about recorded calls, and the way into the file. */
function Change({
  document,
  isOld,
  again,
}: {
  readonly document: PolicyTextView;
  /** The file is another one now. */
  readonly isOld: boolean;
  /** With what the file holds now; what was typed is let go. */
  readonly again: () => void;
}): ReactNode {
  const [text, setText] = useState(draftOf()?.text ?? document.text);
  const [asked, setAsked] = useState<Asked>();
  const isChanged = text.trimEnd() !== document.text.trimEnd();
  useEffect(() => keepDraft(isChanged ? { document, text } : undefined), [isChanged, document, text]);
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <div className="grid min-w-0 gap-3">
        {isOld && (
          <Notice tone="medium">
            The file has changed since you began. Copy what you wrote, and press “Undo all” to begin on what it is now.
          </Notice>
        )}
        <Card title={<span className="mono">{document.name}</span>} actions={<TakeAlong text={text} />}>
          <Editor value={text} first={document.line} onChange={setText} />
        </Card>
        <AskBar document={document} text={text} onAsked={setAsked}>
          {isChanged && (
            <Button
              look="plain"
              onClick={() => {
                setText(document.text);
                again();
              }}
            >
              Undo all
            </Button>
          )}
          <Save document={document} text={text} isChanged={isChanged} onSaved={again} />
        </AskBar>
        {document.why_not !== undefined && (
          <p className="text-ink-2">
            <Text>{document.why_not}</Text> You can copy or download the text.
          </p>
        )}
      </div>
      <div className="grid min-w-0 gap-4">
        <AskedResult asked={asked} text={text} />
        {isChanged && (
          <Card title="Your change">
            <div className="p-3">
              <Diff text={hunks(document.text, text, document.line)} />
            </div>
          </Card>
        )}
      </div>
    </div>
  );
}

function Save({
  document,
  text,
  isChanged,
  onSaved,
}: {
  readonly document: PolicyTextView;
  readonly text: string;
  readonly isChanged: boolean;
  readonly onSaved: () => void;
}): ReactNode {
  const may = useMay();
  const [isOpen, setIsOpen] = useState(false);
  if (!document.editable || !may("policy:write")) return null;
  return (
    <>
      <Button disabled={!isChanged} onClick={() => setIsOpen(true)}>
        Save …
      </Button>
      {isOpen && <SaveDialog document={document} text={text} onClose={() => setIsOpen(false)} onSaved={onSaved} />}
    </>
  );
}

function TakeAlong({ text }: { readonly text: string }): ReactNode {
  return (
    <span className="flex items-center gap-1">
      <Copy text={text} label="Copy the policy" />
      <Button
        look="plain"
        size="small"
        icon="down_tray"
        aria-label="Download the policy"
        onClick={() => keepText(text, "policy.yaml")}
      />
    </span>
  );
}
