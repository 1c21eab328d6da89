import type { ReactNode } from "react";
import type { PolicySavedView, PolicyTextView } from "../../../../src/server/contract/policy.ts";
import { post } from "../../api/client.ts";
import { Diff } from "../../kit/diff.tsx";
import { hunks } from "../../kit/hunks.ts";
import { toast } from "../../kit/toast.tsx";
import { ReasonDialog } from "../reason-dialog.tsx";

/** Shows what is written before it is. Somebody else's change in the meantime is not written over. */
export function SaveDialog({
  document,
  text,
  onClose,
  onSaved,
}: {
  readonly document: PolicyTextView;
  readonly text: string;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}): ReactNode {
  const save = async (said: object): Promise<void> => {
    const body = { text, expected_digest: document.digest, ...said };
    const { kept } = await post<PolicySavedView>("/v1/policy/save", body);
    toast(`Saved. The file before it is kept as ${kept}. It is in force from the next start on.`);
    onSaved();
  };
  return (
    <ReasonDialog wide title={`Write the policy into ${document.name}?`} word="Save" onSend={save} onClose={onClose}>
      <Diff text={hunks(document.text, text, document.line)} />
      <p className="text-ink-2">
        All else in the file stays as it is, and the file before is kept beside it. The policy is in force when Postern
        is started again.
      </p>
    </ReasonDialog>
  );
}
