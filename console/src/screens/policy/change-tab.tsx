import type { PolicyTextView } from "@postern/core/contract";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { ask, Problem, useMay } from "../../api/index.ts";
import {
  Button,
  Card,
  Diff,
  EmptyState,
  hunks,
  Notice,
  NotYet,
  Text,
  TextActions,
  toast,
  Unseen,
} from "../../kit/index.ts";
import { ReasonDialog, type WithReason } from "../dialogs.tsx";
import { draftOf, keepDraft } from "./draft.ts";
import { AskBar, type Asked, AskedResult } from "./simulation.tsx";

export function ChangeTab(): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["policy-text"],
    queryFn: ({ signal }) => ask("GET /v1/policy/text", {}, signal),
    staleTime: Number.POSITIVE_INFINITY, // what is being edited must not change
  });
  if (error instanceof Problem && error.code === "policy_file_off")
    return (
      <EmptyState icon="policy" title="This policy comes from code, not from a file">
        {error.message}
      </EmptyState>
    );
  if (data === undefined) return <NotYet error={error} again={refetch} rows={8} />;
  const document = draftOf()?.document ?? data;
  const again = (): void => {
    keepDraft(undefined);
    void refetch();
  };
  return <Change key={document.digest} document={document} isOld={document.digest !== data.digest} again={again} />;
}

type ChangeProps = Readonly<{
  document: PolicyTextView;
  /** The file has changed since. */
  isOld: boolean;
  /** Discards what was typed and reads the file again. */
  again: () => void;
}>;

/** The text, what it would have decided about recorded calls, and the button that writes it into the file. */
function Change({ document, isOld, again }: ChangeProps): ReactNode {
  const may = useMay();
  const [text, setText] = useState(draftOf()?.text ?? document.text);
  const [asked, setAsked] = useState<Asked>();
  const [isSaving, setIsSaving] = useState(false);
  const isChanged = text.trimEnd() !== document.text.trimEnd();
  useEffect(() => keepDraft(isChanged ? { document, text } : undefined), [isChanged, document, text]);
  const undo = (): void => {
    setText(document.text);
    again();
  };
  const actions = (
    <span className="flex items-center gap-1">
      <TextActions text={text} what="the policy" fileName="policy.yaml" />
    </span>
  );
  return (
    <div className="grid items-start gap-4 xl:grid-cols-2">
      <div className="grid min-w-0 gap-3">
        {isOld && (
          <Notice tone="medium">
            The file has changed since you began. Copy what you wrote, then press “Undo all” to begin with the file as
            it is now.
          </Notice>
        )}
        <Card title={<span className="mono">{document.name}</span>} actions={actions}>
          <Editor value={text} first={document.line} onChange={setText} />
        </Card>
        <AskBar document={document} text={text} onAsked={setAsked}>
          {isChanged && (
            <Button look="plain" onClick={undo}>
              Undo all
            </Button>
          )}
          {document.editable && may("policy:write") && (
            <Button disabled={!isChanged} onClick={() => setIsSaving(true)}>
              Save …
            </Button>
          )}
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
          <Card title="Your change" body="">
            <Diff text={hunks(document.text, text, document.line)} />
          </Card>
        )}
      </div>
      {isSaving && <SaveDialog document={document} text={text} onClose={() => setIsSaving(false)} onSaved={again} />}
    </div>
  );
}

type EditorProps = Readonly<{
  value: string;
  /** The number of the first line. */
  first: number;
  onChange: (value: string) => void;
}>;

/** Plain text with its lines numbered as in the file. */
function Editor({ value, first, onChange }: EditorProps): ReactNode {
  const numbers = useRef<HTMLPreElement>(null);
  const lines = value.split("\n").length;
  return (
    <>
      <div className="mono flex h-[28rem] leading-6">
        <pre
          ref={numbers}
          aria-hidden="true"
          className="min-w-10 overflow-hidden border-r border-line bg-sunken py-2 pr-2 text-right text-ink-3 select-none"
        >
          {Array.from({ length: lines }, (_, at) => `${first + at}\n`).join("")}
        </pre>
        <textarea
          aria-label="The policy, as YAML"
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoCorrect="off"
          className="min-w-0 flex-1 resize-none overflow-auto bg-surface px-3 py-2 text-ink outline-offset-[-2px]"
          value={value}
          onChange={({ target }) => onChange(target.value)}
          onScroll={({ currentTarget }) => {
            if (numbers.current !== null) numbers.current.scrollTop = currentTarget.scrollTop;
          }}
        />
      </div>
      <Unseen text={value} />
    </>
  );
}

type SaveDialogProps = Readonly<{
  document: PolicyTextView;
  text: string;
  onClose: () => void;
  onSaved: () => void;
}>;

/** Shows what is written. The server refuses it when the file has changed meanwhile. */
function SaveDialog({ document, text, onClose, onSaved }: SaveDialogProps): ReactNode {
  const save = async (reason: WithReason): Promise<void> => {
    const sent = { text, expected_digest: document.digest, activate: true, ...reason };
    const { kept, in_force: { restart } = { restart: [] } } = await ask("POST /v1/policy/save", sent);
    const waits = restart.length === 0 ? "" : ` A restart is needed for ${restart.join(", ")}.`;
    const before = kept === undefined ? "" : ` The old file is kept as ${kept}.`;
    toast(`Saved and in force.${before}${waits}`);
    onSaved();
  };
  return (
    <ReasonDialog wide title={`Write the policy into ${document.name}?`} word="Save" onSend={save} onClose={onClose}>
      <Diff text={hunks(document.text, text, document.line)} />
      <p className="text-ink-2">
        The rest of the file stays as it is, and the old file is kept beside it. The new policy is in force at once:
        calls that run go on, and all others are judged by it.
      </p>
    </ReasonDialog>
  );
}
