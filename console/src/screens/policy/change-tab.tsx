import type { PolicyTextView } from "@postern/core/contract";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { ask, Problem, plainSentence, useMay } from "../../api/index.ts";
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
  useFirst,
} from "../../kit/index.ts";
import { useFeed } from "../../live/feed.ts";
import { ReasonDialog, type WithReason } from "../dialogs.tsx";
import { type Checked, check } from "./checked.ts";
import { draftOf, keepDraft } from "./draft.ts";
import { Editor } from "./editor.tsx";
import { asInFile, type Mistake } from "./mistakes.ts";
import { AskBar, type Asked, AskedResult } from "./simulation.tsx";
import { Verdict } from "./verdict.tsx";

export function ChangeTab(): ReactNode {
  const { data, error, refetch } = useQuery({
    queryKey: ["policy-text"],
    queryFn: ({ signal }) => ask("GET /v1/policy/text", {}, signal),
    staleTime: 0,
  });
  useFeed(
    ({ type }) => type.startsWith("operator.action.policy_") && void refetch(),
    () => void refetch(),
  );
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
  return (
    <div className="grid gap-3">
      <InForce document={data} onActivated={() => void refetch()} />
      <Change
        key={document.digest}
        document={document}
        isOld={document.digest !== data.digest}
        again={again}
        readAgain={() => void refetch()}
      />
    </div>
  );
}

type ChangeProps = Readonly<{
  document: PolicyTextView;
  /** The file has changed since. */
  isOld: boolean;
  /** Discards what was typed and reads the file again. */
  again: () => void;
  readAgain: () => void;
}>;

/** The text, what it would have decided about recorded calls, and the button that writes it into the file. */
function Change({ document, isOld, again, readAgain }: ChangeProps): ReactNode {
  const may = useMay();
  const [text, setText] = useState(draftOf()?.text ?? document.text);
  const [asked, setAsked] = useState<Asked>();
  const [isSaving, setIsSaving] = useState(false);
  const [checked, setChecked] = useState<Checked>();
  const lastTyped = useRef("");
  const mistakesIn = async (typed: string): Promise<readonly Mistake[]> => {
    lastTyped.current = typed;
    const found = await check(asInFile(document, typed));
    if (lastTyped.current === typed) setChecked(found); // an older answer may come later
    return found.mistakes;
  };
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
          <Editor
            label="The policy, as YAML"
            value={text}
            first={document.line}
            onChange={setText}
            mistakesIn={mistakesIn}
          />
        </Card>
        <Unseen text={text} />
        {checked !== undefined && <CheckedText checked={checked} />}
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
            <Text>{plainSentence(document.why_not)}</Text> You can copy or download the text.
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
      {isSaving && (
        <SaveDialog
          document={document}
          text={text}
          onClose={() => setIsSaving(false)}
          onSaved={again}
          onRefused={readAgain}
        />
      )}
    </div>
  );
}

/** Its mistakes, which are marked in the text too (F8 goes to the next one), and its own tests. */
function CheckedText({ checked: { mistakes, tests } }: { readonly checked: Checked }): ReactNode {
  const [shown, more] = useFirst(mistakes, { noun: "mistakes and warnings", first: 5 });
  const failed = tests.filter(({ passed }) => !passed);
  return (
    <>
      {mistakes.length > 0 && (
        <Notice tone={mistakes.some(({ severity }) => severity === "error") ? "critical" : "medium"}>
          <ul aria-label="Mistakes and warnings" className="grid gap-1">
            {shown.map(({ line, message }, at) => (
              <li key={at}>
                {line !== undefined && <span className="tabular font-medium">Line {line}: </span>}
                <Text lines>{plainSentence(message)}</Text>
              </li>
            ))}
          </ul>
          {more}
        </Notice>
      )}
      {tests.length > 0 && (
        <Notice tone={failed.length === 0 ? "safe" : "critical"}>
          {failed.length === 0 ? `All ${tests.length} tests pass` : `${failed.length} of ${tests.length} tests fail`}
          <ul className="mt-1 grid gap-1 empty:hidden">
            {failed.map(({ name, expected, decision, problem = "", where = "" }) => (
              <li key={`${where} ${name}`} className="flex flex-wrap items-center gap-2">
                <Text>{name}</Text>
                {decision === undefined || decision.verdict === expected ? (
                  <Text>{plainSentence(problem)}</Text>
                ) : (
                  <>
                    is <Verdict verdict={decision.verdict} /> and should be <Verdict verdict={expected} />
                  </>
                )}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </>
  );
}

type InForceProps = Readonly<{ document: PolicyTextView; onActivated: () => void }>;

/** Whether the file is what decides now; if not, what would change, or what is wrong with it. */
function InForce({ document: { name, differs, editable }, onActivated }: InForceProps): ReactNode {
  const [isAsking, setIsAsking] = useState(false);
  const may = useMay();
  const [shown, more] = useFirst(differs, { noun: "differences", first: 5 });
  if (differs.length === 0) return <p className="text-ink-2">The file is in force.</p>;
  const activate = async (reason: WithReason): Promise<void> => {
    const { restart } = await ask("POST /v1/policy/reload", reason);
    toast(`${name} is in force.${restartNeeded(restart)}`);
    onActivated();
  };
  return (
    <Notice tone="medium">
      <p className="font-medium">The file is not what is in force. How it differs, or what is wrong with it:</p>
      <ul className="list-disc pl-5">
        {shown.map((sentence) => (
          <li key={sentence}>
            <Text>{plainSentence(sentence)}</Text>
          </li>
        ))}
      </ul>
      {more}
      {editable && may("policy:write") && (
        <Button className="mt-2" onClick={() => setIsAsking(true)}>
          Put the file in force …
        </Button>
      )}
      {isAsking && (
        <ReasonDialog
          title="Put the file in force?"
          word="Put in force"
          onSend={activate}
          onClose={() => setIsAsking(false)}
        >
          <p className="text-ink-2">Calls that run go on, and all others are judged by it.</p>
        </ReasonDialog>
      )}
    </Notice>
  );
}

function restartNeeded(sections: readonly string[]): string {
  return sections.length === 0 ? "" : ` A restart is needed for ${sections.join(", ")}.`;
}

type SaveDialogProps = Readonly<{
  document: PolicyTextView;
  text: string;
  onClose: () => void;
  onSaved: () => void;
  /** It may be another file now. */
  onRefused: () => void;
}>;

/** Shows what is written. The server refuses it when the file has changed meanwhile. */
function SaveDialog({ document, text, onClose, onSaved, onRefused }: SaveDialogProps): ReactNode {
  const save = async (reason: WithReason): Promise<void> => {
    const sent = { text, expected_digest: document.digest, activate: true, ...reason };
    const saved = await ask("POST /v1/policy/save", sent).catch((error: unknown) => {
      onRefused();
      throw error;
    });
    const before = saved.kept === undefined ? "" : ` The old file is kept as ${saved.kept}.`;
    toast(`Saved and in force.${before}${restartNeeded(saved.in_force?.restart ?? [])}`);
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
