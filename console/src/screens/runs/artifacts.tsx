import type { ReactNode } from "react";
import type { TimelineCall } from "../../../../src/server/contract/runs.ts";
import { save } from "../../api/save.ts";
import { Icon } from "../../kit/icons.tsx";
import { Text } from "../../kit/text.tsx";
import { toast } from "../../kit/toast.tsx";

/** What a call left behind: each a chip that saves the file. A stranger's bytes are never shown in this page. */
export function Artifacts({ call }: { readonly call: TimelineCall }): ReactNode {
  if (call.artifacts.length === 0) return null;
  const owner = new URLSearchParams();
  if (call.agent !== undefined) owner.set("agent", call.agent);
  if (call.user !== undefined) owner.set("user", call.user);
  return (
    <ul aria-label="Artifacts" className="flex flex-wrap gap-2">
      {call.artifacts.map(({ digest, media_type, name }) => (
        <li key={digest}>
          <button
            type="button"
            onClick={() => void save(`/v1/artifacts/${digest}?${owner}`, fileName(name, digest)).catch(told)}
            title={digest}
            className="inline-flex max-w-72 items-center gap-1.5 rounded-full border border-line-strong bg-surface px-2.5 py-1 hover:bg-hover"
          >
            <Icon name="down_tray" size={13} />
            <Text className="truncate">{name ?? digest.slice(0, 12)}</Text>
            {media_type !== undefined && <Text className="text-ink-3">{media_type}</Text>}
          </button>
        </li>
      ))}
    </ul>
  );
}

function told(problem: Error): void {
  toast(problem.message, "bad");
}

/** A tool chose the name: only letters of it that no system obeys. */
function fileName(name: string | undefined, digest: string): string {
  const plain = (name ?? "")
    .split("/")
    .at(-1)
    ?.replaceAll(/[^\w.-]+/g, "_")
    .replace(/^\.+/, "");
  return plain === undefined || plain === "" ? digest.slice(0, 16) : plain.slice(0, 100);
}
