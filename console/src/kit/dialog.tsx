import { type ReactNode, useEffect, useId, useRef } from "react";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Text } from "./text.tsx";

type DialogProps = Readonly<{
  title: string;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode;
  wide?: boolean;
  /** It cannot be closed. */
  stays?: boolean;
}>;

/**
 * The browser's own modal: focus stays inside, Escape closes it. A control with `data-first` has the focus when it opens;
 * what opened it has the focus again when it ends.
 */
export function Dialog({
  title,
  open,
  onClose,
  children,
  footer,
  wide = false,
  stays = false,
}: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element === null || !open) return;
    const opener = document.activeElement;
    if (!element.open) {
      element.showModal();
      element.querySelector<HTMLElement>("[data-first]")?.focus();
    }
    return () => {
      // The browser gives the focus back only when a dialog is closed, not when it is removed.
      if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus();
    };
  }, [open]);
  if (!open) return null;
  return (
    <dialog
      ref={dialog}
      aria-labelledby={name}
      onCancel={(event) => stays && event.preventDefault()}
      onClose={(event) => (stays ? event.currentTarget.showModal() : onClose())}
      className={classNames(
        "max-h-[88dvh] w-[calc(100vw-2rem)] flex-col overflow-hidden rounded-xl border border-line bg-raised p-0 shadow-over open:flex",
        "max-sm:mb-0 max-sm:w-screen max-sm:max-w-none max-sm:rounded-b-none",
        wide ? "sm:max-w-4xl" : "sm:max-w-lg",
      )}
    >
      <div className="flex items-center justify-between gap-3 border-b border-line px-4 py-3">
        <h2 id={name} className="min-w-0 text-[1.0714rem] font-semibold wrap-anywhere">
          <Text>{title}</Text>
        </h2>
        {!stays && <Button look="plain" size="small" icon="cross" aria-label="Close" onClick={onClose} />}
      </div>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4 overflow-y-auto px-4 py-4">{children}</div>
      {footer !== undefined && (
        <div className="flex flex-wrap justify-end gap-2 border-t border-line bg-sunken px-4 py-3 max-sm:[&>button]:h-11 max-sm:[&>button]:flex-1">
          {footer}
        </div>
      )}
    </dialog>
  );
}
