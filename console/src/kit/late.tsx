import { type ReactNode, useEffect, useState } from "react";
import { toast } from "./toast.tsx";

interface Closable {
  readonly onClose: () => void;
}

/**
 * A part that is loaded when it is first opened. When it cannot be loaded, because Postern does not answer or was
 * updated, it says so and closes; the next time it is tried again.
 */
export function late<Props>(load: () => Promise<(props: Props) => ReactNode>): (props: Props & Closable) => ReactNode {
  let loaded: ((props: Props) => ReactNode) | undefined;
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
