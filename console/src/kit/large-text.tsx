import type { ReactNode } from "react";
import { saveText } from "../api/save.ts";
import { Button } from "./button.tsx";
import { Text } from "./text.tsx";

/** Characters. A control with more stalls the page for seconds. */
export const mostInControl = 100_000;
const mostShown = 4_000;

type LargeTextProps = Readonly<{ id?: string; label: string; text: string; fileName: string }>;

/** For a text too long for a control: its start, and all of it as a file. */
export function LargeText({ id, label, text, fileName }: LargeTextProps): ReactNode {
  return (
    <div className="grid justify-items-start gap-1.5">
      <section
        id={id}
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="mono max-h-64 w-full overflow-auto rounded-md bg-sunken px-3 py-2 whitespace-pre-wrap"
      >
        <Text lines limit={mostShown}>
          {text}
        </Text>
      </section>
      <p className="text-ink-2">
        {text.length.toLocaleString("en")} characters: too long to be changed here. It stays as it is.
      </p>
      <Button size="small" icon="down_tray" onClick={() => saveText(text, fileName)}>
        Download all of it
      </Button>
    </div>
  );
}
