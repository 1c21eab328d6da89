import { type ReactNode, useEffect, useState } from "react";
import { toast } from "./messages.ts";

interface Closable {
  readonly onClose: () => void;
}

const parts = new Set<() => Promise<unknown>>();

/** Loads what is not loaded yet, one after the other; what fails is loaded when it is opened. */
export async function preloadLate(): Promise<void> {
  for (const load of parts) await load().catch(() => undefined);
}

/**
 * A component that is loaded when it is first opened. If the load fails, because Postern does not answer or was updated,
 * a message is shown and `onClose` is called; the next opening tries again.
 */
export function late<Props>(load: () => Promise<(props: Props) => ReactNode>): (props: Props & Closable) => ReactNode {
  let loaded: ((props: Props) => ReactNode) | undefined;
  parts.add(load);
  return function Late(props: Props & Closable): ReactNode {
    const { onClose } = props;
    const [Part, setPart] = useState(() => loaded);
    useEffect(() => {
      if (loaded !== undefined) return;
      let isWanted = true;
      const arrived = (part: (props: Props) => ReactNode): void => {
        loaded = part;
        if (isWanted) setPart(() => part);
      };
      const failed = (): void => {
        if (!isWanted) return;
        toast(
          "This part of the page could not be loaded. Is Postern running? If it was updated, reload the page.",
          "bad",
        );
        onClose();
      };
      load().then(arrived, failed);
      return () => {
        isWanted = false;
      };
    }, [onClose]);
    return Part === undefined ? null : <Part {...props} />;
  };
}
